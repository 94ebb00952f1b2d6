// G8: the members of a group that must be in one domain of nodes are in one when they are marked, and when they start.
// A node may have moved since the search: its label, or the attribute of its devices, has changed.
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "controllers/allocation/group_reconcile.h"
#include "controllers/allocation/topology.h"
#include "pkg/api/topology_level.h"
#include "pkg/gang/levels.h"

namespace dra::allocation {

using namespace reconcile;

namespace {

// The required domain of nodes, by the labels and attributes of now. Remembers nodes: members share them.
class RequiredDomain {
 public:
  RequiredDomain(const View& view, inventory::Inventory& inventory, gang::Topology topology)
      : view_(view), inventory_(inventory), topology_(std::move(topology)) {}

  // Nothing: the node is in no domain of the level.
  const std::optional<std::string>& of(const std::string& node) {
    const auto [known, made] = paths_.try_emplace(node);
    if (made)
      known->second =
          gang::path_of(*topology_.required, [&](uint32_t level) { return value_of(node, topology_.levels[level]); });
    return known->second;
  }

 private:
  std::optional<std::string> value_of(const std::string& node, const std::string& key) {
    if (key.starts_with(api::kAttributeLevel))
      return gang::attribute_of_node(inventory_, inventory_.node_id(node), key);
    const api::Node* known = view_.node(node);
    if (known == nullptr) return std::nullopt;
    const auto label = known->metadata.labels.find(key);
    return label == known->metadata.labels.end() ? std::nullopt : std::optional(label->second);
  }

  const View& view_;
  inventory::Inventory& inventory_;
  const gang::Topology topology_;
  std::map<std::string, std::optional<std::string>> paths_;
};

}  // namespace

std::vector<GroupReconcile::Member*> GroupReconcile::strays() {
  gang::Topology topology = topology_for(members_.topology, tools_.options);
  if (!topology.required) return {};
  RequiredDomain domain(view_, tools_.inventory, std::move(topology));
  std::map<std::string, std::vector<Member*>> inside;
  std::vector<Member*> outside;
  const std::vector<Member*>* most = nullptr;  // of equally many, those with the older member: it came first
  for (Member& member : pods_) {
    if (!member.placed || !member.pinned) continue;
    const std::string* node = nullptr;
    for (const ClaimState& claim : member.steps->state_.claims)
      if (!node) node = api::only_node(*claim.claim->status.allocation);
    const std::optional<std::string>& path = domain.of(*node);
    if (!path) {
      outside.push_back(&member);
      continue;
    }
    std::vector<Member*>& here = inside[*path];
    here.push_back(&member);
    if (most == nullptr || here.size() > most->size()) most = &here;
  }
  for (const auto& [path, here] : inside)
    if (&here != most) outside.insert(outside.end(), here.begin(), here.end());
  return outside;
}

bool GroupReconcile::leave_other_domains() {
  // One that is bound by now launches the group.
  if (std::any_of(pods_.begin(), pods_.end(), [](const Member& member) { return member.steps->is_being_bound(); }))
    return false;
  const std::vector<Member*> outside = strays();
  if (outside.empty()) return false;
  bool left = false;
  if (committed_)
    for (Member* member : outside) left = member->steps->withdraw_all() || left;
  else
    left = withdraw();
  if (left || (committed_ && held_for(true) >= patience() && leave_all())) return true;
  say("its members must be in one domain of " + members_.topology.required + ", and the node of " +
      outside.front()->steps->pod_.metadata.name +
      " is in another one by now; it waits until the node is moved back, or until the other pods that use the same "
      "claims have ended");
  first_->outcome_.requeue_in(std::chrono::seconds(1));
  return true;
}

}  // namespace dra::allocation
