// DomainSearch: what pairs and rails ask of the claims that are decided together.
#include <algorithm>

#include "pkg/gang/search/domain_search.h"
#include "pkg/inventory/device_index.h"

namespace dra::gang {

namespace {

// The devices that a result gives to the request, with all its alternatives.
std::vector<allocator::Anchor> devices_of(const api::AllocationResult& result, const std::string& request) {
  std::vector<allocator::Anchor> devices;
  for (const api::DeviceRequestAllocationResult& one : result.results)
    if (std::string_view(one.request).substr(0, one.request.find('/')) == request)
      devices.push_back({one.driver, one.pool, one.device});
  return devices;
}

}  // namespace

// The member, and the placed members whose claims are among these: they share one, or are decided again. `waiting`:
// also those that will share one later.
std::vector<uint32_t> DomainSearch::concerned(uint32_t member, const std::vector<uint32_t>& claims,
                                              bool waiting) const {
  std::vector<uint32_t> members;
  if (member != Trial::kNoMember) members.push_back(member);
  for (const uint32_t claim : claims)
    for (const uint32_t user : world_.table.claims[claim].users)
      if ((waiting || trial_.is_placed(user)) && std::find(members.begin(), members.end(), user) == members.end())
        members.push_back(user);
  return members;
}

// If all must be placed, a claim that is shared must also suit those who come later.
void DomainSearch::add_rails(allocator::Request& request, uint32_t member, const std::vector<uint32_t>& claims) const {
  const bool all = world_.request.min_count == world_.request.members.size();
  const auto decided = [&](uint32_t claim) -> const api::AllocationResult* {
    const std::optional<api::AllocationResult>& result = trial_.decided(claim);
    return result ? &*result : nullptr;
  };
  const std::vector<uint32_t> members = concerned(member, claims, all);
  for (const RailList& rail : world_.rails)
    for (const uint32_t one : members) {
      std::optional<allocator::ValueList> list =
          list_for(rail, world_.request, world_.table, world_.inventory.device_index(), one, claims, decided);
      if (list) request.lists.push_back(std::move(*list));
    }
}

// An entry with a claim that is decided later, in a step of its own, is checked there.
void DomainSearch::add_pairs(allocator::Request& request, const std::vector<uint32_t>& members,
                             const std::vector<uint32_t>& claims) const {
  for (const uint32_t one : members)
    for (const alignment::PairEntry& entry : world_.request.members[one].pairs) {
      allocator::PairRule rule{{}, entry.attribute, entry.text};
      bool open = false, complete = true;
      for (const alignment::PairTerm& term : entry.terms) {
        const api::ResourceClaim& object = *world_.request.members[one].claims[term.claim];
        allocator::PairRule::Term& added = rule.terms.emplace_back();
        added.request = term.request;
        added.number = term.number;
        added.name = object.spec.requests[term.request].name;
        added.claim = allocator::kAllocatedClaim;
        if (object.status.allocation) {
          added.devices = devices_of(*object.status.allocation, added.name);
          continue;
        }
        const std::vector<uint32_t>& own = world_.table.claims_of[one];
        const auto number = std::find_if(own.begin(), own.end(), [&](uint32_t claim) {
          return world_.table.claims[claim].object->metadata.uid == object.metadata.uid;
        });
        const auto at = std::find(claims.begin(), claims.end(), *number);
        if (at != claims.end()) {
          added.claim = static_cast<uint32_t>(at - claims.begin());
          open = true;
        } else if (trial_.decided(*number)) {
          added.devices = devices_of(*trial_.decided(*number), added.name);
        } else {
          complete = false;
        }
      }
      if (open && complete) request.pairs.push_back(std::move(rule));
    }
}

}  // namespace dra::gang
