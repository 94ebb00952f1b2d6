#include "client/informer/wire.h"

#include <simdjson.h>

#include "client/informer/entry.h"
#include "pkg/api/decode/decode_protobuf.h"
#include "pkg/api/decode/json_repair.h"
#include "pkg/base/strings.h"
#include "pkg/base/utf8.h"

namespace dra::client {
namespace {

Result<WatchEvent> wire_failure(std::string_view line, const char* what) {
  return fail(Code::kInvalidArgument, std::string("watch event: ") + what + ": " + quote(line.substr(0, 120)) +
                                          (line.size() > 120 ? "..." : ""));
}

bool event_type(std::string_view name, WatchEvent::Type& out) {
  using Type = WatchEvent::Type;
  constexpr std::pair<std::string_view, Type> kTypes[] = {{"ADDED", Type::kAdded},
                                                          {"MODIFIED", Type::kModified},
                                                          {"DELETED", Type::kDeleted},
                                                          {"BOOKMARK", Type::kBookmark},
                                                          {"ERROR", Type::kError}};
  for (const auto& [known, type] : kTypes) {
    if (known != name) continue;
    out = type;
    return true;
  }
  return false;
}

constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

// Reads the bookmark's fields: metadata.resourceVersion and the annotation.
bool read_bookmark(simdjson::ondemand::object object, WatchEvent& event) {
  simdjson::ondemand::object metadata;
  if (object.find_field_unordered("metadata").get_object().get(metadata)) return false;
  std::string_view revision;
  if (metadata.find_field_unordered("resourceVersion").get_string().get(revision)) return false;
  auto number = parse_revision(revision);
  if (!number) return false;
  event.revision = *number;
  simdjson::ondemand::object annotations;
  if (metadata.find_field_unordered("annotations").get_object().get(annotations)) return true;
  std::string_view end;
  if (!annotations.find_field_unordered(kInitialEventsEnd).get_string().get(end)) {
    event.initial_events_end = end == "true";
  }
  return true;
}

}  // namespace

Result<WatchEvent> parse_watch_line(std::string_view line) {
  namespace od = simdjson::ondemand;
  // Keeps the parser's buffers; no document outlives this call.
  thread_local od::parser parser;
  simdjson::padded_string padded(line);
  od::document document;
  simdjson::error_code code = parser.iterate(padded).get(document);
  if (code == simdjson::UTF8_ERROR) {
    // Opaque parameters may contain any bytes: the server does not check them.
    padded = simdjson::padded_string(valid_utf8(line));
    code = parser.iterate(padded).get(document);
  }
  if (code) return wire_failure(line, "not JSON");
  od::object root;
  if (document.get_object().get(root)) return wire_failure(line, "not an object");
  std::string_view type;
  if (root.find_field_unordered("type").get_string().get(type)) return wire_failure(line, "no type");
  WatchEvent event;
  if (!event_type(type, event.type)) return wire_failure(line, "unknown type");
  od::object object;
  if (root.find_field_unordered("object").get_object().get(object)) return wire_failure(line, "no object");
  if (event.type == WatchEvent::Type::kBookmark) {
    if (!read_bookmark(object, event)) return wire_failure(line, "a bookmark without a resourceVersion");
    return event;
  }
  std::string_view raw;
  if (object.raw_json().get(raw)) return wire_failure(line, "a broken object");
  event.object = std::string(raw);
  return event;
}

Result<WatchEvent> parse_watch_frame(std::string_view frame) {
  const Result<api::ProtobufEvent> opened = api::open_protobuf_event(frame);
  if (!opened) return fail(opened.error().wrap("watch event"));
  WatchEvent event;
  event.protobuf = true;
  if (!event_type(opened->type, event.type))
    return fail(Code::kInvalidArgument, "watch event: unknown type " + quote(opened->type.substr(0, 120)));
  if (event.type == WatchEvent::Type::kBookmark) {
    const Result<api::ObjectMeta> metadata = api::protobuf_metadata(opened->object);
    if (!metadata) return fail(metadata.error().wrap("bookmark"));
    const Result<uint64_t> revision = parse_revision(metadata->resource_version);
    if (!revision) return fail(revision.error().wrap("bookmark"));
    event.revision = *revision;
    const auto end = metadata->annotations.find(kInitialEventsEnd);
    event.initial_events_end = end != metadata->annotations.end() && end->second == "true";
  } else if (event.type == WatchEvent::Type::kError) {
    Result<std::string> status = api::protobuf_status(opened->object);
    if (!status) return fail(status.error().wrap("ERROR event"));
    event.object = std::move(*status);
    event.protobuf = false;
  } else {
    event.object = std::string(opened->object);
  }
  return event;
}

Result<WatchEvent> parse_watch_message(std::string_view message) {
  return message.starts_with('{') ? parse_watch_line(message) : parse_watch_frame(message);
}

Result<Entry> identify(std::string_view object_json) {
  namespace od = simdjson::ondemand;
  thread_local od::parser parser;
  simdjson::padded_string padded(object_json);
  od::document document;
  od::object metadata;
  if (parser.iterate(padded).get(document) || document.find_field_unordered("metadata").get_object().get(metadata))
    return fail(Code::kInvalidArgument, "an object without metadata");
  api::ObjectMeta meta;
  // An absent field, or one that is not a string, stays empty. After any other error simdjson must not be used again:
  // the text is malformed inside the object, and its iterator is invalid.
  const auto read = [&](const char* name, std::string& into) {
    std::string_view text;
    const simdjson::error_code code = metadata.find_field_unordered(name).get_string().get(text);
    if (!code) into = std::string(text);
    return !code || code == simdjson::NO_SUCH_FIELD || code == simdjson::INCORRECT_TYPE;
  };
  if (!read("namespace", meta.ns) || !read("name", meta.name) || !read("uid", meta.uid) ||
      !read("resourceVersion", meta.resource_version))
    return fail(Code::kInvalidArgument, "an object with broken metadata");
  const Result<uint64_t> revision = revision_of(meta);
  if (!revision) return fail(revision.error());
  return Entry(std::move(meta), *revision);
}

}  // namespace dra::client
