#include "pkg/protocol/pod_claims.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "pkg/api/pod_bounds.h"

namespace dra::protocol {

const api::PodResourceClaimStatus* published_claim(const api::Pod& pod, std::string_view entry) {
  for (const api::PodResourceClaimStatus& status : pod.resource_claim_statuses)
    if (status.name == entry) return &status;
  return nullptr;
}

bool is_nominated_by_others(const api::Pod& pod) {
  return !pod.nominated_node_name.empty() &&
         std::none_of(pod.metadata.managed_fields.begin(), pod.metadata.managed_fields.end(),
                      [](const auto& entry) { return entry.nominates_node && entry.manager == kFieldManager; });
}

ResolvedClaim resolve_claim(const api::Pod& pod, const api::PodResourceClaim& entry) {
  using State = ResolvedClaim::State;
  if (entry.resource_claim_name) return {State::kNamed, *entry.resource_claim_name, false};
  if (!entry.resource_claim_template_name) return {State::kUnsupported, "", false};
  const api::PodResourceClaimStatus* status = published_claim(pod, entry.name);
  if (!status) return {State::kNotCreated, "", true};
  if (!status->resource_claim_name) return {State::kNotNeeded, "", false};
  return {State::kNamed, *status->resource_claim_name, true};
}

ResolvedClaim resolve_created_claim(const api::Pod& pod, const api::PodResourceClaim& entry) {
  ResolvedClaim resolved = resolve_claim(pod, entry);
  if (resolved.state != ResolvedClaim::State::kNotCreated) return resolved;
  return {ResolvedClaim::State::kNamed, generated_claim_name(pod.metadata.name, entry.name, pod.metadata.uid), true};
}

std::string owner_key(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.metadata.controller();
  return owner == nullptr ? "" : pod.metadata.ns + "/" + owner->uid;
}

bool is_for_pod(const api::Pod& pod, const api::ResourceClaim& claim) {
  if (claim.metadata.ns != pod.metadata.ns) return false;
  const api::OwnerReference* owner = claim.metadata.controller();
  return owner && !owner->uid.empty() && owner->uid == pod.metadata.uid;
}

bool is_made_for(const api::Pod& pod, const std::string& entry, const api::ResourceClaim& claim) {
  if (!is_for_pod(pod, claim)) return false;
  const auto annotation = claim.metadata.annotations.find(api::kPodClaimNameAnnotation);
  if (annotation != claim.metadata.annotations.end()) return annotation->second == entry;
  return claim.metadata.name == generated_claim_name(pod.metadata.name, entry, pod.metadata.uid);
}

bool is_reserved_for(const api::ResourceClaim& claim, std::string_view pod_uid) {
  for (const api::ResourceClaimConsumerReference& consumer : claim.status.reserved_for)
    if (consumer.uid == pod_uid) return true;
  return false;
}

const api::UnknownField* field_that_keeps_out(const api::ResourceClaim& claim, std::string_view pod_uid,
                                              const api::IgnoredFields& ignored) {
  if (!claim.status.allocation || is_reserved_for(claim, pod_uid)) return nullptr;
  return api::refusing_field(claim.status.allocation->unknown, ignored);
}

bool is_pod_reference(const api::ResourceClaimConsumerReference& consumer) {
  return consumer.api_group.empty() && consumer.resource == "pods";
}

api::ResourceClaimConsumerReference pod_reference(const api::Pod& pod) {
  return {"", "pods", pod.metadata.name, pod.metadata.uid};
}

namespace {

// A pod can have the name. Whoever writes a claim can name "." or "a/b" as its owner, which no server can be asked
// about.
bool can_be_asked_about(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && std::none_of(name.begin(), name.end(), [](unsigned char c) {
    return c <= 0x20 || c == 0x7f || c == '/' || c == '%';
  });
}

}  // namespace

const api::OwnerReference* pod_owner(const api::ResourceClaim& claim) {
  const api::OwnerReference* owner = claim.metadata.controller();
  const bool is_pod = owner && owner->api_version == "v1" && owner->kind == "Pod" && can_be_asked_about(owner->name);
  return is_pod ? owner : nullptr;
}

Author allocation_author(const api::ResourceClaim& claim) {
  if (claim.metadata.managed_fields.empty()) return Author::kUnknown;
  for (const api::ManagedFieldsEntry& entry : claim.metadata.managed_fields)
    if (entry.manager == kAllocationManager && entry.subresource == "status") return Author::kUs;
  return Author::kOthers;
}

bool is_allocated_by_us(const api::ResourceClaim& claim) {
  return claim.status.allocation && allocation_author(claim) == Author::kUs;
}

bool needs_proof(const api::ResourceClaim& claim) {
  return claim.status.allocation && allocation_author(claim) != Author::kOthers;
}

namespace {

void add_unique(std::vector<std::string>& keys, std::string key) {
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(std::move(key));
}

}  // namespace

namespace {

// Resources with a domain in their names, which a DeviceClass may provide.
bool asks_for_extended(const api::Pod& pod) {
  const auto has_domain = [](const auto& entry) { return entry.first.find('/') != std::string::npos; };
  for (const auto* containers : {&pod.containers, &pod.init_containers})
    for (const api::Container& container : *containers)
      if (std::any_of(container.requests.begin(), container.requests.end(), has_domain) ||
          std::any_of(container.limits.begin(), container.limits.end(), has_domain))
        return true;
  return false;
}

}  // namespace

std::vector<std::string> containers_of_claim(const api::Pod& pod, std::string_view claim) {
  std::vector<std::string_view> entries;
  for (const api::PodResourceClaim& entry : pod.resource_claims)
    if (resolve_created_claim(pod, entry).name == claim) entries.push_back(entry.name);
  std::vector<std::string> names;
  for (const auto* containers : {&pod.init_containers, &pod.containers})
    for (const api::Container& container : *containers)
      if (std::any_of(container.claims.begin(), container.claims.end(), [&](const api::ContainerClaim& one) {
            return std::find(entries.begin(), entries.end(), one.name) != entries.end();
          }))
        names.push_back(container.name);
  return names;
}

void each_claim_name(const api::Pod& pod, const std::function<void(std::string_view)>& f) {
  for (const api::PodResourceClaim& entry : pod.resource_claims) {
    if (entry.resource_claim_name) {
      f(*entry.resource_claim_name);
    } else if (const ResolvedClaim resolved = resolve_created_claim(pod, entry);
               resolved.state == ResolvedClaim::State::kNamed) {
      f(resolved.name);
    }
  }
  if (asks_for_extended(pod)) f(extended_claim_name(pod));
  if (pod.extended_resource_claim_status && !pod.extended_resource_claim_status->resource_claim_name.empty())
    f(pod.extended_resource_claim_status->resource_claim_name);
}

std::vector<std::string> claim_keys_of(const api::Pod& pod) {
  std::vector<std::string> keys;
  each_claim_name(pod, [&](std::string_view name) { add_unique(keys, pod.metadata.ns + "/" + std::string(name)); });
  return keys;
}

std::vector<std::string> claim_index_keys_of(const api::Pod& pod) {
  std::vector<std::string> keys = claim_keys_of(pod);
  if (api::may_have_more_claims(pod)) keys.push_back(unknown_claims_key(pod.metadata.ns));
  return keys;
}

std::string unknown_claims_key(const std::string& ns) {
  return ns + "/";
}

std::vector<std::string> template_keys_of(const api::Pod& pod) {
  std::vector<std::string> keys;
  for (const api::PodResourceClaim& entry : pod.resource_claims)
    if (entry.resource_claim_template_name)
      add_unique(keys, pod.metadata.ns + "/" + *entry.resource_claim_template_name);
  return keys;
}

std::vector<std::string> volume_claim_keys_of(const api::Pod& pod) {
  std::vector<std::string> keys;
  for (const api::PodVolume& volume : pod.volumes) {
    if (!volume.claim_name.empty()) add_unique(keys, pod.metadata.ns + "/" + volume.claim_name);
    if (volume.claim_name.empty() && volume.ephemeral) add_unique(keys, pod.metadata.key() + "-" + volume.name);
  }
  return keys;
}

std::vector<std::string> consumer_uids_of(const api::ResourceClaim& claim) {
  std::vector<std::string> uids;
  for (const api::ResourceClaimConsumerReference& consumer : claim.status.reserved_for)
    if (is_pod_reference(consumer)) add_unique(uids, consumer.uid);
  return uids;
}

std::string pool_key(std::string_view driver, std::string_view pool) {
  return std::string(driver) + "/" + std::string(pool);
}

std::vector<std::string> pools_of(const api::ResourceClaim& claim) {
  std::vector<std::string> keys;
  if (claim.status.allocation)
    for (const api::DeviceRequestAllocationResult& result : claim.status.allocation->results)
      add_unique(keys, pool_key(result.driver, result.pool));
  return keys;
}

namespace {

// FNV-1a over the parts, with a zero byte between them, and a final mix so that all bits depend on all input.
uint64_t stable_hash(std::string_view a, std::string_view b) {
  uint64_t hash = 14695981039346656037ull;
  const auto feed = [&hash](unsigned char c) { hash = (hash ^ c) * 1099511628211ull; };
  for (const char c : a) feed(static_cast<unsigned char>(c));
  feed(0);
  for (const char c : b) feed(static_cast<unsigned char>(c));
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdull;
  hash ^= hash >> 33;
  hash *= 0xc4ceb9fe1a85ec53ull;
  return hash ^ (hash >> 33);
}

std::string_view without_trailing_punctuation(std::string_view text) {
  while (!text.empty() && !std::isalnum(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string generated_claim_name(std::string_view pod_name, std::string_view entry, std::string_view pod_uid) {
  constexpr size_t kHashLength = 10;
  constexpr size_t kMaxBase = 63 - kHashLength - 2;                      // the two parts, without the dashes
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";  // spells no words
  const size_t total = pod_name.size() + entry.size();
  std::string_view pod_part = pod_name, entry_part = entry;
  if (total > kMaxBase) {
    entry_part = entry_part.substr(0, kMaxBase * entry.size() / total);
    pod_part = pod_part.substr(0, kMaxBase - entry_part.size());
  }
  std::string name(without_trailing_punctuation(pod_part));
  if (!name.empty()) name += '-';
  entry_part = without_trailing_punctuation(entry_part);
  name += entry_part;
  if (!entry_part.empty()) name += '-';
  uint64_t hash = stable_hash(pod_uid, entry);
  for (size_t i = 0; i < kHashLength; ++i, hash /= kAlphabet.size()) name += kAlphabet[hash % kAlphabet.size()];
  return name;
}

std::string extended_claim_name(const api::Pod& pod) {
  // A hash that differs from that of an entry named "extended-resources" of the pod.
  return generated_claim_name(pod.metadata.name, "extended-resources", pod.metadata.uid + "/extended");
}

bool is_extended_claim_of(const api::Pod& pod, const api::ResourceClaim& claim) {
  const auto annotation = claim.metadata.annotations.find(api::kExtendedResourceClaimAnnotation);
  return is_for_pod(pod, claim) && annotation != claim.metadata.annotations.end() && annotation->second == "true";
}

}  // namespace dra::protocol
