// A group of groups: the questions of GroupReconcile about how many, asked of its parts.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "controllers/allocation/group/group_reconcile.h"
#include "controllers/allocation/members/required_domain.h"
#include "controllers/allocation/pod/candidates.h"
#include "controllers/allocation/pod/topology.h"
#include "controllers/allocation/pod/withdraw.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

std::vector<uint32_t> GroupReconcile::count_by_part(bool Member::*what) const {
  std::vector<uint32_t> counts(members_.whole->parts.size(), 0);
  for (const Member& member : pods_) counts[member.part] += member.*what;
  return counts;
}

bool GroupReconcile::enough(bool Member::*what) const {
  if (!members_.whole) return count(what) >= members_.min_count;
  return satisfied_parts(*members_.whole, count_by_part(what)).front();
}

bool GroupReconcile::withdraw_incomplete() {
  if (!members_.whole) return false;
  const std::vector<WholePart>& parts = members_.whole->parts;
  std::vector<bool> complete = satisfied_parts(*members_.whole, count_by_part(&Member::placed));
  for (size_t p = 1; p < parts.size(); ++p) complete[p] = complete[p] && complete[*parts[p].parent];
  bool any = false;
  for (Member& member : pods_)
    if (!complete[member.part]) any = withdraw_claims(member.context, member.out) || any;
  return any;
}

namespace {

// Nodes of the pods of these groups that have started.
std::vector<gang::NodeId> nodes_of_launched(const View& view, const Tools& tools, const GroupRef& top) {
  std::set<gang::NodeId> nodes;
  for (const std::string& key : groups_below(view, top.key()))
    for (const api::Pod* pod : view.pods_of_group(key)) {
      if (!is_launched(view, *pod, tools.options) || pod->terminal()) continue;
      std::string node = pod->node_name;
      for (const std::string& claim_key : claim_keys_of(*pod)) {
        const api::ResourceClaim* claim = view.claim(claim_key);
        if (!node.empty() || claim == nullptr || !claim->status.allocation) continue;
        if (const std::string* only = api::only_node(*claim->status.allocation)) node = *only;
      }
      if (!node.empty()) nodes.insert(tools.inventory.node_id(node));
    }
  return {nodes.begin(), nodes.end()};
}

}  // namespace

// `asked`: members by their number, in the order of request.members. A group that joins launched ones is one part of
// the widest of them, in whose domain it is placed.
void GroupReconcile::add_parts(gang::GangRequest& request, const std::vector<size_t>& asked, uint32_t needed) const {
  std::optional<uint32_t> base;
  const std::vector<GroupRef>& joins = members_.whole ? members_.joins : made_->membership.above;
  for (const GroupRef& top : joins) {
    const Whole whole = whole_of(view_, top);
    gang::GroupPart& outer = request.parts.emplace_back();
    outer.name = top.shown();
    if (base) outer.parent = *base;
    outer.need = 1;
    outer.topology = topology_for(whole.parts.front().topology, tools_.options);
    outer.placed = nodes_of_launched(view_, tools_, top);
    if (!base) {
      std::swap(request.topology, outer.topology);
      request.placed = outer.placed;
    }
    base = static_cast<uint32_t>(request.parts.size()) - 1;
  }
  if (!members_.whole && !base) return;
  const uint32_t first = static_cast<uint32_t>(request.parts.size());
  if (!members_.whole) {
    gang::GroupPart& own = request.parts.emplace_back();
    own.name = members_.group.shown();
    own.parent = base;
    own.need = needed;
    own.topology = topology_for(members_.topology, tools_.options);
    for (uint32_t i = 0; i < asked.size(); ++i) own.members.push_back(i);
    for (const std::string& node : nodes_of_pinned()) own.placed.push_back(tools_.inventory.node_id(node));
    return;
  }
  const std::vector<WholePart>& parts = members_.whole->parts;
  const std::vector<uint32_t> placed = count_by_part(&Member::placed);
  for (uint32_t p = 0; p < parts.size(); ++p) {
    gang::GroupPart& part = request.parts.emplace_back();
    part.name = parts[p].group.shown();
    part.parent = parts[p].parent ? std::optional(first + *parts[p].parent) : base;
    part.need = parts[p].has_pods ? parts[p].need - std::min(placed[p], parts[p].need) : parts[p].need;
    if (p > 0 || base) part.topology = topology_for(parts[p].topology, tools_.options);
  }
  for (uint32_t i = 0; i < asked.size(); ++i) request.parts[first + pods_[asked[i]].part].members.push_back(i);
  for (const Member& member : pods_) {
    const std::string* node = member.placed && member.pinned ? pinned_node(member.context.state) : nullptr;
    if (node == nullptr) continue;
    for (std::optional<uint32_t> p = member.part; p; p = parts[*p].parent)
      request.parts[first + *p].placed.push_back(tools_.inventory.node_id(*node));
  }
}

