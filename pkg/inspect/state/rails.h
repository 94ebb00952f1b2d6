// The pairs and rails of a group, as its search takes them. Pure.
#pragma once

#include <string>
#include <vector>

#include "pkg/gang/request.h"
#include "pkg/inspect/state/groups.h"

namespace dra::inspect {

struct GroupAlignment {
  std::vector<std::vector<alignment::PairEntry>> pairs;  // by member
  std::vector<gang::RailRule> rails;
  std::string refused;  // not empty: an annotation cannot be followed, so that the group waits
};

// Of `inventory`: the values of devices that claims hold already.
GroupAlignment alignment_of(const GroupQuestion& group, const inventory::Inventory& inventory);

}  // namespace dra::inspect
