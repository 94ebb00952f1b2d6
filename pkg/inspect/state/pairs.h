// The pairs that a pod and its claims ask for, as the manager reads them.
#pragma once

#include <string>
#include <vector>

#include "pkg/allocator/pairs.h"
#include "pkg/api/core.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

// `pod` null: claims alone. If an annotation is malformed, or the claims are allocated already and their devices do not
// form the pod's pairs, `why` becomes the sentence with which the pod waits.
std::vector<allocator::PairRule> pairs_asked(const api::Pod* pod, const std::vector<Claim>& claims,
                                             const inventory::Inventory& inventory, std::string& why);

}  // namespace dra::inspect
