// top fragmentation: by device class, the most devices that one node can give now, and what it could give if all that
// is held were packed, so that the free silicon of the cluster lay together. Pure over a State.
//
// Free silicon is counted by card: of a card without shared counters one device or none; of a card with counters the
// mean share of each counter that is left, divided by the share that the class's smallest device on it takes. The sum
// over all cards is a bound on the devices that could be served; a node has no more than it has when nothing is held.
// Only devices of one node are counted: others are nowhere else to go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

struct ClassFragmentation {
  std::string device_class;
  bool known = true;      // false: a selector of the class cannot be evaluated
  uint32_t largest = 0;   // devices that one node can give now
  bool exact = true;      // false: the search for it ended first
  std::string node;       // which
  uint32_t on_empty = 0;  // that one node could give if nothing were held
  uint32_t free = 0;      // that the free silicon could serve, all nodes together

  uint32_t if_packed() const;
  uint32_t lost() const { return if_packed() - largest; }
};
std::vector<ClassFragmentation> fragmentation_of(State& state);

Answer top_fragmentation(State& state);

}  // namespace dra::inspect
