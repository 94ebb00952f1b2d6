// KeptMembers: what a reconcile derived about the members of a group whose search goes on in the next slice.
//
//   std::shared_ptr<MemberSteps> known = kept.take(view, membership);   // null: derive them
//   ...
//   kept.keep(view, std::move(known));                                 // only if nothing was decided about them
//
// Deriving the states of 1,000 pods takes as long as most of a slice. They are used again only while nothing they were
// derived from has changed, so they equal what deriving would give. Right only if it is notified of every change of a
// pod, a claim (in the stream too) and a DeviceClass. Bounded: kMost groups. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "controllers/allocation/group_members.h"
#include "controllers/allocation/pod_reconcile.h"
#include "pkg/gang/gang.h"

namespace dra::allocation {

// What the states of a group's members were derived from.
struct Sources {
  bool include(const api::ResourceClaim& claim) const;

  std::vector<std::shared_ptr<const api::Pod>> pods;  // all of the group: the members keep pointers to them
  std::unordered_set<std::string_view> uids;          // of `pods`
  std::unordered_set<std::string> claims;             // keys of the claims that `pods` name, existing or not
};

struct MemberSteps {
  MemberSteps(const reconcile::View& view, const Tools& tools, reconcile::Membership of, GroupMembers all);

  const reconcile::Membership membership;
  const GroupMembers members;
  std::deque<PodReconcile> steps;  // of members.waiting, in its order
  // What the search was last asked about which of `steps`, and NodeChooser::shapes_version() then.
  std::vector<size_t> asked;
  std::vector<gang::Member> questions;
  uint64_t shapes_version = 0;
  Sources sources;  // empty until they are kept
};

class KeptMembers {
 public:
  static constexpr size_t kMost = 4;

  std::shared_ptr<MemberSteps> take(const reconcile::View& view, const reconcile::Membership& membership);
  // Only of a view that has watched_pod().
  void keep(const reconcile::View& view, std::shared_ptr<MemberSteps> made);
  void pod_changed(const api::Pod& pod);  // before or after the change
  void claim_changed(const api::ResourceClaim* before, const api::ResourceClaim* after);
  void forget_all() { kept_.clear(); }
  size_t size() const { return kept_.size(); }

 private:
  struct Kept {
    const reconcile::View* view;
    std::shared_ptr<MemberSteps> made;
  };
  std::deque<Kept> kept_;  // the oldest first
};

}  // namespace dra::allocation
