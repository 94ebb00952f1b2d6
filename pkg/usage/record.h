// Record: the totals of usage at one moment, and their text, which the leader writes into one object and the next
// leader reads.
//
// The text is JSON of at most kMaxRecordBytes: tables of labels, and groups that name them by number. It is read as
// input from outside: anything that is not as written here is an error that names the field, and nothing is read.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/error.h"
#include "pkg/base/timestamp.h"

namespace dra::usage {

inline constexpr std::string_view kOther = "other";
inline constexpr size_t kMaxRecordBytes = 256 * 1024;

struct Labels {
  std::string ns, device_class, driver, owner;
  auto operator<=>(const Labels&) const = default;
};

struct ShareTotal {
  std::string name;
  double seconds = 0;
  int64_t held = 0;  // nanos of a card
  bool operator==(const ShareTotal&) const = default;
};

struct GroupTotal {
  Labels labels;
  double device_seconds = 0, card_seconds = 0;
  int64_t devices = 0, cards = 0;  // held; cards in nanos
  int64_t idle_seconds = 0;        // since when nothing is held
  std::vector<ShareTotal> shares;
  bool operator==(const GroupTotal&) const = default;
};

struct Record {
  Timestamp as_of;     // the totals are those at this time, by the writer's clock
  Timestamp since;     // counting began
  std::string writer;  // the identity of the leader
  std::vector<GroupTotal> groups;
};

// kResourceExhausted: it would be longer than kMaxRecordBytes, which the bounds of the ledger exclude.
Result<std::string> to_text(const Record& record);
Result<Record> parse_record(std::string_view text);

}  // namespace dra::usage
