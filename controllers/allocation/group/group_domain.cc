// G8: the members of a group that must be in one domain of nodes are in one when they are marked, and when they start.
// A node may have moved since the search: its label, or the attribute of its devices, has changed.
#include <algorithm>
#include <optional>
#include <vector>

#include "controllers/allocation/group/group_reconcile.h"
#include "controllers/allocation/group/required_domain.h"
#include "controllers/allocation/pod/topology.h"

namespace dra::allocation {

using namespace reconcile;

std::vector<std::string> GroupReconcile::nodes_of_pinned() const {
  std::vector<std::string> nodes;
  for (const Member& member : pods_)
    if (member.placed && member.pinned) nodes.push_back(*member.steps->only_node());
  return nodes;
}

std::vector<GroupReconcile::Member*> GroupReconcile::strays() {
  gang::Topology topology = topology_for(members_.topology, tools_.options);
  if (!topology.required) return {};
  RequiredDomain domain(view_, tools_.inventory, std::move(topology));
  const std::optional<std::string> home = domain.of_most(nodes_of_pinned());
  std::vector<Member*> outside;
  for (Member& member : pods_) {
    if (!member.placed || !member.pinned) continue;
    if (!home || domain.of(*member.steps->only_node()) != home) outside.push_back(&member);
  }
  return outside;
}

void GroupReconcile::find_homes(std::vector<std::string> nodes) {
  gang::Topology topology = topology_for(members_.topology, tools_.options);
  if (!topology.required) return;
  const std::vector<std::string> pinned = nodes_of_pinned();
  RequiredDomain domain(view_, tools_.inventory, std::move(topology));
  const std::optional<std::string> home = domain.of_most(pinned.empty() ? nodes : pinned);
  if (!home) return;
  for (Member& member : pods_)
    if (!member.pinned) member.steps->home_ = home;
}

bool GroupReconcile::lacks_homes() const {
  if (members_.topology.required.empty() || !nodes_of_pinned().empty()) return false;
  return std::any_of(pods_.begin(), pods_.end(), [](const Member& member) {
    return member.settled && member.steps->role_ == Role::kToBind && !member.steps->home_ &&
           !member.steps->view_.is_being_bound(member.steps->pod_.metadata.uid);
  });
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
