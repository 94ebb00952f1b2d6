// whatif make-room: the fewest pods that have to move so that the pods and claims of a file fit together, and the new
// place of each of them. Nobody is moved. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "pkg/inspect/state/manifest.h"
#include "pkg/inspect/verbs/eviction_words.h"

namespace dra::inspect {

// Of a file: each is placed, beside those that move.
inline constexpr size_t kMostPodsToPlace = 64;

struct RoomOptions {
  StateOptions state;
  std::optional<uint32_t> max_moves;  // answers with more moves are no answers
  EvictionLimits limits;
};

// Pods of the file have the priority of their PriorityClass, which it may name before it is applied. A claim that no
// pod of the file names is placed as a pod that asks for nothing else. Errors: the file has nothing to place, too many
// pods, a DaemonSet, pods of several groups, or names what is not there. Status as of whatif_preempt().
Result<Answer> make_room(const Objects& objects, const Manifest& manifest, const RoomOptions& options);

}  // namespace dra::inspect
