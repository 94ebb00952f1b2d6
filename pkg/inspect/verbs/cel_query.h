// cel: tries a selector on every published device. Pure over Objects.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/objects.h"
#include "pkg/inventory/features.h"

namespace dra::inspect {

// The result of a selector on the devices of a cluster.
struct SelectorTrial {
  std::string compile_error;  // not empty: nothing was evaluated; in the API server's words
  std::string hint;           // what to write instead, if known
  uint64_t estimated_cost = 0;
  uint64_t most_cost = 0;  // of one evaluation
  uint32_t devices = 0;
  uint32_t matched = 0;
  uint32_t failed = 0;
  std::string first_error;   // of the first device on which it failed
  std::string first_failed;  // that device
  // What the devices have of the attributes and capacities that it reads, the most frequent values first, if it matches
  // none of them: "productName A100 (16), T4 (2)".
  std::vector<std::string> values;
  // Domain and name of attributes and capacities that it reads and no device has; with a similar name if there is one:
  // `attribute "gpu.nvidia.com/productname": did you mean "productName"?`.
  std::vector<std::string> unknown_names;
};
// `features`: the operator's choice; unset ones follow the server that the objects come from. Its slices show whether
// it accepts functions on lists: a server whose gate is off admits no list-valued attribute.
// `before`: selectors that a device must match to be tried, as the allocator tries a request's selector only on devices
// that its class and the request's earlier selectors admit. One that does not compile admits none.
SelectorTrial try_selector(const Objects& objects, const std::string& expression,
                           const inventory::FeatureChoice& features, const std::vector<std::string>& before = {});

// Of the devices that all the selectors match: how many there are, and how many have the attribute.
struct AttributeTrial {
  uint32_t devices = 0;
  uint32_t with = 0;
  std::vector<std::string> names;  // what they have, qualified, in the order of names; at most kMostNames
};
inline constexpr size_t kMostNames = 100;
// `attribute`: qualified. Selectors that do not compile, or fail on a device, match none.
AttributeTrial try_attribute(const Objects& objects, const std::string& attribute,
                             const std::vector<std::string>& selectors, const inventory::FeatureChoice& features);

// The matching devices, with the values that the expression reads of them. Status: kYes if some device matches, kNo if
// none does, kUsage if the expression does not compile.
Answer cel_answer(const Objects& objects, const std::string& expression, const inventory::FeatureChoice& features);

}  // namespace dra::inspect
