// Shapes: which partitions can still be allocated from partitionable devices.
//
// Devices of a pool that draw on shared counters and look alike (the same attribute `profile`, or else the same type
// and the same amounts) have one shape. For each shape the result is the largest number of free devices of that shape
// that fit together, given what holders have taken of the counters: exact, by search over devices whose counters are
// connected. A connected part that needs more than kMaxShapeSteps steps is counted in order instead and marked as a
// lower bound. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pkg/inspect/state/state.h"

namespace dra::inspect {

inline constexpr uint64_t kMaxShapeSteps = 200'000;

struct FreeShape {
  std::string name;    // "3g.40gb"
  uint32_t total = 0;  // devices of the shape
  uint32_t free = 0;   // that can be allocated together now, if nothing else is
  bool exact = true;   // false: at least this many
};

// The shapes of one pool (all slices of its generation), by name. `devices` are those of State::inventory.
std::vector<FreeShape> free_shapes(const std::vector<const api::ResourceSlice*>& slices,
                                   const std::vector<inventory::DeviceInfo>& devices);

// "2 x 3g.40gb or 1 x 7g.80gb"; "" if nothing is free.
std::string shapes_text(const std::vector<FreeShape>& shapes);
// Adds the shapes of one pool to those of a node.
void add_shapes(std::vector<FreeShape>& sum, const std::vector<FreeShape>& more);

// The current slices by pool: those of the highest generation, of each node.
std::map<std::pair<std::string, std::string>, std::vector<const api::ResourceSlice*>> slices_by_pool(
    const Objects& objects);

}  // namespace dra::inspect
