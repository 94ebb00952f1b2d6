// decode_protobuf<T>(): an API object in Kubernetes' protobuf encoding -> struct, for the numerous kinds: Pod, Node,
// ResourceClaim, ResourceSlice. The result is that of decode<T>() for the same object in JSON.
//
// `bytes` is what a server sends with application/vnd.kubernetes.protobuf: "k8s\0" and a runtime.Unknown that names
// apiVersion and kind and holds the object's message. Anything else is kInvalidArgument: another kind, a version
// without a table, contents with another encoding inside, a truncated message or wrong lengths. Of unknown fields that
// count the first is recorded, by its number (UnknownField::kNumber). Safe on any bytes, from any thread.
//
// Source: apimachinery's runtime/serializer/protobuf and generated.proto of runtime and meta/v1.
#pragma once

#include <string>
#include <string_view>

#include "pkg/api/decode/decode.h"

namespace dra::api {

inline constexpr std::string_view kProtobufMediaType = "application/vnd.kubernetes.protobuf";
inline constexpr std::string_view kProtobufMagic("k8s\0", 4);

// True for the kinds that decode_protobuf() reads.
template <class T>
inline constexpr bool kReadsProtobuf = false;
template <>
inline constexpr bool kReadsProtobuf<Pod> = true;
template <>
inline constexpr bool kReadsProtobuf<Node> = true;
template <>
inline constexpr bool kReadsProtobuf<ResourceClaim> = true;
template <>
inline constexpr bool kReadsProtobuf<ResourceSlice> = true;

template <class T>
Result<T> decode_protobuf(std::string_view bytes);

// A list fails as a whole: in protobuf no item can have a wrong type and leave the others readable.
template <class T>
Result<DecodedList<T>> decode_protobuf_list(std::string_view bytes);

// The metadata of an object of any kind, for bookmarks.
Result<ObjectMeta> protobuf_metadata(std::string_view bytes);

// Which object of any kind it is, and in which version, without reading the rest. Views into `bytes`.
struct ProtobufIdentity {
  std::string_view ns, name, uid, resource_version;
};
Result<ProtobufIdentity> protobuf_identity(std::string_view bytes);

// A metav1.Status as JSON text, as the server sends it to clients that ask for JSON.
Result<std::string> protobuf_status(std::string_view bytes);

// One frame of a watch without its length prefix: a metav1.WatchEvent.
struct ProtobufEvent {
  std::string_view type;    // "ADDED", ...
  std::string_view object;  // in its envelope
};
Result<ProtobufEvent> open_protobuf_event(std::string_view frame);

}  // namespace dra::api
