// RawObject: any API object as its JSON document, for informers of kinds whose entire content matters (pod templates of
// Deployments).
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "client/informer/entry.h"
#include "pkg/api/decode/decode.h"
#include "pkg/api/meta.h"
#include "pkg/base/error.h"

namespace dra::sandbox {

struct RawObject {
  api::ObjectMeta metadata;
  std::shared_ptr<const nlohmann::json> document;
};

Result<RawObject> decode_raw(std::string_view json);
Result<api::DecodedList<RawObject>> decode_raw_list(std::string_view json);

}  // namespace dra::sandbox

template <>
struct dra::client::ObjectTraits<dra::sandbox::RawObject> {
  static Result<sandbox::RawObject> decode(std::string_view json) { return sandbox::decode_raw(json); }
  static Result<api::DecodedList<sandbox::RawObject>> decode_list(std::string_view json) {
    return sandbox::decode_raw_list(json);
  }
  static const api::ObjectMeta& meta(const sandbox::RawObject& object) { return object.metadata; }
};
