// Merge, JSON and strategic merge patches of documents. Pure.
#pragma once

#include <string>

#include "pkg/apiserver/model/json.h"
#include "pkg/apiserver/model/schema.h"
#include "pkg/apiserver/model/status.h"

namespace dra::apiserver {

// Go's %v of a decoded JSON value: "map[a:1 b:[x y]]".
std::string go_value_text(const Json& value);
// RFC 7386.
void apply_merge_patch(Json& target, const Json& patch);
// RFC 6902. Every failure is one generic 422; so is a patch that copies more than 3 MiB, costs too much or nests the
// document deeper than bodies may.
StatusOr<Json> apply_json_patch(const Json& target, const Json& patch);
// k8s.io/apimachinery/pkg/util/strategicpatch; `type` null merges like a merge patch with directives.
StatusOr<Json> apply_strategic_patch(const Json& target, const Json& patch, const ObjectType* type);

}  // namespace dra::apiserver
