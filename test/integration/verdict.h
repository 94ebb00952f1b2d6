// Verdict: what must hold at the end of every run, and what must hold at every moment of it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/informer/informer.h"
#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "test/integration/api.h"

namespace dra::integration {

// The manager binds pods of this scheduler name.
inline constexpr const char* kOurScheduler = "dra";

struct VerdictOptions {
  // Pods that may stay unbound ("default/a"); every other unfinished pod must be bound.
  std::set<std::string> may_wait;
  // Ignored claims: handmade in impossible states.
  std::set<std::string> ignored_claims;
  // Allocations must bear our proof.
  bool proven = true;
};

// Reads the whole cluster and returns what is wrong with it, one sentence each: a device, counter or capacity
// allocated more often than it exists (a fresh inventory's audit); a pod entry without exactly one claim, or published
// under another name; an unfinished pod that is not bound, or whose claims are not reserved for it; a claim with a
// consumer or an owner that is gone; an allocation without finalizer, proof or consumer; a finalizer without an
// allocation.
std::vector<std::string> inspect(Api& api, const VerdictOptions& options = {});
// After everything was deleted: remaining claims, and devices that are still held.
std::vector<std::string> inspect_empty(Api& api, const std::set<std::string>& kept_claims = {});

// Watches the cluster and records every moment at which two claims hold one device while a pod of each may use it (the
// pod has no gate any more).
class Watchdog {
 public:
  // Both must outlive the watchdog.
  Watchdog(Reactor& reactor, client::Transport& transport, Random& random);
  bool synced() const { return pods_.synced() && claims_.synced(); }
  const std::vector<std::string>& violations() const { return violations_; }

  // The watchdog's current view of the cluster: cheap enough to check after every step.
  size_t pods() { return pods_.objects().size(); }
  size_t claims() { return claims_.objects().size(); }
  size_t bound_pods() const { return bound_.size(); }
  size_t held_devices() const { return holders_.size(); }
  bool is_held(const std::string& device) const { return holders_.contains(device); }  // "driver/pool/device"
  std::shared_ptr<const api::Pod> pod(const std::string& key) const { return pods_.store().get(key); }
  std::shared_ptr<const api::ResourceClaim> claim(const std::string& key) const { return claims_.store().get(key); }
  std::vector<std::shared_ptr<const api::ResourceClaim>> all_claims() const { return claims_.store().list(); }
  // The most claims ever seen at one time for one pod and entry.
  size_t most_claims_per_entry() const { return most_per_entry_; }

 private:
  void on_pod(const client::Change<api::Pod>& change);
  void on_claim(const client::Change<api::ResourceClaim>& change);
  void check_device(const std::string& device);
  bool in_use(const api::ResourceClaim& claim) const;

  client::Informer<api::Pod> pods_;
  client::Informer<api::ResourceClaim> claims_;
  std::map<std::string, std::set<std::string>> holders_;    // device -> keys of claims
  std::map<std::string, std::set<std::string>> of_pod_;     // pod uid -> keys of claims reserved for it
  std::map<std::string, std::set<std::string>> per_entry_;  // pod uid/entry -> claim uids
  std::set<std::string> released_;                          // uids of pods without gates
  std::set<std::string> bound_;                             // uids
  size_t most_per_entry_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace dra::integration
