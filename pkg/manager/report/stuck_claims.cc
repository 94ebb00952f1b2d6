#include "pkg/manager/report/stuck_claims.h"

#include <optional>

#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"

namespace dra::manager {

namespace {

enum State : size_t { kPending, kUnproven, kDeleting };

std::optional<State> state_of(const api::ResourceClaim& claim) {
  if (claim.metadata.deleting()) return kDeleting;
  if (!claim.status.allocation) return kPending;
  if (protocol::is_allocated_by_us(claim) && !protocol::is_proven(claim)) return kUnproven;
  return std::nullopt;
}

// How long a claim that is new to us has been in its state, as far as its own timestamps say.
Timestamp began(const api::ResourceClaim& claim, State state, Timestamp now) {
  const std::string* text = &claim.metadata.creation_timestamp;
  if (state == kUnproven) text = &claim.status.allocation->allocation_timestamp;
  if (state == kDeleting) text = &claim.metadata.deletion_timestamp;
  Timestamp time;
  return parse_rfc3339(*text, time) && time < now ? time : now;
}

}  // namespace

void StuckClaims::forget(const std::string& key) {
  auto known = entries_.find(key);
  if (known == entries_.end()) return;
  by_time_[known->second.state].erase({known->second.since, key});
  entries_.erase(known);
}

void StuckClaims::changed(const api::ResourceClaim* before, const api::ResourceClaim* after, WallTime now) {
  if (!after) return forget(before->metadata.key());
  const std::string key = after->metadata.key();
  const bool same_object = before && before->metadata.uid == after->metadata.uid;
  const std::optional<State> state = state_of(*after);
  auto known = entries_.find(key);
  if (same_object && state && known != entries_.end() && known->second.state == *state) return;
  forget(key);
  if (!state) return;
  const Timestamp since = same_object && *state != kDeleting ? Timestamp(now) : began(*after, *state, now);
  entries_.emplace(key, Entry{*state, since});
  by_time_[*state].emplace(since, key);
}

std::array<size_t, 3> StuckClaims::count(WallTime now, const std::function<bool(const std::string&)>& needed) const {
  std::array<size_t, 3> counts{};
  for (size_t state = 0; state < by_time_.size(); ++state)
    for (const auto& [since, key] : by_time_[state]) {
      if (now - since < kStuckAfter) break;
      if (state != kPending || needed(key)) ++counts[state];
    }
  return counts;
}

}  // namespace dra::manager
