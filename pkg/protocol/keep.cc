#include "pkg/protocol/keep.h"

#include <algorithm>
#include <charconv>

#include "pkg/base/strings.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::protocol {

namespace {

constexpr std::string_view kInUse = "in-use";
constexpr std::string_view kUntil = "until-";
constexpr std::string_view kPriority = "-priority-";
// Distinguishes the entry's uid from the claim's own.
constexpr std::string_view kUid = "kept-";
constexpr std::string_view kUidForOwner = "kept-for-";

// The whole text as a decimal number.
std::optional<int64_t> number_of(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Keep> read_name(std::string_view name) {
  Keep keep;
  const size_t at = name.rfind(kPriority);
  if (at == std::string_view::npos) return std::nullopt;
  const std::optional<int64_t> priority = number_of(name.substr(at + kPriority.size()));
  if (!priority) return std::nullopt;
  keep.priority = *priority;
  name = name.substr(0, at);
  if (name == kInUse) return keep;
  if (!name.starts_with(kUntil)) return std::nullopt;
  const std::optional<int64_t> seconds = number_of(name.substr(kUntil.size()));
  // Far enough for a day, and small enough to be a time.
  if (!seconds || *seconds < 0 || *seconds > int64_t{1} << 36) return std::nullopt;
  keep.until = Timestamp::at(*seconds);
  return keep;
}

// What cannot be read counts as in use, with priority 0.
Keep read_entry(const api::ResourceClaimConsumerReference& entry) {
  Keep keep = read_name(entry.name).value_or(Keep());
  if (entry.uid.starts_with(kUidForOwner)) keep.owner = entry.uid.substr(kUidForOwner.size());
  return keep;
}

}  // namespace

std::optional<Duration> read_keep(std::string_view text) {
  if (text.size() < 2 || text.size() > 8 || text.front() < '0' || text.front() > '9') return std::nullopt;
  const std::optional<int64_t> number = number_of(text.substr(0, text.size() - 1));
  if (!number) return std::nullopt;
  Duration one{};
  switch (text.back()) {
    case 's':
      one = std::chrono::seconds(1);
      break;
    case 'm':
      one = std::chrono::minutes(1);
      break;
    case 'h':
      one = std::chrono::hours(1);
      break;
    default:
      return std::nullopt;
  }
  const Duration all = one * *number;
  if (all < kShortestKeep || all > kLongestKeep) return std::nullopt;
  return all;
}

std::string why_not_kept(std::string_view text) {
  if (read_keep(text)) return "";
  return quote(text) + " is not a time from 1s to 24h; write a number with s, m or h: 90s, 10m, 24h";
}

bool asks_to_keep(const api::ResourceClaim& claim) {
  return claim.metadata.annotations.contains(kKeepAnnotation);
}

bool outlives_pods(const api::ResourceClaim& claim) {
  const api::OwnerReference* owner = claim.metadata.controller();
  return owner == nullptr || (owner->kind != "Pod" && owner->kind != "PodGroup");
}

std::optional<Duration> keeps_for(const api::ResourceClaim& claim) {
  const auto annotation = claim.metadata.annotations.find(kKeepAnnotation);
  if (annotation == claim.metadata.annotations.end()) return std::nullopt;
  if (const api::OwnerReference* owner = claim.metadata.controller(); owner && owner->kind == "PodGroup")
    return std::nullopt;
  return read_keep(annotation->second);
}

const api::Pod* known_pod_owner(const reconcile::View& view, const api::ResourceClaim& claim) {
  const api::OwnerReference* owner = pod_owner(claim);
  const api::Pod* pod = owner == nullptr ? nullptr : view.pod(claim.metadata.ns + "/" + owner->name);
  return pod != nullptr && pod->metadata.uid == owner->uid ? pod : nullptr;
}

std::string owner_to_keep_for(const reconcile::View& view, const api::ResourceClaim& claim) {
  if (const std::optional<Keep> keep = keep_of(claim); keep && !keep->owner.empty()) return keep->owner;
  const api::Pod* pod = known_pod_owner(view, claim);
  return pod != nullptr && pod->metadata.controller() != nullptr ? pod->metadata.controller()->uid : "";
}

bool is_next_pod(const api::Pod& pod, const api::ResourceClaim& claim, const Keep& keep) {
  const api::OwnerReference* controller = pod.metadata.controller();
  return !keep.owner.empty() && controller != nullptr && controller->uid == keep.owner &&
         pod.metadata.ns == claim.metadata.ns;
}

bool is_keep_reference(const api::ResourceClaimConsumerReference& consumer) {
  return consumer.api_group == kKeepGroup && consumer.resource == kKeepResource;
}

std::optional<Keep> keep_of(const api::ResourceClaim& claim) {
  const auto& consumers = claim.status.reserved_for;
  const auto entry = std::find_if(consumers.begin(), consumers.end(), is_keep_reference);
  if (entry == consumers.end()) return std::nullopt;
  Keep keep = read_entry(*entry);
  if (keep.owner.empty()) return keep;
  // Made from a template: no entry of a claim that is being deleted may be changed, so the time begins with that.
  keep.until = has_users(claim) ? std::nullopt : end_of_deleted(claim);
  return keep;
}

std::optional<Timestamp> end_of_deleted(const api::ResourceClaim& claim) {
  Timestamp deleted;
  const std::optional<Duration> lasts = keeps_for(claim);
  if (!lasts || !claim.metadata.deleting() || !parse_rfc3339(claim.metadata.deletion_timestamp, deleted))
    return std::nullopt;
  return deleted + *lasts;
}

api::ResourceClaimConsumerReference keep_reference(const api::ResourceClaim& claim, const Keep& keep) {
  const std::string state = keep.until && keep.owner.empty()
                                ? std::string(kUntil) + std::to_string(keep.until->seconds())
                                : std::string(kInUse);
  return {std::string(kKeepGroup), std::string(kKeepResource),
          state + std::string(kPriority) + std::to_string(keep.priority),
          keep.owner.empty() ? std::string(kUid) + claim.metadata.uid : std::string(kUidForOwner) + keep.owner};
}

bool has_users(const api::ResourceClaim& claim) {
  const auto& consumers = claim.status.reserved_for;
  return !std::all_of(consumers.begin(), consumers.end(), is_keep_reference);
}

bool is_only_kept(const api::ResourceClaim& claim) {
  if (!claim.status.allocation || has_users(claim)) return false;
  const std::optional<Keep> keep = keep_of(claim);
  return keep && keep->until;
}

void note_use(const reconcile::View& view, const api::ResourceClaim& claim,
              std::vector<api::ResourceClaimConsumerReference>& consumers) {
  const auto entry = std::find_if(consumers.begin(), consumers.end(), is_keep_reference);
  if (entry == consumers.end()) return;
  const Keep known = read_entry(*entry);
  std::optional<int64_t> highest;
  bool used = false;
  for (const api::ResourceClaimConsumerReference& consumer : consumers) {
    if (is_keep_reference(consumer)) continue;
    used = true;
    const api::Pod* pod = is_pod_reference(consumer) ? view.pod(claim.metadata.ns + "/" + consumer.name) : nullptr;
    if (pod == nullptr || pod->metadata.uid != consumer.uid) continue;
    if (!highest || pod->priority > *highest) highest = pod->priority;
  }
  if (used) *entry = keep_reference(claim, {std::nullopt, highest.value_or(known.priority), known.owner});
}

std::string taken_note(const api::Pod& pod) {
  return pod.metadata.uid + " " + pod.metadata.key();
}

const api::Pod* taker_of(const reconcile::View& view, const api::ResourceClaim& claim, const Keep& keep) {
  const auto noted = view.note(claim.metadata.uid, kTakenNote);
  if (!noted || noted->age >= kTakenCounts) return nullptr;
  const size_t space = noted->text.find(' ');
  if (space == std::string::npos) return nullptr;
  const api::Pod* pod = view.pod(std::string_view(noted->text).substr(space + 1));
  if (pod == nullptr || taken_note(*pod) != noted->text || !pod->node_name.empty() || pod->done()) return nullptr;
  return pod->priority > keep.priority || is_next_pod(*pod, claim, keep) ? pod : nullptr;
}

std::shared_ptr<const api::ResourceClaim> without_keep(std::shared_ptr<const api::ResourceClaim> claim) {
  if (!keep_of(*claim)) return claim;
  auto copy = std::make_shared<api::ResourceClaim>(*claim);
  std::erase_if(copy->status.reserved_for, is_keep_reference);
  return copy;
}

std::string keep_words(const Keep& keep) {
  return keep.until ? "kept until " + format_rfc3339(*keep.until) : "kept when its pods end";
}

}  // namespace dra::protocol
