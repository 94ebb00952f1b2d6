// The note in which the first pod of a group, which is reconciled for all, leaves the others the reason why the group
// waits: they say it in their own conditions.
#pragma once

#include <string>
#include <string_view>

#include "controllers/allocation/pod/condition.h"

namespace dra::allocation {

inline constexpr std::string_view kGroupNote = "group";  // its topic
// Of a member of a group of groups: the leader, and what its note said, when the member ran last.
inline constexpr std::string_view kHeardNote = "group-heard";
// What it begins with.
inline constexpr std::string_view kFitsNowhere = "nowhere: ", kMayFit = "waits: ";

inline std::string group_note(const std::string& sentence, Fit fit) {
  constexpr size_t kMaxNote = 512;
  return std::string(fit == Fit::kNowhere ? kFitsNowhere : kMayFit) + sentence.substr(0, kMaxNote);
}

}  // namespace dra::allocation
