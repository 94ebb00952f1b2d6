#include "pkg/inspect/state/rails.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "pkg/alignment/group_rails.h"
#include "pkg/protocol/pod_pairs.h"
#include "pkg/protocol/rail_values.h"

namespace dra::inspect {
namespace {

using Member = GroupQuestion::Member;

// All members, in the order that decides among soft rules; `asked`: index in GroupQuestion::members, or none.
struct RailPod {
  const Member* member = nullptr;
  std::optional<size_t> asked{};
};

std::vector<RailPod> all_members(const GroupQuestion& group) {
  std::vector<RailPod> all;
  for (size_t m = 0; m < group.members.size(); ++m) all.push_back({&group.members[m], m});
  for (const Member& one : group.running) all.push_back({&one, {}});
  std::stable_sort(all.begin(), all.end(), [](const RailPod& a, const RailPod& b) {
    const api::ObjectMeta &of_a = a.member->pod->metadata, &of_b = b.member->pod->metadata;
    return std::tie(of_a.creation_timestamp, of_a.uid) < std::tie(of_b.creation_timestamp, of_b.uid);
  });
  return all;
}

void add_rule(const alignment::RailRule& rule, const std::vector<RailPod>& all, size_t asked,
              const inventory::Inventory& inventory, std::vector<gang::RailRule>& out) {
  gang::RailRule& made = out.emplace_back();
  made.attribute = rule.attribute;
  made.soft = rule.soft;
  made.of.resize(asked);
  for (size_t m = 0; m < all.size(); ++m) {
    const Member& member = *all[m].member;
    alignment::MemberRails taken;
    for (const alignment::RailRequest& request : rule.of[m])
      protocol::add_rail_values(*member.claims[request.claim], request.request, rule.attribute,
                                inventory.device_index(), taken);
    if (!all[m].asked) {
      if (!taken.empty()) made.running.emplace_back(member.pod->metadata.key(), std::move(taken));
      continue;
    }
    gang::RailRule::Of& of = made.of[*all[m].asked];
    of.taken = std::move(taken);
    for (const alignment::RailRequest& request : rule.of[m]) of.requests.emplace_back(request.claim, request.request);
  }
}

}  // namespace

GroupAlignment alignment_of(const GroupQuestion& group, const inventory::Inventory& inventory) {
  GroupAlignment out;
  for (const Member& member : group.members) {
    alignment::PodPairs pairs = protocol::pairs_of_pod(*member.pod, member.claims);
    if (pairs.refusal && out.refused.empty()) out.refused = member.pod->metadata.key() + ": " + pairs.refusal->message;
    out.pairs.push_back(std::move(pairs.entries));
  }
  if (!out.refused.empty() || !asks_for_rails(group)) return out;
  const std::vector<RailPod> all = all_members(group);
  std::vector<alignment::RailMember> members;
  for (const RailPod& one : all) {
    alignment::RailMember& made = members.emplace_back();
    made.annotations = &one.member->pod->metadata.annotations;
    for (const Claim& claim : one.member->claims) made.claims.push_back(claim.get());
    made.names = protocol::claim_names(*one.member->pod, one.member->claims);
  }
  const alignment::GroupRails read = alignment::read_group_rails(&group.annotations, members, false);
  if (read.refusal) {
    out.refused = (read.refused_member ? all[*read.refused_member].member->pod->metadata.key() + ": " : "") +
                  read.refusal->message;
    return out;
  }
  for (const alignment::RailRule& rule : read.rules) add_rule(rule, all, group.members.size(), inventory, out.rails);
  return out;
}

}  // namespace dra::inspect
