#include "pkg/api/decode/protobuf_envelope.h"

#include <nlohmann/json.hpp>

#include "pkg/api/decode/decode_entry.h"
#include "pkg/base/protobuf_wire.h"
#include "pkg/base/strings.h"

namespace dra::api {
namespace detail {
namespace {

// Field numbers of runtime.Unknown, runtime.TypeMeta, the lists of all kinds, metav1.WatchEvent and RawExtension.
constexpr int kTypeMeta = 1, kRaw = 2, kContentEncoding = 3;
constexpr int kApiVersion = 1, kKind = 2;
constexpr int kListMetadata = 1, kListItems = 2;
constexpr int kEventType = 1, kEventObject = 2;
constexpr int kExtensionRaw = 1;
constexpr int kName = 1, kNamespace = 3, kUid = 5, kResourceVersion = 6;  // of ObjectMeta

constexpr int kMaxStatusDepth = 8;  // status, details, causes, one cause

Error broken(std::string what) {
  return Error(Code::kInvalidArgument, "not valid protobuf: " + std::move(what));
}

// Field 1 of the objects of all kinds.
Result<std::string_view> metadata_of(std::string_view message) {
  std::string_view metadata;
  WireReader reader(message);
  while (reader.next())
    if (reader.number() == 1 && reader.wire() == kWireBytes) metadata = reader.bytes();
  if (!reader.ok()) return fail(broken("an object without readable metadata"));
  return metadata;
}

bool read_type_meta(std::string_view message, ProtobufEnvelope& out) {
  WireReader reader(message);
  while (reader.next()) {
    if (reader.wire() != kWireBytes) continue;
    if (reader.number() == kApiVersion) out.api_version = reader.bytes();
    if (reader.number() == kKind) out.kind = reader.bytes();
  }
  return reader.ok();
}

nlohmann::json to_json(const WireValue& value, int depth) {
  if (depth > kMaxStatusDepth) return nullptr;
  std::string_view text;
  int64_t number = 0;
  bool truth = false;
  if (value.get(text)) return std::string(text);
  if (value.get(number)) return number;
  if (value.get(truth)) return truth;
  nlohmann::json out;
  value.each_element([&](const WireValue& element) {
    out.push_back(to_json(element, depth + 1));
    return true;
  });
  value.each_member([&](std::string_view name, const WireValue& member) {
    out[std::string(name)] = to_json(member, depth + 1);
    return true;
  });
  return out;
}

}  // namespace

Result<ProtobufEnvelope> open_envelope(std::string_view bytes) {
  if (!bytes.starts_with(kProtobufMagic)) return fail(broken("it does not begin with \"k8s\\0\""));
  ProtobufEnvelope out;
  bool encoded = false;
  WireReader reader(bytes.substr(kProtobufMagic.size()));
  while (reader.next()) {
    if (reader.wire() != kWireBytes) continue;
    if (reader.number() == kTypeMeta && !read_type_meta(reader.bytes(), out)) return fail(broken("a broken TypeMeta"));
    if (reader.number() == kRaw) out.message = reader.bytes();
    if (reader.number() == kContentEncoding) encoded = !reader.bytes().empty();
  }
  if (!reader.ok()) return fail(broken("a broken envelope"));
  if (encoded) return fail(broken("its contents are encoded once more"));
  return out;
}

Result<ProtobufObject> open_object(std::string_view bytes, std::string_view kind) {
  const Result<ProtobufEnvelope> envelope = open_envelope(bytes);
  if (!envelope) return fail(envelope.error());
  const ProtobufShape* shape = envelope->kind == kind ? protobuf_shape(envelope->api_version, envelope->kind) : nullptr;
  if (shape == nullptr)
    return fail(broken("expected a " + std::string(kind) + ", got " + quote(envelope->kind.substr(0, 128)) + " of " +
                       quote(envelope->api_version.substr(0, 128))));
  return ProtobufObject{envelope->message, shape};
}

Result<ProtobufList> open_list(std::string_view bytes, std::string_view item_kind) {
  const Result<ProtobufEnvelope> envelope = open_envelope(bytes);
  if (!envelope) return fail(envelope.error());
  ProtobufList out;
  if (envelope->kind == std::string(item_kind) + "List") out.shape = protobuf_shape(envelope->api_version, item_kind);
  if (out.shape == nullptr)
    return fail(broken("expected a " + std::string(item_kind) + "List, got " + quote(envelope->kind.substr(0, 128)) +
                       " of " + quote(envelope->api_version.substr(0, 128))));
  WireReader reader(envelope->message);
  while (reader.next()) {
    if (reader.wire() != kWireBytes) continue;
    if (reader.number() == kListMetadata) out.metadata = reader.bytes();
    if (reader.number() == kListItems) out.items.push_back(reader.bytes());
  }
  if (!reader.ok()) return fail(broken("a broken list"));
  return out;
}

Error broken_object(const ProtobufDocument& document, const Trouble& trouble) {
  return document.ok() ? Error(Code::kInvalidArgument, trouble.message()) : broken(document.problem());
}

Result<void> read_protobuf_list_meta(ProtobufDocument& document, std::string_view message, ListMeta& out) {
  const ProtobufShape* shape = protobuf_shape("v1", "ListMeta");
  if (shape == nullptr) return fail(Code::kInternal, "no table of ListMeta");
  Trouble trouble;
  if (!read_list_meta_fields(document.open(message, *shape), out, trouble) || !document.ok())
    return fail(broken_object(document, trouble));
  return {};
}

}  // namespace detail

Result<ObjectMeta> protobuf_metadata(std::string_view bytes) {
  const auto envelope = detail::open_envelope(bytes);
  if (!envelope) return fail(envelope.error());
  const auto metadata = detail::metadata_of(envelope->message);
  if (!metadata) return fail(metadata.error());
  const detail::ProtobufShape* shape = detail::protobuf_shape("v1", "ObjectMeta");
  if (shape == nullptr) return fail(Code::kInternal, "no table of ObjectMeta");
  detail::ProtobufDocument document;
  detail::Trouble trouble;
  ObjectMeta out;
  if (!detail::read(document.open(*metadata, *shape), out, trouble) || !document.ok())
    return fail(detail::broken_object(document, trouble));
  return out;
}

Result<ProtobufIdentity> protobuf_identity(std::string_view bytes) {
  const auto envelope = detail::open_envelope(bytes);
  if (!envelope) return fail(envelope.error());
  const auto metadata = detail::metadata_of(envelope->message);
  if (!metadata) return fail(metadata.error());
  ProtobufIdentity out;
  WireReader reader(*metadata);
  while (reader.next()) {
    if (reader.wire() != kWireBytes) continue;
    if (reader.number() == detail::kName) out.name = reader.bytes();
    if (reader.number() == detail::kNamespace) out.ns = reader.bytes();
    if (reader.number() == detail::kUid) out.uid = reader.bytes();
    if (reader.number() == detail::kResourceVersion) out.resource_version = reader.bytes();
  }
  if (!reader.ok()) return fail(detail::broken("an object without readable metadata"));
  return out;
}

Result<std::string> protobuf_status(std::string_view bytes) {
  const auto object = detail::open_object(bytes, "Status");
  if (!object) return fail(object.error());
  detail::ProtobufDocument document;
  nlohmann::json status = detail::to_json(document.open(object->message, *object->shape), 0);
  if (!document.ok()) return fail(detail::broken(document.problem()));
  status["kind"] = "Status";
  status["apiVersion"] = "v1";
  return status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<ProtobufEvent> open_protobuf_event(std::string_view frame) {
  ProtobufEvent out;
  WireReader reader(frame);
  while (reader.next()) {
    if (reader.wire() != kWireBytes) continue;
    if (reader.number() == detail::kEventType) out.type = reader.bytes();
    if (reader.number() != detail::kEventObject) continue;
    WireReader extension(reader.bytes());
    while (extension.next())
      if (extension.number() == detail::kExtensionRaw && extension.wire() == kWireBytes) out.object = extension.bytes();
    if (!extension.ok()) return fail(detail::broken("a watch event with a broken object"));
  }
  if (!reader.ok() || out.type.empty()) return fail(detail::broken("no watch event"));
  return out;
}

}  // namespace dra::api