// Where a pod without claims starts is chosen after the search, and then only the domain of the whole is known.
std::string GroupReconcile::why_no_inner_domain() const {
  if (!members_.whole) return "";
  const std::vector<WholePart>& parts = members_.whole->parts;
  for (const Member& member : pods_) {
    if (!member.context.state.claims.empty()) continue;
    for (uint32_t p = member.part; parts[p].parent; p = *parts[p].parent)
      if (!parts[p].topology.required.empty())
        return "pod " + member.context.pod.metadata.name + " has no claims, and that " + parts[p].group.shown() +
               " is in one domain of " + parts[p].topology.required +
               " is only kept for pods with claims; give the pod a claim, or require the topology of the group above";
  }
  return "";
}

std::string GroupReconcile::how_many_are(bool Member::*what, const char* word) const {
  const std::vector<WholePart>& parts = members_.whole->parts;
  const std::vector<uint32_t> counts = count_by_part(what);
  const std::vector<bool> satisfied = satisfied_parts(*members_.whole, counts);
  uint32_t children = 0;
  for (size_t p = 1; p < parts.size(); ++p) children += parts[p].parent == 0u && satisfied[p];
  std::string text = std::to_string(children) + " of " + std::to_string(parts.front().need) + " groups are " + word;
  for (size_t p = 1; p < parts.size(); ++p) {
    if (satisfied[p] || !parts[p].has_pods) continue;
    if (parts[p].need == kNever) return text + "; " + parts[p].group.shown() + " can never be placed: see its own pods";
    return text + "; " + parts[p].group.shown() + " has " + std::to_string(counts[p]) + " of " +
           std::to_string(parts[p].need) + " members";
  }
  return text;
}

std::vector<GroupReconcile::Member*> GroupReconcile::strays_of_parts() {
  std::vector<Member*> outside;
  if (!members_.whole) return outside;
  const std::vector<WholePart>& parts = members_.whole->parts;
  for (uint32_t p = 1; p < parts.size(); ++p) {
    gang::Topology topology = topology_for(parts[p].topology, tools_.options);
    if (!topology.required) continue;
    RequiredDomain domain(view_, tools_.inventory, std::move(topology));
    std::vector<Member*> own;
    std::vector<std::string> nodes;
    for (Member& member : pods_) {
      bool below = false;
      for (std::optional<uint32_t> at = member.part; at && !below; at = parts[*at].parent) below = *at == p;
      if (!below || !member.placed || !member.pinned) continue;
      own.push_back(&member);
      nodes.push_back(*pinned_node(member.context.state));
    }
    const std::optional<std::string> home = domain.of_most(nodes);
    for (Member* member : own)
      if (!home || domain.of(*pinned_node(member->context.state)) != home) outside.push_back(member);
    if (!outside.empty()) return outside;
  }
  return outside;
}

}  // namespace dra::allocation
