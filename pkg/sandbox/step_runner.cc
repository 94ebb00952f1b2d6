#include "pkg/sandbox/step_runner.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "client/rest/status.h"
#include "pkg/log/log.h"

namespace dra::sandbox {
namespace {

// A late DELETE or PATCH finds the object deleted or replaced; the next event settles the rest.
bool harmless(const client::Response& response) {
  return response.ok() || response.status == 404 || response.status == 409;
}

}  // namespace

struct StepRunner::Pass {
  std::string key;
  size_t outstanding = 0;
  bool failed = false;
  std::optional<Duration> requeue_after;
  std::vector<Handle> calls;
};

StepRunner::StepRunner(Reactor& reactor, client::Transport& transport, size_t max_passes, Hooks hooks)
    : reactor_(reactor),
      transport_(transport),
      max_passes_(max_passes),
      hooks_(std::move(hooks)),
      queue_(reactor.clock()),
      pump_(
          reactor, [this] { return next(); }, [this] { begin_passes(); }) {}

StepRunner::~StepRunner() {
  stop();
}

void StepRunner::stop() {
  running_ = false;
  pump_.rest();
  // Callbacks of calls in progress keep their pass alive: dropping the handles ends both.
  for (auto& [key, pass] : passes_) pass->calls.clear();
  passes_.clear();
}

void StepRunner::add(const std::string& key) {
  queue_.add(key);
  schedule();
}

queue::Pump::Next StepRunner::next() {
  if (!running_ || !hooks_.ready() || passes_.size() >= max_passes_) return {};
  const bool ready = queue_.has_ready();  // makes ready what is due
  return {ready, queue_.next_due()};
}

void StepRunner::begin_passes() {
  if (!running_ || !hooks_.ready()) return;
  while (passes_.size() < max_passes_) {
    const auto key = queue_.get();
    if (!key) break;
    ++stats_.passes;
    perform(*key, hooks_.run(*key));
  }
}

void StepRunner::perform(const std::string& key, Step step) {
  auto pass = std::make_shared<Pass>();
  pass->key = key;
  pass->requeue_after = step.requeue_after;
  pass->outstanding = step.calls.size() + 1;
  passes_[key] = pass;
  for (ApiCall& call : step.calls) {
    ++stats_.calls;
    client::Request request;
    request.method = call.method;
    request.target = call.path;
    request.body = call.body;
    request.content_type = call.method == "PATCH" ? "application/merge-patch+json" : "application/json";
    pass->calls.push_back(transport_.send(
        std::move(request), [this, pass, call](Result<client::Response> result) { call_done(pass, call, result); }));
  }
  // The pass itself counts as a call, so that an empty one ends like the others.
  reactor_.post([this, pass] {
    static const client::Response kNothing{.status = 200};
    if (running_) call_done(pass, {}, kNothing);
  });
}

void StepRunner::call_done(const std::shared_ptr<Pass>& pass, const ApiCall& call,
                           const Result<client::Response>& result) {
  if (!result || !harmless(*result)) {
    ++stats_.refused;
    pass->failed = true;
    const Error error = result ? client::error_from_response(*result, call.method + " " + call.path) : result.error();
    log::warning("sandbox: request refused", {{"request", call.method + " " + call.path}, {"err", to_string(error)}});
  } else if (!call.method.empty() && result->ok() && call.method != "DELETE") {
    hooks_.answered(call, *result);
  }
  if (--pass->outstanding > 0) return;
  const std::string key = pass->key;
  passes_.erase(key);
  // Not inside a call's own callback.
  reactor_.post([pass] { pass->calls.clear(); });
  if (pass->failed) {
    queue_.add_rate_limited(key);
  } else {
    queue_.forget(key);
    if (pass->requeue_after) queue_.add_after(key, *pass->requeue_after);
  }
  queue_.done(key);
  schedule();
}

}  // namespace dra::sandbox
