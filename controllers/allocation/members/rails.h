// Rails in the allocation controller: what a search is asked, and the condition for marks
// (docs/design/groups-commit.md, G9). The devices of members that hold some already count, with the values that are
// published, or else those that were written with their mark. Pure.
#pragma once

#include <string>
#include <vector>

#include "controllers/allocation/protocol.h"
#include "pkg/gang/request.h"
#include "pkg/inventory/inventory.h"
#include "pkg/protocol/rails.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

// For gang::GangRequest::rails. `asked`: its members, whose uids are those of their pods; the others that hold devices
// are members that run.
std::vector<gang::RailRule> rail_rules(const protocol::PodRails& rails, const inventory::Inventory& inventory,
                                       const std::vector<gang::Member>& asked);
// The annotation beside the claim's mark (pkg/protocol/rail_mark.h); empty: no rule binds the claim.
std::string rails_mark_of(const protocol::PodRails& rails, const inventory::Inventory& inventory,
                          const api::ResourceClaim& claim);

// Whether the hard rules hold over all members that hold devices, marked or not, as the stream shows them.
class RailsProof {
 public:
  RailsProof(const reconcile::View& view, const inventory::Inventory& inventory, const api::Pod& pod);

  bool holds() const { return broken_.empty(); }
  // Not while holds(): the pod's allocation is unmarked, and does not fit the members that are marked or that got
  // theirs earlier. False: a later one leaves, or nobody can.
  bool must_leave(const api::Pod& pod) const;
  // What is broken, a clause for people.
  const std::string& why() const { return broken_; }

 private:
  struct Holder {
    const api::Pod* pod = nullptr;
    uint64_t since = 0;                           // the version of its latest unmarked allocation; 0: all are marked
    std::vector<alignment::MemberRails> devices;  // by hard rule; those that bind it
    std::vector<bool> bound;                      // by hard rule
  };
  bool agree(size_t rule, const std::vector<const Holder*>& holders) const;

  std::vector<Holder> holders_;
  std::vector<std::string> attributes_;  // by hard rule
  std::string broken_;
};

}  // namespace dra::allocation
