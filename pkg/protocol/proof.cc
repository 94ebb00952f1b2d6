#include "pkg/protocol/proof.h"

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "pkg/base/check.h"

namespace dra::protocol {

namespace {

// The bytes over which a mark's hash is computed.
class Bytes {
 public:
  Bytes() { bytes_.reserve(1024); }
  // Length first, so that adjacent texts cannot be split differently.
  void feed(std::string_view text) {
    feed(static_cast<uint64_t>(text.size()));
    bytes_ += text;
  }
  void feed(uint64_t number) {
    char bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(number >> (8 * i));
    bytes_.append(bytes, sizeof bytes);
  }
  void feed(const std::vector<api::NodeSelectorRequirement>& requirements) {
    feed(static_cast<uint64_t>(requirements.size()));
    for (const api::NodeSelectorRequirement& requirement : requirements) {
      feed(requirement.key);
      feed(requirement.op);
      feed(static_cast<uint64_t>(requirement.values.size()));
      for (const std::string& value : requirement.values) feed(value);
    }
  }
  const std::string& all() const { return bytes_; }

 private:
  std::string bytes_;
};

// What decides which devices are held and where the pod is pinned: the rest of an allocation follows from it.
void feed(Bytes& bytes, const api::AllocationResult& allocation) {
  bytes.feed(static_cast<uint64_t>(allocation.results.size()));
  for (const api::DeviceRequestAllocationResult& result : allocation.results) {
    bytes.feed(result.request);
    bytes.feed(result.driver);
    bytes.feed(result.pool);
    bytes.feed(result.device);
    bytes.feed(static_cast<uint64_t>(result.admin_access));
    bytes.feed(result.share_id.value_or(""));
    bytes.feed(static_cast<uint64_t>(result.consumed_capacity.size()));
    for (const auto& [name, quantity] : result.consumed_capacity) {
      bytes.feed(name);
      bytes.feed(quantity);
    }
  }
  bytes.feed(allocation.allocation_timestamp);
  if (allocation.node_selector) {
    bytes.feed(static_cast<uint64_t>(allocation.node_selector->terms.size()));
    for (const api::NodeSelectorTerm& term : allocation.node_selector->terms) {
      bytes.feed(term.match_expressions);
      bytes.feed(term.match_fields);
    }
  }
}

// EVP_sha256() alone is looked up among the providers at every use, which takes longer than hashing an allocation.
const EVP_MD* fetched_sha256() {
  static const EVP_MD* const kFetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  DRA_CHECK(kFetched != nullptr);
  return kFetched;
}

// Of a claim's life the same bytes are hashed half a dozen times, mostly one soon after the other; comparing them costs
// a fiftieth of hashing them.
class RecentHashes {
 public:
  const std::string& of(std::string_view bytes);

 private:
  struct Entry {
    std::string bytes, hash;
  };
  static constexpr size_t kEntries = 64, kLongest = 2048;
  std::array<Entry, kEntries> entries_;
  Entry long_;
};

std::string sha256(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  DRA_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest, &size, fetched_sha256(), nullptr) == 1);
  std::string text;
  text.reserve(2 * size_t{size});
  for (unsigned int i = 0; i < size; ++i) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

const std::string& RecentHashes::of(std::string_view bytes) {
  Entry& entry = bytes.size() > kLongest ? long_ : entries_[std::hash<std::string_view>()(bytes) % kEntries];
  if (entry.hash.empty() || entry.bytes != bytes) entry = {std::string(bytes), sha256(bytes)};
  return entry.hash;
}

// The two parts of the claim's mark; empty if there is none.
std::pair<std::string_view, std::string_view> mark_of(const api::ResourceClaim& claim) {
  const auto annotation = claim.metadata.annotations.find(kProofAnnotation);
  if (annotation == claim.metadata.annotations.end()) return {};
  const std::string_view value = annotation->second;
  const size_t slash = value.rfind('/');
  if (slash == std::string_view::npos) return {};
  return {value.substr(0, slash), value.substr(slash + 1)};
}

bool matches(const std::pair<std::string_view, std::string_view>& mark, const api::AllocationResult& allocation) {
  const auto& [pod_uid, hash] = mark;
  return !hash.empty() && hash == allocation_hash(pod_uid, allocation);
}

}  // namespace

std::string allocation_hash(std::string_view pod_uid, const api::AllocationResult& allocation) {
  Bytes bytes;
  bytes.feed(pod_uid);
  feed(bytes, allocation);
  thread_local RecentHashes recent;
  return recent.of(bytes.all());
}

std::string proof_value(std::string_view pod_uid, const api::AllocationResult& allocation) {
  return std::string(pod_uid) + "/" + allocation_hash(pod_uid, allocation);
}

std::string_view proven_for(const api::ResourceClaim& claim) {
  return mark_of(claim).first;
}

bool bears_mark_of(const api::ResourceClaim& claim, const api::AllocationResult& allocation) {
  return matches(mark_of(claim), allocation);
}

bool is_mark_outdated(const api::ResourceClaim& claim) {
  const auto mark = mark_of(claim);
  return claim.status.allocation && !mark.second.empty() && !matches(mark, *claim.status.allocation);
}

bool is_proven(const api::ResourceClaim& claim) {
  if (!claim.status.allocation || !claim.metadata.has_finalizer(api::kDeleteProtectionFinalizer)) return false;
  return bears_mark_of(claim, *claim.status.allocation);
}

}  // namespace dra::protocol
