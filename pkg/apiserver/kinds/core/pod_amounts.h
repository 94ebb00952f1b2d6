// What the containers of a pod ask for together (k8s.io/component-helpers/resource), and the resources of the pod as a
// whole (spec.resources, KEP-2837). Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "pkg/api/quantity.h"
#include "pkg/apiserver/model/field_error.h"

namespace dra::apiserver {

using PodAmounts = std::map<std::string, api::Quantity, std::less<>>;

// A quantity as objects have it, a string or a number; zero if it is neither.
api::Quantity amount_of(const Json& value);

// `which`: requests or limits. Containers and sidecars summed, or an init container with the sidecars before it,
// whatever is more.
PodAmounts container_amounts(const Json& spec, const char* which);

// Only these may be asked for by a pod as a whole: cpu, memory, huge pages.
bool is_pod_level_resource(std::string_view name);

// Requests of the pod from what its containers request, or else from its own limits; limits of huge pages from those of
// its containers. After the containers got their own defaults. Idempotent.
void default_pod_level_resources(Json& spec);

void check_pod_level_resources(FieldErrors& out, const FieldPath& path, const Json& spec);

}  // namespace dra::apiserver
