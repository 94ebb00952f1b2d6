// Groups: pods that are placed together or not at all, decided by pkg/gang in one search as the manager does. Beside
// State, which places single pods. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pkg/inspect/state.h"
#include "pkg/reconcile/topology.h"

namespace dra::inspect {

struct GroupQuestion {
  std::string name;  // for people: "podgroup/train"
  uint32_t min_count = 1;
  struct Member {
    const api::Pod* pod = nullptr;  // not null, and outlives the answer
    std::vector<Claim> claims;      // all of the pod; those that members share are one object
    std::string shape;              // members with the same text, other than "", are alike but for their names
  };
  std::vector<Member> members;
  reconcile::TopologyWish topology;
};

struct GroupPlaced {
  allocator::Outcome outcome = allocator::Outcome::kInfeasible;
  // kFeasible: of each member; those beyond min_count that found no place have another outcome. `results` are of the
  // claims that were not allocated, in the member's order: members that share one both have it.
  std::vector<Placed> members;
  std::string why;  // of all other outcomes: one clause
};

// A group with members whose extended resources classes provide, or of too many pods, is an error that says so.
Result<GroupPlaced> place_group(State& state, const GroupQuestion& group);

}  // namespace dra::inspect
