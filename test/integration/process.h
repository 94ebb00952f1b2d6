// Process: one dra-controller-manager as in a process of its own, on the test's reactor: a Manager, optionally an
// Elector, its own network with configurable faults, and a guard that knows every write by name and can kill the
// process around any of them.
//
// Destroying a Process is kill -9: nothing is finished, nothing is released.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "client/election/elector.h"
#include "client/rest/rest_client.h"
#include "client/testing/fault.h"
#include "pkg/base/random.h"
#include "pkg/manager/manager.h"
#include "pkg/metrics/metrics.h"

namespace dra::integration {

// Where a process dies: around the n-th write (from 1) of a write point, before it is sent, or after it took effect and
// before the answer arrives.
struct CrashPoint {
  std::string point;
  size_t occurrence = 1;
  bool after = false;
};

// The name of a write point (docs/write-points.md): "<controller>/<purpose>" for writes of reconcilers,
// "events/create", "events/update", "lease/create" and "lease/update".
class WriteGuard : public client::Transport {
 public:
  WriteGuard(Reactor& reactor, client::Transport& inner) : reactor_(reactor), inner_(inner) {}

  Handle send(client::Request request, Done done) override;
  Handle stream(client::Request request, client::StreamCallbacks callbacks) override;

  // A reconciler is about to write this object: the next write request for it gets this name.
  void announce(std::string_view controller, const reconcile::Write& write);
  void crash_at(CrashPoint point, std::function<void()> crash);
  const std::map<std::string, size_t>& seen() const { return seen_; }
  // Write requests that no announcement or rule names.
  const std::map<std::string, size_t>& unnamed() const { return unnamed_; }
  bool crashed() const { return crashed_; }

 private:
  std::string name_of(const client::Request& request) const;

  Reactor& reactor_;
  client::Transport& inner_;
  std::map<std::string, std::string> announced_;  // "resourceclaims/default/a" -> name
  std::map<std::string, size_t> seen_;
  std::map<std::string, size_t> unnamed_;
  std::optional<CrashPoint> armed_;
  std::function<void()> crash_;
  bool crashed_ = false;
};

struct ProcessOptions {
  manager::ManagerOptions manager;
  // Campaigns for the lease; otherwise it leads from the start.
  bool elect = false;
  std::string identity = "m1";
  uint64_t seed = 1;
};

class Process {
 public:
  // Both must outlive the process.
  Process(Reactor& reactor, client::Transport& server, ProcessOptions options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void start();
  manager::Manager& manager() { return *manager_; }
  client::FaultTransport& network() { return network_; }
  WriteGuard& guard() { return guard_; }
  metrics::Registry& registry() { return registry_; }
  client::Elector* elector() { return elector_.get(); }

 private:
  Reactor& reactor_;
  ProcessOptions options_;
  SeededRandom random_;
  metrics::Registry registry_;
  client::FaultTransport network_;
  WriteGuard guard_;
  std::unique_ptr<manager::Manager> manager_;
  std::unique_ptr<client::RestClient> election_client_;
  std::unique_ptr<client::Elector> elector_;
};

}  // namespace dra::integration
