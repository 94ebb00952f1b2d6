// KeptMembers: what a reconcile derived about the members of a group whose search goes on in the next slice.
//
//   std::shared_ptr<MemberSteps> known = kept.take(view, membership);   // null: derive them
//   ...
//   kept.keep(view, std::move(known));                                 // only if nothing was decided about them
//
// Deriving the states of 1,000 pods takes as long as most of a slice. They are used again only while no pod or claim of
// the namespace, no DeviceClass and nothing about the group itself has changed (View::version_of_namespace()), so they
// equal what deriving would give. Bounded: kMost groups. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "controllers/allocation/group_members.h"
#include "controllers/allocation/pod_reconcile.h"
#include "pkg/gang/gang.h"

namespace dra::allocation {

struct MemberSteps {
  MemberSteps(const reconcile::View& view, const Tools& tools, reconcile::Membership of, GroupMembers all);

  const reconcile::Membership membership;
  const GroupMembers members;
  std::deque<PodReconcile> steps;  // of members.waiting, in its order
  // What the search was last asked about which of `steps`, and NodeChooser::shapes_version() then.
  std::vector<size_t> asked;
  std::vector<gang::Member> questions;
  uint64_t shapes_version = 0;
};

class KeptMembers {
 public:
  static constexpr size_t kMost = 4;

  std::shared_ptr<MemberSteps> take(const reconcile::View& view, const reconcile::Membership& membership);
  void keep(const reconcile::View& view, std::shared_ptr<MemberSteps> made);
  void forget_all() { kept_.clear(); }
  size_t size() const { return kept_.size(); }

 private:
  struct Kept {
    const reconcile::View* view;
    uint64_t version;
    std::shared_ptr<MemberSteps> made;
  };
  std::deque<Kept> kept_;  // the oldest first
};

}  // namespace dra::allocation
