// /openapi/v2: enough for kubectl to learn that PATCH of every kind takes dryRun and fieldValidation (kubectl 1.20 to
// 1.26 ask only here before `--dry-run=server` and `diff`). It has no definitions: clients use the types they were
// built with.
#pragma once

#include <string>
#include <vector>

#include "pkg/apiserver/model/kind.h"

namespace dra::apiserver {

struct PatchPath {
  std::string path;  // "/api/v1/namespaces/{namespace}/pods/{name}"
  GroupVersion gv;
  std::string kind;
};

// gnostic's openapi.v2.Document, encoded.
std::string openapi_v2_protobuf(const std::vector<PatchPath>& paths);
// The same document as JSON.
std::string openapi_v2_json(const std::vector<PatchPath>& paths);

}  // namespace dra::apiserver
