#include "pkg/manager/request_mix_seed.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "pkg/allocator/allocator.h"
#include "pkg/placement/decision.h"

namespace dra::manager {

namespace {

constexpr std::chrono::milliseconds kBetweenPieces{1};

// The `most` youngest objects by creation time, youngest first.
template <class Object>
std::vector<std::shared_ptr<const Object>> youngest(std::vector<std::shared_ptr<const Object>> all, size_t most) {
  const auto younger = [](const auto& a, const auto& b) {
    return std::tie(b->metadata.creation_timestamp, b->metadata.uid) <
           std::tie(a->metadata.creation_timestamp, a->metadata.uid);
  };
  if (all.size() > most) {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(most), all.end(), younger);
    all.resize(most);
  }
  std::sort(all.begin(), all.end(), younger);
  return all;
}

int64_t cpu_of(const api::Pod* pod) {
  if (pod == nullptr) return -1;
  const Result<placement::PodNeeds> needs = placement::PodNeeds::of(*pod);
  return needs ? needs->charge().cpu : -1;
}

}  // namespace

// In a task of its own: what starts a term has just compared all objects of a kind.
void RequestMixSeed::start() {
  stop();
  tries_ = 0;
  timer_ = reactor_.after(kBetweenPieces, [this] { gather(); });
}

void RequestMixSeed::gather() {
  gather_claims();
  if (left_.size() < kFewClaims) gather_templates();
  if (!left_.empty()) timer_ = reactor_.after(kBetweenPieces, [this] { learn_some(); });
}

// Waiting claims are skipped: they are requested soon anyway.
void RequestMixSeed::gather_claims() {
  std::vector<std::shared_ptr<const api::ResourceClaim>> allocated;
  for (auto& claim : stores_.claims->list())
    if (claim->status.allocation) allocated.push_back(claim);
  std::unordered_map<std::string, size_t> by_pod;
  for (auto& claim : youngest(std::move(allocated), kMostClaims)) {
    std::shared_ptr<const api::Pod> pod;
    for (const api::ResourceClaimConsumerReference& consumer : claim->status.reserved_for) {
      if (!consumer.api_group.empty() || consumer.resource != "pods") continue;
      pod = stores_.pods->get(claim->metadata.ns + "/" + consumer.name);
      if (pod && pod->metadata.uid == consumer.uid) break;
      pod = nullptr;
    }
    if (!pod) {
      left_.push_back({{claim}});
      continue;
    }
    const auto [known, added] = by_pod.try_emplace(pod->metadata.uid, left_.size());
    if (added) left_.push_back({{}, pod});
    left_[known->second].claims.push_back(claim);
  }
}

void RequestMixSeed::gather_templates() {
  for (const auto& from : youngest(stores_.templates->list(), kMostTemplates)) {
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.name = from->metadata.name;
    claim->metadata.ns = from->metadata.ns;
    claim->metadata.uid = from->metadata.uid;
    claim->spec = from->spec;
    left_.push_back({{std::move(claim)}});
  }
}

void RequestMixSeed::learn_some() {
  for (size_t i = 0; i < kPiece && !left_.empty(); ++i) {
    allocator::Request request;
    request.claims = left_.back().claims;
    request.cpu_milli = cpu_of(left_.back().pod.get());
    // If the slice ended, the next piece continues it.
    if (!allocator_.learn(request) && ++tries_ < kMostTries) break;
    tries_ = 0;
    left_.pop_back();
  }
  if (!left_.empty()) timer_ = reactor_.after(kBetweenPieces, [this] { learn_some(); });
}

}  // namespace dra::manager
