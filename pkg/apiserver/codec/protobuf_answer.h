// Answers as protobuf: JSON documents written by the schema tables, byte for byte like the generated Go code (fields by
// number; plain fields always, pointers if set; map keys sorted). Internal to this package.
//
// Sources: generated.proto of staging/src/k8s.io/api and apimachinery (numbers), runtime/serializer/protobuf (envelope,
// length-delimited watch frames). The counterpart of protobuf.h. Pure; safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pkg/apiserver/model/json.h"
#include "pkg/apiserver/model/schema.h"

namespace dra::apiserver {

// The type that an apiVersion and a kind name: ("resource.k8s.io/v1", "ResourceClaim"), ("v1", "Status"). nullptr for
// lists and for types in no table.
const ObjectType* find_message_type(std::string_view api_version, std::string_view kind);

// The message of one object, without an envelope. Top-level apiVersion and kind are not part of it.
std::string encode_message(const ObjectType& type, const Json& object);

// Magic and runtime.Unknown around a message.
std::string protobuf_envelope(std::string_view api_version, std::string_view kind, std::string_view message);

// A list's message, item by item, so that a long list never becomes a document of its own.
class ProtobufList {
 public:
  explicit ProtobufList(const Json& metadata);
  void add(const ObjectType& type, const Json& object);
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

// A whole answer from its document, also for lists (`<Kind>List` with metadata and items). Empty if a type is unknown:
// the caller then answers in JSON.
std::optional<std::string> encode_protobuf_answer(const Json& document);

// One watch event: length prefix and metav1.WatchEvent. `object` is an answer with its envelope.
std::string protobuf_watch_frame(std::string_view type, std::string_view object);

}  // namespace dra::apiserver
