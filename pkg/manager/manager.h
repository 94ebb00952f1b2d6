// Manager: the operator without its process. It discovers what the API server serves, keeps stores of everything up to
// date with it and, while it leads, runs the reconcilers.
//
// States: discovering (which versions are served) -> syncing (stores fill) -> standing by -> leading. After a lost
// term: standing by; a new term begins with stores read after it was won, and without assumptions.
//
// Everything belongs to the reactor's thread. The same class runs in the manager's process over the network and in the
// sandbox's process over an in-process transport.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/transport/transport.h"
#include "pkg/base/random.h"
#include "pkg/manager/options.h"
#include "pkg/manager/report/exclusivity.h"
#include "pkg/metrics/metrics.h"
#include "pkg/protocol/manager_lease.h"
#include "pkg/reactor/reactor.h"

namespace dra::manager {

// Per driver: whether only this manager allocates its devices, for /configz (see exclusivity.h).
using Drivers = std::map<std::string, Exclusivity::Driver>;
// The options and the drivers as JSON, for /configz.
std::string config_json(const ManagerOptions& options, const Drivers& drivers);
// What the leader says of itself on its Lease.
protocol::ManagerNotes lease_notes(const ManagerOptions& options, const Drivers& drivers, std::string_view version);

struct HealthCheck {
  std::string name;
  bool ok = false;
  std::string message;  // why the check fails
  std::string note;     // shown with ?verbose when it passes
};

class Manager {
 public:
  // Everything must outlive the manager.
  Manager(Reactor& reactor, client::Transport& transport, Random& random, metrics::Registry& registry,
          ManagerOptions options);
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  void start();
  // Takes the lead as soon as the stores are synced; gives it up. Without leader election: lead() right after start().
  void lead();
  void stop_leading();
  // The same while the lease is still held: writes the totals of usage once more (busy() until that is answered).
  void finish_leading();
  // Ends watches. Does not wait for writes in flight; see busy().
  void stop();
  // Sends the queued events, for `limit` at most.
  void flush_events(Duration limit, std::function<void()> done);
  // Some reconciles have writes in flight.
  bool busy() const;
  bool leading() const;
  // Pods that have our gate, as far as the store knows; nothing before this manager leads.
  std::optional<size_t> gated_pods() const;
  // Leading, with no key ready and no reconcile under way. For tests and demos.
  bool idle();

  // Every driver whose slices were seen. As costly as a scrape of the metrics.
  Drivers drivers() const;
  // For ElectorOptions::annotations (pkg/protocol/manager_lease.h). The drivers are looked at again after 30 s.
  std::map<std::string, std::string> lease_annotations(std::string_view version);
  // For ElectorCallbacks::on_annotations_changed: devices that somebody took out of the annotation `quarantine` are
  // released.
  void lease_annotations_changed(const std::map<std::string, std::string>& ours,
                                 const std::map<std::string, std::string>& now);
  // For ElectorCallbacks::on_taking: whom the last leader moved within the hour.
  void lease_taken(const std::map<std::string, std::string>& annotations);
  // What must hold to be ready: the API is served, every store is synced.
  std::vector<HealthCheck> checks() const;
  bool ready() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace dra::manager
