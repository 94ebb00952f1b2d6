#include "pkg/inspect/state/rails.h"

#include <algorithm>

#include "pkg/alignment/bears.h"
#include "pkg/alignment/group_rails.h"
#include "pkg/inventory/device_values.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/pod_pairs.h"

namespace dra::inspect {
namespace {

bool asks_for_any(const GroupQuestion& group) {
  if (!alignment::first_annotation(group.annotations).empty()) return true;
  return std::any_of(group.members.begin(), group.members.end(), [](const GroupQuestion::Member& member) {
    return !alignment::first_annotation(member.pod->metadata.annotations).empty() ||
           std::any_of(member.claims.begin(), member.claims.end(), [](const Claim& claim) {
             return !alignment::first_annotation(claim->metadata.annotations).empty();
           });
  });
}

// What the pod calls its claims: those that exist, and those that only would be made.
std::vector<alignment::ClaimName> names_of(const GroupQuestion::Member& member) {
  const api::Pod& pod = *member.pod;
  std::vector<alignment::ClaimName> names;
  for (const api::PodResourceClaim& entry : pod.resource_claims)
    for (uint32_t c = 0; c < member.claims.size(); ++c) {
      const std::string& name = member.claims[c]->metadata.name;
      if (name != protocol::resolve_created_claim(pod, entry).name && name != pod.metadata.name + "-" + entry.name &&
          entry.resource_claim_name != name)
        continue;
      names.push_back({entry.name, c});
      break;
    }
  return names;
}

// Of the devices that the claim's allocation gives to the request.
void add_taken(const api::ResourceClaim& claim, const std::string& request, const std::string& attribute,
               const inventory::Inventory& inventory, alignment::MemberRails& out) {
  if (!claim.status.allocation) return;
  for (const api::DeviceRequestAllocationResult& one : claim.status.allocation->results)
    if (one.request.substr(0, one.request.find('/')) == request)
      out.push_back(inventory::device_values(inventory.device_index(), one.driver, one.pool, one.device, attribute)
                        .value_or(alignment::DeviceRails{}));
}

}  // namespace

GroupAlignment alignment_of(const GroupQuestion& group, const inventory::Inventory& inventory) {
  GroupAlignment out;
  out.pairs.resize(group.members.size());
  if (!asks_for_any(group)) return out;
  std::vector<alignment::RailMember> members;
  for (size_t m = 0; m < group.members.size(); ++m) {
    const GroupQuestion::Member& member = group.members[m];
    alignment::PodPairs pairs = protocol::pairs_of_pod(*member.pod, member.claims);
    if (pairs.refusal) {
      out.refused = member.pod->metadata.key() + ": " + pairs.refusal->message;
      return out;
    }
    out.pairs[m] = std::move(pairs.entries);
    alignment::RailMember& made = members.emplace_back();
    made.annotations = &member.pod->metadata.annotations;
    for (const Claim& claim : member.claims) made.claims.push_back(claim.get());
    made.names = names_of(member);
  }
  const alignment::GroupRails read = alignment::read_group_rails(&group.annotations, members, false);
  if (read.refusal) {
    out.refused = read.refusal->message;
    return out;
  }
  for (const bool soft : {false, true})  // hard ones first
    for (const alignment::RailRule& rule : read.rules) {
      if (rule.soft != soft) continue;
      gang::RailRule& made = out.rails.emplace_back();
      made.attribute = rule.attribute;
      made.soft = rule.soft;
      made.of.resize(members.size());
      for (size_t m = 0; m < members.size(); ++m)
        for (const alignment::RailRequest& request : rule.of[m]) {
          made.of[m].requests.emplace_back(request.claim, request.request);
          add_taken(*members[m].claims[request.claim], request.request, rule.attribute, inventory, made.of[m].taken);
        }
    }
  return out;
}

}  // namespace dra::inspect
