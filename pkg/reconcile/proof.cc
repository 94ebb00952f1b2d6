#include "pkg/reconcile/proof.h"

#include <cstdint>
#include <cstdio>

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

}  // namespace

std::string allocation_hash(const api::AllocationResult& allocation) {
  // What decides which devices are held: the rest of an allocation follows from it.
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
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash.value()));
  return text;
}

std::string proof_value(std::string_view pod_uid, const api::AllocationResult& allocation) {
  return std::string(pod_uid) + "/" + allocation_hash(allocation);
}

bool is_proven(const api::ResourceClaim& claim) {
  if (!claim.status.allocation || !claim.metadata.has_finalizer(api::kDeleteProtectionFinalizer)) return false;
  const auto annotation = claim.metadata.annotations.find(kProofAnnotation);
  if (annotation == claim.metadata.annotations.end()) return false;
  const size_t slash = annotation->second.rfind('/');
  return slash != std::string::npos &&
         annotation->second.substr(slash + 1) == allocation_hash(*claim.status.allocation);
}

}  // namespace dra::reconcile
