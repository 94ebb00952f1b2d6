// who: the devices of a node and their holders, with partitions below their parent device; or the devices of a pod, a
// claim or an owner of pods. Pure over a State.
#pragma once

#include <string>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

struct WhoOptions {
  std::string ns = "default";  // of a pod, a claim or an owner
  // One row for a card that is free or held as a whole, without its partitions.
  bool fold = false;
};

// Whether the node can use the device, by the slice's fields alone; `labels` are the node's.
bool usable_on(const api::ResourceSlice& slice, const api::Device& device, const std::string& node,
               const api::StringMap& labels);

// `target`: "NODE" or "node/NODE", "NODE/DEVICE", "pod/X", "claim/X" or "KIND/X" as explain() takes them. Errors: the
// node, device or object is not known; similar names are suggested.
Result<Answer> who(State& state, const std::string& target, const WhoOptions& options = {});

}  // namespace dra::inspect
