// Kubernetes' protobuf bodies (magic "k8s\0" and runtime.Unknown) into JSON documents, by the schema tables.
//
// Typed Go clients send these. Answers are written by protobuf_answer.h. Bounded: nesting, and everything within the
// body.
#pragma once

#include <string_view>

#include "pkg/api/decode_protobuf.h"
#include "pkg/apiserver/json.h"
#include "pkg/apiserver/status.h"

namespace dra::apiserver {

struct BodyKind;

using api::kProtobufMagic;  // what every protobuf body begins with

// The document, with apiVersion and kind as the envelope has them.
StatusOr<Json> decode_protobuf_body(std::string_view body, const BodyKind& expected);

}  // namespace dra::apiserver
