#include "pkg/api/decode/protobuf_metadata.h"

#include "pkg/api/decode/decode_protobuf.h"
#include "pkg/api/decode/protobuf_envelope.h"
#include "pkg/base/protobuf_wire.h"
#include "pkg/base/strings.h"

namespace dra::api {
namespace {

// Field numbers of runtime.Unknown, of all kinds, of ObjectMeta and of an entry of a map.
constexpr int kRaw = 2;
constexpr int kMetadata = 1;
constexpr int kAnnotations = 12, kFinalizers = 14;
constexpr int kClaimStatus = 3, kReservedFor = 2;
constexpr int kConsumerGroup = 1, kConsumerResource = 3, kConsumerName = 4, kConsumerUid = 5;
constexpr int kEntryKey = 1, kEntryValue = 2;

Unexpected not_editable(const std::string& what) {
  return fail(Code::kInvalidArgument, "metadata cannot be changed in protobuf: " + what);
}

// Copies a message, with `change` in the place of the value of its field `number`, which must be there once.
template <class F>
Result<std::string> with_field(std::string_view message, int number, const char* what, F&& change) {
  std::string out;
  out.reserve(message.size() + 512);
  int seen = 0;
  WireReader reader(message);
  for (size_t begin = 0; reader.next(); begin = reader.position()) {
    if (reader.number() != number || reader.wire() != kWireBytes) {
      out += message.substr(begin, reader.position() - begin);
      continue;
    }
    ++seen;
    Result<std::string> changed = change(reader.bytes());
    if (!changed) return changed;
    append_bytes_field(out, number, *changed);
  }
  if (!reader.ok()) return not_editable(std::string("broken bytes around ") + what);
  if (seen != 1) return not_editable((seen == 0 ? "no " : "more than one ") + std::string(what));
  return out;
}

// The key of a map's entry; absent means "". False if the entry is malformed.
bool read_key(std::string_view entry, std::string_view& key) {
  WireReader reader(entry);
  while (reader.next())
    if (reader.number() == kEntryKey && reader.wire() == kWireBytes) key = reader.bytes();
  return reader.ok();
}

// Fields may come in any order, so what is set is appended. All entries of a key that is set or removed go: a reader
// takes the last of them.
Result<std::string> edited(std::string_view metadata, const MetadataEdit& edit) {
  std::string out;
  out.reserve(metadata.size() + 512);
  size_t finalizers = 0;
  WireReader reader(metadata);
  for (size_t begin = 0; reader.next(); begin = reader.position()) {
    if (reader.wire() == kWireBytes) {
      if (reader.number() == kFinalizers && (edit.finalizers || finalizers++ == edit.remove_finalizer_at)) continue;
      std::string_view key;
      if (reader.number() == kAnnotations && !read_key(reader.bytes(), key)) return not_editable("a broken annotation");
      if (reader.number() == kAnnotations && edit.annotations.contains(key)) continue;
    }
    out += metadata.substr(begin, reader.position() - begin);
  }
  if (!reader.ok()) return not_editable("broken metadata");
  if (edit.remove_finalizer_at && *edit.remove_finalizer_at >= finalizers)
    return not_editable("no finalizer at index " + std::to_string(*edit.remove_finalizer_at));
  for (const auto& [key, value] : edit.annotations) {
    if (!value) continue;
    std::string entry;
    append_bytes_field(entry, kEntryKey, key);
    append_bytes_field(entry, kEntryValue, *value);
    append_bytes_field(out, kAnnotations, entry);
  }
  if (edit.finalizers)
    for (const std::string& finalizer : *edit.finalizers) append_bytes_field(out, kFinalizers, finalizer);
  if (edit.append_finalizer) append_bytes_field(out, kFinalizers, *edit.append_finalizer);
  return out;
}

Result<std::string> reserved_for(std::string_view status,
                                 const std::vector<ResourceClaimConsumerReference>& consumers) {
  std::string out;
  WireReader reader(status);
  for (size_t begin = 0; reader.next(); begin = reader.position())
    if (reader.number() != kReservedFor) out += status.substr(begin, reader.position() - begin);
  if (!reader.ok()) return not_editable("a broken status");
  for (const ResourceClaimConsumerReference& consumer : consumers) {
    std::string entry;
    append_bytes_field(entry, kConsumerGroup, consumer.api_group);
    append_bytes_field(entry, kConsumerResource, consumer.resource);
    append_bytes_field(entry, kConsumerName, consumer.name);
    append_bytes_field(entry, kConsumerUid, consumer.uid);
    append_bytes_field(out, kReservedFor, entry);
  }
  return out;
}

// The object in its envelope with `change` in the place of the value of its field `number`.
template <class F>
Result<std::string> with_part(std::string_view bytes, std::string_view kind, int number, const char* what, F&& change) {
  const auto envelope = detail::open_envelope(bytes);
  if (!envelope) return fail(envelope.error());
  if (envelope->kind != kind)
    return not_editable("expected a " + std::string(kind) + ", got " + quote(envelope->kind.substr(0, 128)));
  Result<std::string> out =
      with_field(bytes.substr(kProtobufMagic.size()), kRaw, "object",
                 [&](std::string_view object) { return with_field(object, number, what, change); });
  if (out) out->insert(0, kProtobufMagic);
  return out;
}

}  // namespace

Result<std::string> edit_protobuf_metadata(std::string_view bytes, std::string_view kind, const MetadataEdit& edit) {
  return with_part(bytes, kind, kMetadata, "metadata",
                   [&](std::string_view metadata) { return edited(metadata, edit); });
}

Result<std::string> edit_protobuf_consumers(std::string_view bytes,
                                            const std::vector<ResourceClaimConsumerReference>& consumers) {
  return with_part(bytes, "ResourceClaim", kClaimStatus, "status",
                   [&](std::string_view status) { return reserved_for(status, consumers); });
}

}  // namespace dra::api
