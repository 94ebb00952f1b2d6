// Kubernetes' protobuf bodies (magic "k8s\0" and runtime.Unknown) into JSON documents, by the schema tables.
//
// Typed Go clients send these. protobuf_answer.h writes answers. Bounded: nesting is limited, and every length stays
// within the body.
#pragma once

#include <string_view>

#include "pkg/api/decode/decode_protobuf.h"
#include "pkg/apiserver/codec/codec.h"
#include "pkg/apiserver/model/json.h"
#include "pkg/apiserver/model/status.h"

namespace dra::apiserver {

using api::kProtobufMagic;  // the prefix of every protobuf body

// The document, with apiVersion and kind from the envelope.
StatusOr<Json> decode_protobuf_body(std::string_view body, const BodyKind& expected);

}  // namespace dra::apiserver
