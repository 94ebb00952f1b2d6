#include "pkg/fake_scheduler/call_chain.h"

#include <utility>

namespace dra::fake_scheduler {

std::shared_ptr<CallChain> CallChain::run(Reactor& reactor, client::Transport& transport,
                                          std::vector<ChainedCall> calls, Done done, Answered answered) {
  std::shared_ptr<CallChain> chain(new CallChain(reactor, transport));
  chain->calls_ = std::move(calls);
  chain->done_ = std::move(done);
  chain->answered_ = std::move(answered);
  chain->next();
  return chain;
}

void CallChain::cancel() {
  cancelled_ = true;
  call_.cancel();
  done_ = nullptr;
  answered_ = nullptr;
}

void CallChain::next() {
  if (at_ == calls_.size()) {
    reactor_.post([self = shared_from_this()] {
      if (auto done = std::exchange(self->done_, nullptr)) done(true, "");
    });
    return;
  }
  const ChainedCall& call = calls_[at_];
  client::Request request;
  request.method = call.method;
  request.target = call.target;
  request.body = call.body;
  if (!call.body.empty()) request.content_type = call.content_type;
  call_ = transport_.send(std::move(request), [self = shared_from_this()](Result<client::Response> result) {
    if (self->cancelled_) return;
    const ChainedCall done = self->calls_[self->at_];
    if (result && (result->ok() || result->status == done.also_fine)) {
      ++self->at_;
      if (self->answered_) self->answered_(*self, *result);
      self->reactor_.post([self] {
        if (!self->cancelled_) self->next();
      });
      return;
    }
    const std::string why = result ? std::to_string(result->status) + " " + result->body : result.error().message();
    self->reactor_.post([self, why] {
      if (auto end = std::exchange(self->done_, nullptr)) end(false, why);
    });
  });
}

}  // namespace dra::fake_scheduler
