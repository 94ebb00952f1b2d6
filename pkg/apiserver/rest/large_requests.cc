#include "pkg/apiserver/rest/large_requests.h"

#include <deque>
#include <map>

#include "pkg/apiserver/model/guard.h"

namespace dra::apiserver {

namespace {
constexpr size_t kMostWaiting = 64;
}

struct LargeRequests::State : std::enable_shared_from_this<LargeRequests::State> {
  using Begin = std::function<void(Ticket)>;

  explicit State(Reactor& r) : reactor(r) {}

  Reactor& reactor;
  std::map<std::string, std::deque<Begin>> flows;  // those with a request on its way, and what waits for it

  Ticket make_ticket(const std::string& flow) {
    return {this, [weak = weak_from_this(), flow](void*) {
              const auto self = weak.lock();
              if (!self) return;
              // Not from here: whoever drops a ticket may be in the middle of something.
              self->reactor.post([weak, flow] {
                if (const auto state = weak.lock()) state->go_on(flow);
              });
            }};
  }

  void go_on(const std::string& flow) {
    const auto found = flows.find(flow);
    if (found->second.empty()) {
      flows.erase(found);
      return;
    }
    const Begin begin = std::move(found->second.front());
    found->second.pop_front();
    run_guarded("a large request", [&] { begin(make_ticket(flow)); });
  }
};

LargeRequests::LargeRequests(Reactor& reactor) : state_(std::make_shared<State>(reactor)) {}

bool LargeRequests::enter(const std::string& flow, std::function<void(Ticket)> begin) {
  const auto [found, is_first] = state_->flows.try_emplace(flow);
  if (is_first) {
    begin(state_->make_ticket(flow));
    return true;
  }
  if (found->second.size() >= kMostWaiting) return false;
  found->second.push_back(std::move(begin));
  return true;
}

}  // namespace dra::apiserver
