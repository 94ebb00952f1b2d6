#include "pkg/reconcile/proof.h"

#include <cstdint>
#include <cstdio>
#include <utility>

namespace dra::reconcile {

namespace {

class Fnv1a {
 public:
  // Length first, so that neighbouring texts cannot be cut differently.
  void feed(std::string_view text) {
    feed(static_cast<uint64_t>(text.size()));
    for (const char c : text) byte(static_cast<unsigned char>(c));
  }
  void feed(uint64_t number) {
    for (int i = 0; i < 8; ++i) byte(static_cast<unsigned char>(number >> (8 * i)));
  }
  uint64_t value() const { return hash_; }

 private:
  void byte(unsigned char b) { hash_ = (hash_ ^ b) * 1099511628211ull; }
  uint64_t hash_ = 14695981039346656037ull;
};

void feed_requirements(Fnv1a& hash, const std::vector<api::NodeSelectorRequirement>& requirements) {
  hash.feed(static_cast<uint64_t>(requirements.size()));
  for (const api::NodeSelectorRequirement& requirement : requirements) {
    hash.feed(requirement.key);
    hash.feed(requirement.op);
    hash.feed(static_cast<uint64_t>(requirement.values.size()));
    for (const std::string& value : requirement.values) hash.feed(value);
  }
}

// The two parts of the claim's mark; empty when there is none.
std::pair<std::string_view, std::string_view> mark_of(const api::ResourceClaim& claim) {
  const auto annotation = claim.metadata.annotations.find(kProofAnnotation);
  if (annotation == claim.metadata.annotations.end()) return {};
  const std::string_view value = annotation->second;
  const size_t slash = value.rfind('/');
  if (slash == std::string_view::npos) return {};
  return {value.substr(0, slash), value.substr(slash + 1)};
}

}  // namespace

std::string allocation_hash(const api::AllocationResult& allocation) {
  // What decides which devices are held and where the pod is pinned: the rest of an allocation follows from it.
  Fnv1a hash;
  hash.feed(static_cast<uint64_t>(allocation.results.size()));
  for (const api::DeviceRequestAllocationResult& result : allocation.results) {
    hash.feed(result.request);
    hash.feed(result.driver);
    hash.feed(result.pool);
    hash.feed(result.device);
    hash.feed(static_cast<uint64_t>(result.admin_access));
    hash.feed(result.share_id.value_or(""));
    hash.feed(static_cast<uint64_t>(result.consumed_capacity.size()));
    for (const auto& [name, quantity] : result.consumed_capacity) {
      hash.feed(name);
      hash.feed(quantity);
    }
  }
  hash.feed(allocation.allocation_timestamp);
  if (allocation.node_selector) {
    hash.feed(static_cast<uint64_t>(allocation.node_selector->terms.size()));
    for (const api::NodeSelectorTerm& term : allocation.node_selector->terms) {
      feed_requirements(hash, term.match_expressions);
      feed_requirements(hash, term.match_fields);
    }
  }
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash.value()));
  return text;
}

std::string proof_value(std::string_view pod_uid, const api::AllocationResult& allocation) {
  return std::string(pod_uid) + "/" + allocation_hash(allocation);
}

std::string_view proven_for(const api::ResourceClaim& claim) {
  return mark_of(claim).first;
}

bool bears_mark_of(const api::ResourceClaim& claim, const api::AllocationResult& allocation) {
  return mark_of(claim).second == allocation_hash(allocation);
}

bool is_mark_outdated(const api::ResourceClaim& claim) {
  const std::string_view hash = mark_of(claim).second;
  return claim.status.allocation && !hash.empty() && hash != allocation_hash(*claim.status.allocation);
}

bool is_proven(const api::ResourceClaim& claim) {
  if (!claim.status.allocation || !claim.metadata.has_finalizer(api::kDeleteProtectionFinalizer)) return false;
  return bears_mark_of(claim, *claim.status.allocation);
}

}  // namespace dra::reconcile
