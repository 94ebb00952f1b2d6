// Twin: the answer by trying every set of pods and every placement, from the rules of preemption alone. Slow.
#pragma once

#include <string>
#include <vector>

#include "pkg/preempt/preempt.h"
#include "pkg/preempt/testing/model.h"

namespace dra::preempt::testing {

struct TwinAnswer {
  Verdict verdict = Verdict::kNever;
  std::vector<int> pods;     // a best set
  std::vector<double> rank;  // of it: smaller is better
  bool fixed = false;
};

TwinAnswer slow_answer(const Model& model);

// By the criteria of victims or moves, whichever the model asks for.
std::vector<double> rank_of(const Model& model, const std::vector<int>& pods);

// Whether these places and devices (by claim) are valid once the pods have gone, and all that must be placed is.
std::string wrong_placement(const Model& model, const std::vector<int>& gone, bool later,
                            const std::map<int, int>& places, const std::map<int, std::vector<int>>& devices);

}  // namespace dra::preempt::testing
