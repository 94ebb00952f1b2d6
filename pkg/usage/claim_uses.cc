#include "pkg/usage/claim_uses.h"

#include <algorithm>
#include <utility>

namespace dra::usage {

namespace {

const api::OwnerReference* controller_of(const api::ObjectMeta& metadata) {
  const auto& owners = metadata.owner_references;
  const auto found = std::find_if(owners.begin(), owners.end(), [](const auto& one) { return one.controller; });
  if (found != owners.end()) return &*found;
  return owners.empty() ? nullptr : &owners.front();
}

// Of "request" or "request/alternative".
std::string class_of_request(const api::ResourceClaim& claim, std::string_view result) {
  const size_t slash = result.find('/');
  const std::string_view name = result.substr(0, slash);
  for (const api::DeviceRequest& request : claim.spec.requests) {
    if (request.name != name) continue;
    if (request.exactly) return request.exactly->device_class_name;
    if (slash == std::string_view::npos) return "";
    for (const api::DeviceSubRequest& one : request.first_available)
      if (one.name == result.substr(slash + 1)) return one.device_class_name;
  }
  return "";
}

void add_shares(std::vector<Share>& to, std::vector<Share> from) {
  for (Share& share : from) {
    const auto same = std::find_if(to.begin(), to.end(), [&](const Share& one) { return one.name == share.name; });
    if (same == to.end())
      to.push_back(std::move(share));
    else
      same->nanos += share.nanos;
  }
}

}  // namespace

std::string owner_kind_of(const api::ResourceClaim& claim, const ClaimFacts& facts) {
  const api::OwnerReference* owner = controller_of(claim.metadata);
  if (owner == nullptr) return "none";
  if (owner->kind != "Pod" || !facts.find_pod) return owner->kind;
  const api::Pod* pod = facts.find_pod(owner->uid, claim.metadata.ns + "/" + owner->name);
  const api::OwnerReference* of_pod = pod == nullptr ? nullptr : controller_of(pod->metadata);
  return of_pod == nullptr ? "Pod" : of_pod->kind;
}

std::vector<Use> claim_uses(const api::ResourceClaim& claim, Weigher& weigher, const ClaimFacts& facts) {
  std::vector<Use> uses;
  if (!claim.status.allocation) return uses;
  std::string owner;
  for (const api::DeviceRequestAllocationResult& result : claim.status.allocation->results) {
    if (result.admin_access) continue;
    if (owner.empty()) owner = owner_kind_of(claim, facts);
    const std::string named = class_of_request(claim, result.request);
    const api::DeviceClass* device_class = facts.find_class ? facts.find_class(named) : nullptr;
    Labels labels{claim.metadata.ns, device_class == nullptr ? std::string(kOther) : named, result.driver, owner};
    auto use = std::find_if(uses.begin(), uses.end(), [&](const Use& one) { return one.labels == labels; });
    if (use == uses.end()) {
      uses.emplace_back();
      use = std::prev(uses.end());
      use->labels = std::move(labels);
    }
    std::string counter;
    if (device_class != nullptr)
      if (const auto found = device_class->metadata.annotations.find(std::string(kUsageCounterAnnotation));
          found != device_class->metadata.annotations.end())
        counter = found->second;
    DeviceParts parts = weigher.weigh(result, counter);
    ++use->devices;
    std::vector<Part>& to = parts.known ? use->parts : use->unknown;
    std::move(parts.parts.begin(), parts.parts.end(), std::back_inserter(to));
    add_shares(use->shares, std::move(parts.shares));
  }
  return uses;
}

}  // namespace dra::usage
