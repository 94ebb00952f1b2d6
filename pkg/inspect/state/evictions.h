// Evictions: the cluster as the question who must go, or move, so that pods fit (pkg/preempt).
//
//   EvictionWorld evictions(state, preempt::Kind::kVictims, {}, {});
//   if (std::string why = evictions.ask_for("ml/train-0"); !why.empty()) ...   // it cannot be judged
//   preempt::Answer answer = preempt::who_must_go(evictions.world(), options);
//
// The rules about who may go are those of pkg/preempt; here they get their facts. A pod is ours if the manager's Lease
// names its scheduler (bind mode), or if this manager allocated one of its claims (gate mode, or no Lease is visible).
// Promises that the manager proved are in the world, the oldest first (promises.h).
// What could not be known is in unknown(). `state` is changed while a question is asked, and restored. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pkg/inspect/state/state.h"
#include "pkg/preempt/candidates.h"
#include "pkg/preempt/facts.h"
#include "pkg/preempt/world.h"

namespace dra::inspect {

// A pod that waits, or does not exist yet.
struct PendingPod {
  std::shared_ptr<const api::Pod> pod;
  std::vector<Claim> claims;  // all of it; pods that share one have the same object
  bool preempts = true;       // its preemptionPolicy is not Never
};

// Why a pod that has a node is never a victim, or never moves, as far as its own facts say.
struct LeftOut {
  std::string why;     // "of another scheduler"
  uint64_t count = 0;  // of pods
};

class EvictionWorld {
 public:
  // `more`: pods of a file, which World::pending of ask_for_more() are; `groups`: those of the file. `state` must
  // outlive it.
  EvictionWorld(State& state, preempt::Kind kind, std::span<const PendingPod> more,
                std::vector<preempt::PodGroupFacts> groups);
  ~EvictionWorld();
  EvictionWorld(const EvictionWorld&) = delete;
  EvictionWorld& operator=(const EvictionWorld&) = delete;

  // Makes the pod ("namespace/name") World::pending, with the waiting members of its group. The answer is why it cannot
  // be judged; empty: it can.
  std::string ask_for(const std::string& pod);
  // Makes the pods of the file World::pending.
  std::string ask_for_more();

  preempt::World& world() { return *world_; }
  const preempt::World& world() const { return *world_; }
  // Clauses: what the answer does not know, because it may not be read.
  const std::vector<std::string>& unknown() const { return unknown_; }
  // Of a lower priority than the pending pods (moves: not of a higher one), and yet never evicted.
  std::vector<LeftOut> left_out() const;
  // Running pods that may go, one by one.
  size_t candidates() const;
  // Names of the budgets under which the eviction of the pod counts.
  std::vector<std::string> budgets_of(uint32_t pod) const;

 private:
  void add_claims(std::span<const PendingPod> more);
  void add_pods();
  void add_pending(const PendingPod& pending);
  void add_facts_of(preempt::Pod& pod) const;
  void add_next(preempt::Pod& pod) const;
  void add_groups(std::vector<preempt::PodGroupFacts> groups);
  void add_budgets();
  void add_promises();
  void hold_places_of_moved();
  void add_sizes();
  void note_unknown();
  uint32_t number_of(const Claim& claim);
  bool is_ours(const api::Pod& pod) const;
  bool is_tied(const preempt::Pod& pod) const;
  void find_equal_pods();
  std::string why_not_judged() const;

  State& state_;
  const preempt::Kind kind_;
  std::unique_ptr<preempt::World> world_;
  std::map<std::string, uint32_t, std::less<>> claims_;   // by uid
  std::map<std::string, uint32_t, std::less<>> waiting_;  // by key: pods of the cluster without a node
  std::vector<uint32_t> more_;                            // numbers of the pods of the file
  std::vector<std::string> refused_;                      // by number of the pending pod: why it is not judged
  std::vector<std::pair<protocol::Promise::Move, api::AllocationResult>> moved_away_;  // and what their next pods get
  bool holds_places_ = false;
  bool binds_ = false;                        // a manager in bind mode leads
  std::vector<std::string> scheduler_names_;  // that it binds
  std::vector<std::string> unknown_;
};

// The claims of a waiting pod: those that are made, and what its templates would make. Errors name what is missing.
Result<std::vector<Claim>> claims_to_come(const Objects& objects, const api::Pod& pod);

}  // namespace dra::inspect
