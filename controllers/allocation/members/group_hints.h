// GroupHints: what the reconcile of a group hands to the steps of its members. Lives for one reconcile. Not
// thread-safe.
#pragma once

#include <optional>
#include <string>

#include "controllers/allocation/members/same_choice.h"
#include "pkg/protocol/topology.h"

namespace dra::allocation {

struct GroupHints {
  SameChoice same_choice;                            // answers of nodes for members that are alike: members add theirs
  bool no_rails = false;                             // nobody in the group asks for rails
  const protocol::TopologyWish* topology = nullptr;  // of a group of groups; null: what the member's group wishes
  std::optional<std::string> home;  // the required domain that the group's search found, or most members are in
};

}  // namespace dra::allocation
