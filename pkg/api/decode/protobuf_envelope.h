// What wraps the messages of objects: runtime.Unknown and lists. Internal to pkg/api. Views point into the bytes.
#pragma once

#include <string_view>
#include <vector>

#include "pkg/api/decode/protobuf_document.h"
#include "pkg/api/decode/protobuf_shape.h"
#include "pkg/base/error.h"

namespace dra::api::detail {

struct ProtobufEnvelope {
  std::string_view api_version;
  std::string_view kind;
  std::string_view message;
};
Result<ProtobufEnvelope> open_envelope(std::string_view bytes);

// The message of an object of this kind, and its shape.
struct ProtobufObject {
  std::string_view message;
  const ProtobufShape* shape = nullptr;
};
Result<ProtobufObject> open_object(std::string_view bytes, std::string_view kind);

struct ProtobufList {
  std::string_view metadata;
  std::vector<std::string_view> items;
  const ProtobufShape* shape = nullptr;  // of the items
};
Result<ProtobufList> open_list(std::string_view bytes, std::string_view item_kind);

}  // namespace dra::api::detail
