// The messages of a watch, in JSON or protobuf. Pure; safe on any bytes.
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
  // Of the object, which is then in its envelope (pkg/api/decode_protobuf.h). Errors are JSON always.
  bool protobuf = false;
  // The object's JSON text or bytes.
  std::string object;
  // Of bookmarks: the revision, and whether it ends the initial events of a WatchList.
  uint64_t revision = 0;
  bool initial_events_end = false;
};

// kInvalidArgument when the line is no watch event.
Result<WatchEvent> parse_watch_line(std::string_view line);
// The same of a frame of a protobuf watch, without its length.
Result<WatchEvent> parse_watch_frame(std::string_view frame);
// Either: a JSON event begins with a brace, and no protobuf event does (0x7b would begin a group).
Result<WatchEvent> parse_watch_message(std::string_view message);

// What identifies an object, from its metadata alone: for objects that cannot be read otherwise. The entry holds no
// object.
Result<Entry> identify(std::string_view object_json);

}  // namespace dra::client
