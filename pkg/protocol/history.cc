#include "pkg/protocol/history.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/base/utf8.h"

namespace dra::protocol {

namespace {

constexpr size_t kTimeBytes = 20;  // "2026-11-28T03:00:00Z"
// Eight lines with their times, blanks and ends fit.
constexpr size_t kMaxHistoryText = kMaxHistoryBytes / kMaxHistoryEntries - kTimeBytes - 2;

std::string one_line(std::string_view text) {
  std::string line = valid_utf8(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  if (line.size() <= kMaxHistoryText) return line;
  return std::string(utf8_prefix(line, kMaxHistoryText - 3)) + "...";
}

std::string no_numbers(std::string_view text) {
  std::string rest;
  std::copy_if(text.begin(), text.end(), std::back_inserter(rest), [](char c) { return c < '0' || c > '9'; });
  return rest;
}

}  // namespace

std::vector<HistoryEntry> read_history(std::string_view value) {
  std::vector<HistoryEntry> entries;
  for (const std::string& line : split(value.substr(0, kMaxHistoryBytes), '\n')) {
    HistoryEntry entry;
    if (line.size() <= kTimeBytes || line[kTimeBytes] != ' ' || !parse_rfc3339(line.substr(0, kTimeBytes), entry.time))
      continue;
    entry.text = line.substr(kTimeBytes + 1);
    entries.push_back(std::move(entry));
  }
  if (entries.size() > kMaxHistoryEntries)
    entries.erase(entries.begin(), entries.end() - static_cast<std::ptrdiff_t>(kMaxHistoryEntries));
  return entries;
}

std::string history_with(std::string_view value, Timestamp now, std::string_view text) {
  std::vector<HistoryEntry> entries = read_history(value);
  const std::string line = one_line(text);
  if (entries.empty() || no_numbers(entries.back().text) != no_numbers(line)) entries.push_back({now, line});
  std::string all;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    std::string next = format_rfc3339(entry->time) + " " + one_line(entry->text);
    if (static_cast<size_t>(entry - entries.rbegin()) == kMaxHistoryEntries ||
        all.size() + next.size() + 1 > kMaxHistoryBytes)
      break;
    all = all.empty() ? std::move(next) : next + "\n" + all;
  }
  return all;
}

}  // namespace dra::protocol
