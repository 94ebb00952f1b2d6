// OwnMode: decides whether this process may make claims from templates. With --claim-templates=own it may only if
// kube-controller-manager's resourceclaim-controller is off: two controllers that generate claims make two for each
// entry and waste every second device.
//
// The lease of kube-controller-manager shows whether that component runs; nothing shows which of its controllers are
// on. So while the lease is fresh the question is open ("disputed"): no claims are made from templates, /readyz is not
// ready, and the operator gets an event, until
//   - the lease is stale or gone, or
//   - a pod has waited kPatience for a claim from an existing template: its controller would have made it, so it is
//     off,
//   - or from the start if --resourceclaim-controller-is-off says so.
// Once settled it stays settled until the lease is gone and comes back. What tenants can write (claims, their
// managedFields) is never evidence, and nothing ends the process.
//
// If the lease may not be read (403) nothing is known, and claims are made. Belongs to the reactor's thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "client/rest/rest_client.h"
#include "pkg/manager/permit/component_probe.h"
#include "pkg/reactor/reactor.h"
#include "pkg/reconcile/view.h"

namespace dra::manager {

// The decision, without I/O.
class ClaimMakerDispute {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(10);
  static constexpr size_t kMostPods = 64;  // remembered as waiting

  // What the lease of kube-controller-manager says now.
  void saw(ComponentPresence controller_manager);
  // The uids of pods that waited for a claim since the last call; called every OwnMode::kPodPeriod while disputed.
  void saw_waiting(const std::vector<std::string>& uids, MonoTime now);

  bool may_make() const { return known_ && (!present_ || settled_); }
  bool disputed() const { return known_ && present_ && !settled_; }
  // Why no claims are made; empty when they are.
  std::string why_not() const;

 private:
  bool known_ = false;  // the lease was read
  bool present_ = false;
  bool settled_ = false;
  std::map<std::string, MonoTime> waiting_since_;
};

// The uids of pods that need a claim from an existing template and have none; at most `limit`.
std::vector<std::string> pods_without_claims(const reconcile::View& view, const std::vector<const api::Pod*>& pods,
                                             size_t limit);

// Reads the lease every 15 s, and looks at the waiting pods while the question is open.
class OwnMode {
 public:
  static constexpr Duration kLeasePeriod = std::chrono::seconds(15);
  static constexpr Duration kPodPeriod = std::chrono::seconds(2);

  using WaitingPods = std::function<std::vector<std::string>()>;
  // Both must outlive this. `changed` is called whenever may_make() may have changed.
  OwnMode(Reactor& reactor, client::RestClient& client, WaitingPods waiting, std::function<void()> changed)
      : reactor_(reactor), client_(client), waiting_(std::move(waiting)), changed_(std::move(changed)) {}

  void start();
  void stop();
  const ClaimMakerDispute& dispute() const { return dispute_; }

 private:
  void check_lease();
  void check_pods();
  void judge(const std::function<void()>& news);

  Reactor& reactor_;
  client::RestClient& client_;
  WaitingPods waiting_;
  std::function<void()> changed_;
  ClaimMakerDispute dispute_;
  Handle call_, lease_timer_, pod_timer_;
};

}  // namespace dra::manager
