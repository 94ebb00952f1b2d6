// What objects have that this build does not know (pkg/api/unknown_fields.h), as answers say it.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/state/objects.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

struct Unknown {
  std::string what;  // "ResourceSlice s", "PodGroup ns/g"
  std::string why;   // what is unknown there, what is refused for it, and how to ignore it
};

// Every object that is refused, or of which something is, by kind and name.
std::vector<Unknown> unknown_of(const State& state);

// Why the pod (null: claims alone) cannot use a claim that is allocated already; empty: it can.
std::string why_allocation_refused(const api::IgnoredFields& ignored, const api::Pod* pod,
                                   const std::vector<Claim>& claims);

}  // namespace dra::inspect
