// The lines of a watch. Pure; safe on any bytes.
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
  // The object's JSON text.
  std::string object;
  // Of bookmarks: the revision, and whether it ends the initial events of a WatchList.
  uint64_t revision = 0;
  bool initial_events_end = false;
};

// kInvalidArgument when the line is no watch event.
Result<WatchEvent> parse_watch_line(std::string_view line);

// What identifies an object, from its metadata alone: for objects that cannot be read otherwise. The entry holds no
// object.
Result<Entry> identify(std::string_view object_json);

}  // namespace dra::client
