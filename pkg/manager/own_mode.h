// OwnMode: whether claims may be made from templates here. With --claim-templates=own they may only where
// kube-controller-manager's resourceclaim-controller is off: two that generate claims make two for each entry, and
// every second device is wasted.
//
// The lease of kube-controller-manager says whether that component runs, and nothing says which of its controllers are
// on. So where the lease is fresh the matter is disputed: nothing is made from templates, /readyz is not ready and the
// operator gets an event, until
//   - the lease is stale or gone, or
//   - a pod has waited kPatience for a claim from an existing template: its controller would have made it, so it is
//   off,
//   - or from the start where --resourceclaim-controller-is-off says so.
// Once settled it stays so until the lease was gone and comes back. What tenants can write (claims, their
// managedFields) is never evidence, and nothing ends the process.
//
// Where the lease must not be read (403) nothing is known, and claims are made. Belongs to the reactor's thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "client/rest/rest_client.h"
#include "pkg/manager/neighbours.h"
#include "pkg/reactor/reactor.h"
#include "pkg/reconcile/view.h"

namespace dra::manager {

// The judgement, without I/O.
class ClaimMakerDispute {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(10);
  static constexpr size_t kMostPods = 64;  // remembered as waiting

  // What the lease of kube-controller-manager says now.
  void saw(Neighbour controller_manager);
  // The uids of pods that have waited for a claim since the last call; called every second or so while disputed.
  void saw_waiting(const std::vector<std::string>& uids, MonoTime now);

  bool may_make() const { return known_ && (!present_ || settled_); }
  bool disputed() const { return known_ && present_ && !settled_; }
  // Why nothing is made; empty when something is.
  std::string why_not() const;

 private:
  bool known_ = false;  // the lease was looked at
  bool present_ = false;
  bool settled_ = false;
  std::map<std::string, MonoTime> waiting_since_;
};

// Pods that want a claim from an existing template and have none, by uid; at most `limit`.
std::vector<std::string> pods_without_claims(const reconcile::View& view, const std::vector<const api::Pod*>& pods,
                                             size_t limit);

// Looks at the lease every 15 s, and at the waiting pods while the matter is disputed.
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
  void look_at_lease();
  void look_at_pods();
  void judge(const std::function<void()>& news);

  Reactor& reactor_;
  client::RestClient& client_;
  WaitingPods waiting_;
  std::function<void()> changed_;
  ClaimMakerDispute dispute_;
  Handle call_, lease_timer_, pod_timer_;
};

}  // namespace dra::manager
