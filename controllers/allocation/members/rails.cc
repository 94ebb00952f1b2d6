#include "controllers/allocation/members/rails.h"

#include <algorithm>
#include <charconv>

#include "pkg/inventory/device_values.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/rail_mark.h"
#include "pkg/protocol/rail_values.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

alignment::MemberRails devices_of(const RailPod& pod, const std::vector<alignment::RailRequest>& requests,
                                  const std::string& attribute, const inventory::Inventory& inventory) {
  alignment::MemberRails out;
  for (const alignment::RailRequest& request : requests)
    add_rail_values(*pod.claims[request.claim], request.request, attribute, inventory.device_index(), out);
  return out;
}

uint64_t version_of(const api::ResourceClaim& claim) {
  uint64_t version = 0;
  const std::string& text = claim.metadata.resource_version;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

}  // namespace

std::vector<gang::RailRule> rail_rules(const PodRails& rails, const inventory::Inventory& inventory,
                                       const std::vector<gang::Member>& asked) {
  std::vector<gang::RailRule> out;
  for (const alignment::RailRule& rule : rails.read.rules) {
    gang::RailRule& made = out.emplace_back();
    made.attribute = rule.attribute;
    made.soft = rule.soft;
    made.of.resize(asked.size());
    for (size_t p = 0; p < rails.pods.size(); ++p) {
      const RailPod& pod = rails.pods[p];
      if (rule.of[p].empty()) continue;
      const auto member = std::find_if(asked.begin(), asked.end(),
                                       [&](const gang::Member& one) { return one.uid == pod.pod->metadata.uid; });
      alignment::MemberRails devices = devices_of(pod, rule.of[p], rule.attribute, inventory);
      if (member == asked.end()) {
        if (!devices.empty()) made.running.emplace_back(pod.pod->metadata.key(), std::move(devices));
        continue;
      }
      gang::RailRule::Of& of = made.of[static_cast<size_t>(member - asked.begin())];
      of.taken = std::move(devices);
      for (const alignment::RailRequest& request : rule.of[p])
        for (uint32_t c = 0; c < member->claims.size(); ++c)
          if (member->claims[c]->metadata.uid == pod.claims[request.claim]->metadata.uid)
            of.requests.emplace_back(c, request.request);
    }
  }
  return out;
}

std::string rails_mark_of(const PodRails& rails, const inventory::Inventory& inventory,
                          const api::ResourceClaim& claim) {
  RailsOfClaim out;
  if (!claim.status.allocation) return "";
  const std::vector<api::DeviceRequestAllocationResult>& results = claim.status.allocation->results;
  for (const alignment::RailRule& rule : rails.read.rules)
    for (size_t p = 0; p < rails.pods.size(); ++p)
      for (const alignment::RailRequest& request : rule.of[p]) {
        if (rails.pods[p].claims[request.claim]->metadata.uid != claim.metadata.uid) continue;
        for (size_t i = 0; i < results.size(); ++i) {
          const api::DeviceRequestAllocationResult& one = results[i];
          if (std::string_view(one.request).substr(0, one.request.find('/')) != request.request) continue;
          const auto values =
              inventory::device_values(inventory.device_index(), *claim.status.allocation, one, rule.attribute);
          if (values) out[rule.attribute][i] = *values;
        }
      }
  return rails_mark(out, *claim.status.allocation);
}

RailsProof::RailsProof(const View& view, const inventory::Inventory& inventory, const api::Pod& pod) {
  PodRails rails = rails_of(view, pod);
  if (!rails.any) return;
  if (rails.read.refusal) {
    broken_ = rails.read.refusal->message;
    return;
  }
  // The stream decides, not answers to writes (P2).
  for (RailPod& one : rails.pods) {
    Holder& holder = holders_.emplace_back();
    holder.pod = one.pod;
    for (const api::ResourceClaim*& claim : one.claims) {
      const api::ResourceClaim* streamed = view.streamed_claim(claim->metadata.key());
      if (streamed != nullptr && streamed->metadata.uid == claim->metadata.uid) claim = streamed;
      if (claim->status.allocation && !is_proven(*claim)) holder.since = std::max(holder.since, version_of(*claim));
    }
  }
  for (const alignment::RailRule& rule : rails.read.rules) {
    if (rule.soft) continue;
    attributes_.push_back(rule.attribute);
    for (size_t p = 0; p < rails.pods.size(); ++p) {
      holders_[p].devices.push_back(devices_of(rails.pods[p], rule.of[p], rule.attribute, inventory));
      holders_[p].bound.push_back(!holders_[p].devices.back().empty());
    }
  }
  std::vector<const Holder*> all;
  for (const Holder& holder : holders_) all.push_back(&holder);
  for (size_t rule = 0; rule < attributes_.size() && broken_.empty(); ++rule)
    if (!agree(rule, all))
      broken_ = "the members of its group that hold devices are not on the same rails of " + attributes_[rule];
}

bool RailsProof::agree(size_t rule, const std::vector<const Holder*>& holders) const {
  std::vector<alignment::MemberRails> members;
  for (const Holder* holder : holders)
    if (holder->bound[rule]) members.push_back(holder->devices[rule]);
  return alignment::agree(members) == alignment::Agreement::kAgree;
}

bool RailsProof::must_leave(const api::Pod& pod) const {
  const auto own = std::find_if(holders_.begin(), holders_.end(),
                                [&](const Holder& one) { return one.pod->metadata.uid == pod.metadata.uid; });
  if (own == holders_.end() || own->since == 0) return false;
  std::vector<const Holder*> before{&*own};
  for (const Holder& one : holders_)
    if (&one != &*own && one.since < own->since) before.push_back(&one);
  for (size_t rule = 0; rule < attributes_.size(); ++rule)
    if (!agree(rule, before)) return true;
  return false;
}

}  // namespace dra::allocation
