// Watch messages, in JSON or protobuf. Pure; safe on any bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "client/informer/entry.h"
#include "pkg/base/error.h"

namespace dra::client {

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark, kError };
  Type type = Type::kAdded;
  // The object is protobuf in its envelope (pkg/api/decode/decode_protobuf.h). Error events are always JSON.
  bool protobuf = false;
  // The object's JSON text or protobuf bytes.
  std::string object;
  // For bookmarks: the revision, and whether it ends the initial events of a WatchList.
  uint64_t revision = 0;
  bool initial_events_end = false;
};

// kInvalidArgument if the line is not a watch event.
Result<WatchEvent> parse_watch_line(std::string_view line);
// Like parse_watch_line(), for a frame of a protobuf watch without its length.
Result<WatchEvent> parse_watch_frame(std::string_view frame);
// Accepts both: a JSON event begins with a brace, and no protobuf event does (0x7b would begin a group).
Result<WatchEvent> parse_watch_message(std::string_view message);

// The identity of an object, from its metadata alone: for objects that are otherwise unreadable. The entry contains no
// object.
Result<Entry> identify(std::string_view object_json);

}  // namespace dra::client
