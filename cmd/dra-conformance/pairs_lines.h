// One line of a file of pairs and rails, decided and judged. `pairs.cc` tells pods from groups (which have `members`).
#pragma once

#include <string>

#include "pkg/allocator/decision.h"

namespace dra::conformance {

struct PairsFlags {
  std::string in;
  std::string out;
  allocator::Strategy strategy = allocator::Strategy::kFirstFit;
  int repeat = 0;
};

struct PairsAnswer {
  std::string id;
  std::string line;  // for --out, a JSON object
  std::string why;   // how it differs from the line's expectation; empty: it does not
};

// `text` is one JSON object. What cannot be read is an exception.
PairsAnswer run_pod_line(const std::string& text, const PairsFlags& flags);    // pairs_pod.cc
PairsAnswer run_group_line(const std::string& text, const PairsFlags& flags);  // pairs_group.cc

}  // namespace dra::conformance
