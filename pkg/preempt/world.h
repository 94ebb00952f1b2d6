// World: what a choice of victims or moves is made from.
//
// Objects are the caller's; what this project's structs do not keep (preemptionPolicy, status.startTime) is given as
// plain fields. Inventory and cluster hold the observed state: every allocated claim, and every pod that has a node and
// is not finished. A search changes both while it runs and restores them before it returns.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/alignment/pod_pairs.h"
#include "pkg/allocator/allocator.h"
#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/inventory/inventory.h"
#include "pkg/placement/cluster.h"
#include "pkg/placement/decision.h"

namespace dra::preempt {

inline constexpr uint32_t kNobody = UINT32_MAX;

// A pod that has a node, or waits for one.
struct Pod {
  std::shared_ptr<const api::Pod> object;  // never null
  // What is placed where it is a pending pod or moves: the pod as it would be made again, under the same uid and name.
  // Null: `object`, without its node.
  std::shared_ptr<const api::Pod> next;
  std::vector<uint32_t> claims;  // the claims that it names, by number in World::claims
  uint32_t group = kNobody;      // in World::groups
  int64_t start = 0;             // status.startTime in seconds since 1970; 0: unknown
  bool preempts = true;          // spec.preemptionPolicy is not Never
  bool ours = true;              // a scheduler of ours placed it, and would place the next one
  // A move would not count as a failure of its owner: false for a pod of a Job without podReplacementPolicy Failed.
  bool replaced = true;
  bool of_node = false;        // an owner of kind Node; decoded pods keep their controller only
  bool group_missing = false;  // it names a PodGroup that is not known (yet)
  // A claim asks for a DeviceClass that says that its pods neither preempt nor are victims.
  bool kept_by_class = false;
  // It cannot be placed elsewhere: a volume ties it to its node, or whoever asks cannot judge where it may go.
  bool tied = false;
  std::vector<alignment::PairEntry> pairs;  // their terms name claims by index in `claims`
  std::string shape;                        // as gang::Member::shape
  double gib = 0;  // memory of the devices that it holds; a claim's is divided by its consumers

  bool has_node() const { return !object->node_name.empty() && !object->terminal(); }
  bool terminates() const { return has_node() && object->metadata.deleting(); }
  bool runs() const { return has_node() && !object->metadata.deleting(); }
};

// Pods that leave, and are placed, by the rules of a group. Pods without a minimum that leave one by one are in none.
struct Group {
  std::string name;        // "namespace/name", for messages
  uint32_t min_count = 0;  // fewer members must not run; 0: any number may
  bool whole = false;      // disruptionMode PodGroup: none or all leave
};

struct Budget {
  std::string name;              // "namespace/name", for messages
  std::vector<uint32_t> covers;  // the pods that it selects, sorted
  std::vector<uint32_t> pods;    // those of them whose eviction counts, sorted
  int64_t allowed = 0;           // how many of these may leave without a violation
};

// What a pod or a group that takes the place of others was promised; or a pod for which others move (`moves`): then
// `victims` move, and placements and allocations also say what those that run get in exchange.
struct Promise {
  bool moves = false;
  std::map<std::string, std::string> placements;             // pod -> node
  std::map<std::string, api::AllocationResult> allocations;  // claim -> what it gets
  std::vector<std::string> victims;                          // pods, some perhaps gone
  std::vector<std::string> victim_claims;                    // claims that are still to be released
};

// Names are "namespace/name" throughout.
struct World {
  inventory::Inventory& devices;
  allocator::Allocator& allocator;
  placement::Cluster& cluster;
  std::vector<Pod> pods;
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  std::vector<Group> groups;
  std::vector<Budget> budgets;
  std::vector<Promise> promises;  // the oldest first
  std::vector<uint32_t> pending;  // the pods to place: one pod, or the waiting members of one group
  std::optional<uint32_t> max_moves;
  placement::Volumes volumes = placement::Volumes::kIgnored;
};

}  // namespace dra::preempt
