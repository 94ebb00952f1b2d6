// G8: the members of a group that must be in one domain of nodes are in one when they are marked, and when they start.
// A node may have moved since the search: its label, or the attribute of its devices, has changed.
#include <algorithm>
#include <optional>
#include <vector>

#include "controllers/allocation/group/group_reconcile.h"
#include "controllers/allocation/members/required_domain.h"
#include "controllers/allocation/pod/candidates.h"
#include "controllers/allocation/pod/prepare.h"
#include "controllers/allocation/pod/topology.h"
#include "controllers/allocation/pod/withdraw.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

std::vector<std::string> GroupReconcile::nodes_of_pinned() const {
  std::vector<std::string> nodes;
  for (const Member& member : pods_)
    if (member.placed && member.pinned) nodes.push_back(*pinned_node(member.context.state));
  return nodes;
}

std::vector<GroupReconcile::Member*> GroupReconcile::strays() {
  if (std::vector<Member*> outside = strays_of_parts(); !outside.empty()) return outside;
  gang::Topology topology = topology_for(members_.topology, tools_.options);
  if (!topology.required) return {};
  RequiredDomain domain(view_, tools_.inventory, std::move(topology));
  const std::optional<std::string> home = domain.of_most(nodes_of_pinned());
  std::vector<Member*> outside;
  for (Member& member : pods_) {
    if (!member.placed || !member.pinned) continue;
    if (!home || domain.of(*pinned_node(member.context.state)) != home) outside.push_back(&member);
  }
  return outside;
}

void GroupReconcile::find_homes(std::vector<std::string> nodes) {
  gang::Topology topology = topology_for(members_.topology, tools_.options);
  if (!topology.required) return;
  const std::vector<std::string> pinned = nodes_of_pinned();
  RequiredDomain domain(view_, tools_.inventory, std::move(topology));
  const std::optional<std::string> home = domain.of_most(pinned.empty() ? nodes : pinned);
  if (home) hints_.home = home;
}

bool GroupReconcile::lacks_homes() const {
  if (members_.topology.required.empty() || hints_.home || !nodes_of_pinned().empty()) return false;
  return std::any_of(pods_.begin(), pods_.end(), [&](const Member& member) {
    const PodContext& context = member.context;
    return member.settled && context.role == Role::kToBind && !view_.is_being_bound(context.pod.metadata.uid);
  });
}

bool GroupReconcile::leave_other_domains() {
  // One that is bound by now launches the group.
  if (std::any_of(pods_.begin(), pods_.end(),
                  [](Member& member) { return is_being_bound(member.context, member.out); }))
    return false;
  const std::vector<Member*> outside = strays();
  if (outside.empty()) return false;
  bool left = false;
  if (committed_)
    for (Member* member : outside) left = withdraw_or_leave(member->context, member->out) || left;
  else
    left = withdraw();
  if (left || (committed_ && held_for(true) >= patience() && leave_all())) return true;
  say("its members must be in one domain of " + members_.topology.required + ", and the node of " +
      outside.front()->context.pod.metadata.name +
      " is in another one by now; it waits until the node is moved back, or until the other pods that use the same "
      "claims have ended");
  first_.out.requeue_in(std::chrono::seconds(1));
  return true;
}

}  // namespace dra::allocation
