// Gang: finds nodes and devices for all members of a group of pods together, or proves that there are none.
//
//   Gangs gangs(inventory, allocator, options);
//   Decision d = gangs.decide(request, nodes);             // again while d.outcome is kUnfinished
//   if (d.outcome == Outcome::kFeasible)
//     for (const Placed& p : d.members) ... request.members[p.member] goes to p.node
//     for (const ClaimResult& c : d.claims) inventory.assume(c.claim->metadata.uid, c.result);
//
// One backtracking search across members: which member goes to which node, and which devices it takes there. "Found"
// obeys every rule of the allocator, of Nodes and of the topology; "impossible" is a proof for the current state;
// "undecided" means that the budget was spent. docs/design/groups.md describes the search and its proofs.
//
// While decide() runs, its attempts are assumed in the inventory, under their own uids, and placed in Nodes; all of
// this is undone before it returns. State kept between slices is stored by GangRequest::uid, for kMaxKept groups and
// kMaxKeptBytes: beyond that the namespace with the most loses the state it used least recently, and starts over.
//
// Not thread-safe: one thread owns it, the allocator and the inventory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/gang/request.h"
#include "pkg/inventory/inventory.h"

namespace dra::gang {

class Gangs {
 public:
  static constexpr size_t kMaxKept = 32;  // groups whose search can continue
  static constexpr size_t kMaxKeptBytes = 32u << 20;
  static constexpr size_t kMaxSpent = 1024;  // groups whose spent budget is remembered
  static constexpr Duration kFirstPause = std::chrono::seconds(1);
  static constexpr Duration kLongestPause = std::chrono::seconds(64);

  // Both must outlive this.
  Gangs(inventory::Inventory& inventory, allocator::Allocator& allocator, Options options);
  ~Gangs();
  Gangs(const Gangs&) = delete;
  Gangs& operator=(const Gangs&) = delete;

  // `spent`: time that the caller's task has taken already. The slice is shorter by it, but not below a third.
  Decision decide(const GangRequest& request, Nodes& nodes, Duration spent = {});
  // The next call for this group returns what was found, unless something changed: it should be made soon.
  bool has_found(const std::string& uid) const;
  // The group is gone, or was decided in another way.
  void forget(const std::string& uid);
  // Of what is kept between slices, estimated.
  size_t kept_bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dra::gang
