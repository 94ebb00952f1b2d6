// Patches with preconditions. Every write of this project is a patch that names the instance, and where it matters the
// version, of the object it changes (docs/design/stores.md). Pure.
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

// A merge patch that also contains metadata.uid and metadata.resourceVersion: the server refuses another uid with 422
// on metadata.uid, another version with 409.
std::string merge_patch(nlohmann::json patch, const Precondition& precondition);

// A JSON patch whose first operations set uid and resourceVersion, with the same refusals.
std::string json_patch(nlohmann::json operations, const Precondition& precondition);

// An apply patch: the complete set of fields the manager wants to own, with apiVersion, kind, name and namespace filled
// in, and with the uid if there is one.
std::string apply_patch(nlohmann::json fields, const Resource& resource, std::string_view ns, std::string_view name,
                        const Precondition& precondition);

// Escapes "~" and "/" in one part of a JSON pointer.
std::string escape_pointer(std::string_view part);

}  // namespace dra::client
