// ServedApis: asks the API server for its release, for its version of resource.k8s.io and, if they are used, for the
// version that has DeviceTaintRules. Asks again every 5 s until it knows. Belongs to the reactor's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/rest/rest_client.h"
#include "pkg/reactor/reactor.h"

namespace dra::manager {

class ServedApis {
 public:
  static constexpr Duration kRetry = std::chrono::seconds(5);

  struct Hooks {
    // The release ("v1.36.2"; empty if the server hides it), before anything else is asked: its rules decide how slices
    // are read. Returns whether DeviceTaintRules are used there.
    std::function<bool(const std::string& server_version)> release;
    // Once, at the end. `rule_version` is empty if DeviceTaintRules are not used or not served.
    std::function<void(const std::string& version, const std::string& rule_version)> found;
  };
  // All must outlive this.
  ServedApis(Reactor& reactor, client::RestClient& rest, Hooks hooks)
      : reactor_(reactor), rest_(rest), hooks_(std::move(hooks)) {}

  void start();
  void stop();
  // Why there is no answer yet; empty once found.
  const std::string& trouble() const { return trouble_; }

 private:
  void ask_group();
  void ask_taint_rules(const std::string& version, std::vector<std::string> candidates, size_t at);
  void soon(std::function<void()> step);
  void retry(const std::string& why);

  Reactor& reactor_;
  client::RestClient& rest_;
  Hooks hooks_;
  Handle call_, timer_;
  bool stopped_ = false;
  bool with_taint_rules_ = false;
  std::string trouble_ = "the API server was not reached yet";
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dra::manager
