#include "pkg/manager/watch/served_apis.h"

#include <utility>

#include "pkg/log/log.h"
#include "pkg/manager/watch/discovery.h"

namespace dra::manager {

void ServedApis::start() {
  call_ = rest_.get_raw("/version", [this](Result<std::string> answer) {
    if (stopped_) return;
    with_taint_rules_ = hooks_.release(answer ? git_version(*answer) : "");
    soon([this] { ask_group(); });
  });
}

void ServedApis::stop() {
  stopped_ = true;
  call_.cancel();
  timer_.cancel();
}

// Posted, because the next call replaces the handle of the call whose answer is running.
void ServedApis::soon(std::function<void()> step) {
  reactor_.post([this, step = std::move(step), alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired() && !stopped_) step();
  });
}

void ServedApis::retry(const std::string& why) {
  trouble_ = why;
  timer_ = reactor_.after(kRetry, [this] { start(); });
}

void ServedApis::ask_group() {
  call_ = rest_.get_raw("/apis/resource.k8s.io", [this](Result<std::string> answer) {
    if (stopped_) return;
    Result<std::string> version = answer ? choose_dra_version(*answer) : Result<std::string>(fail(answer.error()));
    if (!answer && answer.error().http_status() == 404)
      version = fail(Code::kUnsupported,
                     "the API server does not serve resource.k8s.io: dynamic resource allocation needs Kubernetes "
                     "1.34 or newer, or the API enabled on an older one");
    if (!version) {
      if (trouble_ != version.error().message()) log::error(version.error(), "Waiting for the API server");
      return retry(version.error().message());
    }
    trouble_.clear();
    log::info("API server found", {{"resource.k8s.io", *version}});
    if (!with_taint_rules_) return hooks_.found(*version, "");
    soon([this, version = *version, candidates = versions_with_taint_rules(*answer)] {
      ask_taint_rules(version, candidates, 0);
    });
  });
}

// Asks one version after the other whether it serves DeviceTaintRules.
void ServedApis::ask_taint_rules(const std::string& version, std::vector<std::string> candidates, size_t at) {
  if (at == candidates.size()) return hooks_.found(version, "");
  const std::string path = "/apis/resource.k8s.io/" + candidates[at];
  call_ = rest_.get_raw(path, [this, version, candidates = std::move(candidates), at](Result<std::string> answer) {
    if (stopped_) return;
    if (!answer && answer.error().http_status() != 404) return retry(answer.error().message());
    if (!answer || !serves_resource(*answer, "devicetaintrules"))
      return soon([this, version, candidates, at] { ask_taint_rules(version, candidates, at + 1); });
    log::info("DeviceTaintRules are served", {{"resource.k8s.io", candidates[at]}});
    hooks_.found(version, candidates[at]);
  });
}

}  // namespace dra::manager
