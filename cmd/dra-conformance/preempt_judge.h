// Judges an answer about victims or moves against the expectation of a case. Places and devices are checked with
// test/oracle and by sums over nodes, without the search that found them.
#pragma once

#include <string>

#include "cmd/dra-conformance/preempt_case.h"

namespace dra::conformance {

// What is wrong with the answer; "" if nothing is.
std::string wrong_with(PreemptCase& one, const preempt::Answer& answer);

// "fits", "wait", "preempt" or "move", "never", "undecided".
std::string verdict_name(preempt::Verdict verdict, bool moves);

}  // namespace dra::conformance
