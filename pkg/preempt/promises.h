// Promises: which of them stand, and whom they bind. What is read back is a proposal: owner, priority, victims, places
// and allocations are judged anew by the rules of candidates.h, and what does not follow from them binds nobody.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/preempt/fit.h"
#include "pkg/preempt/stage.h"
#include "pkg/preempt/world.h"

namespace dra::preempt {

struct Judged {
  // It is whole, its victims may still go, and its places are still possible once they have gone. Whether its victims
  // are still the best choice is not judged.
  bool stands = false;
  int64_t priority = INT64_MIN;   // the lowest of its owner's pods
  std::vector<uint32_t> waiting;  // the pods with a place that have no node yet
  std::vector<uint32_t> victims;  // those that run and do not terminate yet, sorted
  bool begun = false;             // a victim terminates or is gone
  // Among `victims` is the rest of a group of which others have gone already, and which must go as a whole.
  bool rest_of_group = false;
};

// By number. Of two promises that exclude each other the one of higher priority stands, of equals the older one.
std::vector<Judged> judge_promises(World& world, Stage& stage, Fit& fit);

}  // namespace dra::preempt
