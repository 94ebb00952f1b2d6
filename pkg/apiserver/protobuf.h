// Kubernetes' protobuf bodies (magic "k8s\0" and runtime.Unknown) into JSON documents, by the schema tables.
//
// Typed Go clients send these; they are decoded only, never written. Bounded: nesting, and everything within the body.
#pragma once

#include <string_view>

#include "pkg/apiserver/json.h"
#include "pkg/apiserver/status.h"

namespace dra::apiserver {

struct BodyKind;

// The document, with apiVersion and kind as the envelope has them.
StatusOr<Json> decode_protobuf_body(std::string_view body, const BodyKind& expected);

}  // namespace dra::apiserver
