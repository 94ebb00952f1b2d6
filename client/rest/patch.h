// Patches with preconditions. Every write of this project is a patch that says which instance, and where it matters
// which version, of the object it is about (docs/design/stores.md). Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "client/rest/resource_path.h"

namespace dra::client {

// Empty fields are not checked.
struct Precondition {
  std::string uid;
  std::string resource_version;
};

// A merge patch that also carries metadata.uid and metadata.resourceVersion: another uid is refused with 422 on
// metadata.uid, another version with 409.
std::string merge_patch(nlohmann::json patch, const Precondition& precondition);

// A JSON patch whose first operations set the two, with the same refusals.
std::string json_patch(nlohmann::json operations, const Precondition& precondition);

// An apply patch: the complete set of fields the manager wants to own, with apiVersion, kind, name and namespace filled
// in, pinned to the uid when there is one.
std::string apply_patch(nlohmann::json fields, const Resource& resource, std::string_view ns, std::string_view name,
                        const Precondition& precondition);

// A part of a path of a JSON pointer: "~" and "/" escaped.
std::string escape_pointer(std::string_view part);

}  // namespace dra::client
