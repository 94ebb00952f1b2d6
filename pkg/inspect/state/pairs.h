// The pairs that a pod and its claims ask for, as the allocator takes them. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pkg/allocator/pairs.h"
#include "pkg/api/core.h"
#include "pkg/api/resource.h"

namespace dra::inspect {

struct AskedPairs {
  std::vector<allocator::PairRule> rules;
  std::string refused;  // not empty: an annotation cannot be followed, so that the pod waits
};

// `pod` null: claims alone. `claims`: in the order of the pod's entries; they may be claims that only would be made.
AskedPairs asked_pairs(const api::Pod* pod, const std::vector<std::shared_ptr<const api::ResourceClaim>>& claims);

}  // namespace dra::inspect
