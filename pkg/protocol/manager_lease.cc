#include "pkg/protocol/manager_lease.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/base/utf8.h"

namespace dra::protocol {

namespace {

constexpr const char* kVersion = "dra-controller-manager/version";
constexpr const char* kMode = "dra-controller-manager/mode";
constexpr const char* kOptIn = "dra-controller-manager/opt-in";
constexpr const char* kSchedulerNames = "dra-controller-manager/scheduler-names";
constexpr const char* kExclusive = "dra-controller-manager/exclusive-drivers";
constexpr const char* kShared = "dra-controller-manager/shared-drivers";
constexpr const char* kUsage = "dra-controller-manager/usage";
constexpr const char* kPreempts = "dra-controller-manager/preempts";
constexpr const char* kInQuarantine = "dra-controller-manager/quarantine";
constexpr const char* kMoves = "dra-controller-manager/moves";
constexpr size_t kMaxUsageNote = 512;

std::string listed(const std::vector<std::string>& names) {
  std::string text = join(names, ",");
  if (text.size() <= kMaxLeaseAnnotation) return text;
  text.resize(kMaxLeaseAnnotation);
  const size_t comma = text.rfind(',');
  return comma == std::string::npos ? "" : text.substr(0, comma);
}

std::string text_at(const api::StringMap& annotations, const char* key) {
  const auto found = annotations.find(key);
  return found == annotations.end() ? "" : found->second;
}

std::vector<std::string> list_at(const api::StringMap& annotations, const char* key) {
  const std::string text = text_at(annotations, key);
  return text.empty() ? std::vector<std::string>() : split(text, ',');
}

}  // namespace

api::StringMap annotations_of(const ManagerNotes& notes) {
  api::StringMap out;
  out.insert_or_assign(kVersion, notes.version);
  out.insert_or_assign(kMode, notes.mode);
  out.insert_or_assign(kSchedulerNames, listed(notes.scheduler_names));
  out.insert_or_assign(kExclusive, listed(notes.exclusive));
  out.insert_or_assign(kShared, listed(notes.shared));
  out.insert_or_assign(kUsage, std::string(utf8_prefix(notes.usage, kMaxUsageNote)));
  out.insert_or_assign(kPreempts, std::string(utf8_prefix(notes.preempts, kMaxUsageNote)));
  out.insert_or_assign(kInQuarantine, std::string(utf8_prefix(notes.quarantine, kMaxLeaseAnnotation)));
  out.insert_or_assign(kMoves, listed({notes.moves}));
  return out;
}

ManagerNotes notes_of(const api::StringMap& annotations) {
  return {text_at(annotations, kVersion),        text_at(annotations, kMode),      text_at(annotations, kOptIn),
          list_at(annotations, kSchedulerNames), list_at(annotations, kExclusive), list_at(annotations, kShared),
          text_at(annotations, kUsage),          text_at(annotations, kPreempts),  text_at(annotations, kInQuarantine),
          text_at(annotations, kMoves)};
}

Leadership leadership_of(const api::Lease& lease, Timestamp now) {
  constexpr int64_t kPatience = 2;  // durations of the Lease
  if (lease.holder_identity.empty()) return Leadership::kNone;
  Timestamp renewed;
  if (!parse_rfc3339(lease.renew_time, renewed)) return Leadership::kLate;
  const int64_t seconds = std::max<int32_t>(1, lease.lease_duration_seconds) * kPatience;
  return seconds_between(renewed, now) <= seconds ? Leadership::kLeads : Leadership::kLate;
}

}  // namespace dra::protocol
