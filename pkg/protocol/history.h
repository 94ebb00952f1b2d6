// What a pod waited for and since when: one annotation of the pod, which the manager writes along with the pod's
// condition, never by itself.
//
//   2026-11-28T03:00:00Z no node has a free device of class gpu: 3 nodes, all devices held
//   2026-11-28T03:12:40Z allocated gpu.example.com/pool/gpu-3
//
// One line for each cause, the oldest first: when it was first written, and its sentence, cut short. A cause that
// differs from the last one in numbers alone is the same. At most kMaxHistoryEntries lines and kMaxHistoryBytes in all;
// older lines are dropped. Nothing but the display reads it: whoever forges it changes what is shown, and nothing else.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/timestamp.h"

namespace dra::protocol {

inline constexpr std::string_view kHistoryAnnotation = "dra-controller-manager/history";
inline constexpr size_t kMaxHistoryEntries = 8;
inline constexpr size_t kMaxHistoryBytes = 1024;

struct HistoryEntry {
  Timestamp time;
  std::string text;
};

// The last kMaxHistoryEntries lines that are as written above; others are left out.
std::vector<HistoryEntry> read_history(std::string_view value);
// The value with one cause more. The text becomes one line of valid UTF-8 without control characters.
std::string history_with(std::string_view value, Timestamp now, std::string_view text);

}  // namespace dra::protocol
