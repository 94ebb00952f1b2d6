// cel: a selector tried on every device that is published. Pure over Objects.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/answer.h"
#include "pkg/inspect/objects.h"
#include "pkg/inventory/features.h"

namespace dra::inspect {

// What a selector does on the devices of a cluster.
struct SelectorTrial {
  std::string compile_error;  // not empty: nothing was evaluated; the API server's words
  std::string hint;           // what to write instead, where that is known
  uint64_t estimated_cost = 0;
  uint64_t most_cost = 0;  // of one evaluation
  uint32_t devices = 0;
  uint32_t matched = 0;
  uint32_t failed = 0;
  std::string first_error;   // of the first device on which it failed
  std::string first_failed;  // that device
  // Domain and name of attributes and capacities that it reads and no device has; with a near name where there is one:
  // `attribute "gpu.nvidia.com/productname": did you mean "productName"?`.
  std::vector<std::string> unknown_names;
};
// `features`: those of the operator; what is not said follows the server that the objects come from. Whether it accepts
// functions of lists shows in its slices: a server whose gate is off lets no attribute that holds a list into one.
SelectorTrial try_selector(const Objects& objects, const std::string& expression,
                           const inventory::FeatureChoice& features);

// The devices that match, with the values that the expression reads of them. Status: kYes when some device matches, kNo
// when none does, kUsage when the expression does not compile.
Answer cel_answer(const Objects& objects, const std::string& expression, const inventory::FeatureChoice& features);

}  // namespace dra::inspect
