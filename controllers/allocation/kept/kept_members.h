// KeptMembers: what a reconcile derived about the members of a group that is reconciled again soon: its search goes on
// in the next slice, or its members are written a few at a time.
//
//   std::shared_ptr<MemberFacts> known = kept.take(view, options, membership);   // null: derive them
//   ...
//   kept.keep(view, std::move(known));
//
// Deriving the facts about 1,000 pods takes as long as most of a slice. They are used again while nothing that they
// were derived from has changed; the others are derived again, so that all equal what deriving would give. A reconcile
// reads them and changes none. Right only if it
// is notified of every change of a pod, a claim (in the stream too) and a DeviceClass. Bounded: kMost groups. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "controllers/allocation/members/group_members.h"
#include "controllers/allocation/pod_facts.h"
#include "pkg/gang/gang.h"

namespace dra::allocation {

// What the facts about a group's members were derived from. Members by their index.
struct Sources {
  // False: it may concern a pod that does not wait, on which depends whether the group is launched.
  bool note_change(const api::ResourceClaim& claim);

  std::vector<std::shared_ptr<const api::Pod>> pods;              // all of the group: the members keep pointers to them
  std::unordered_map<std::string_view, uint32_t> waiting;         // by uid
  std::unordered_map<std::string, std::vector<uint32_t>> claims;  // keys that they name, existing or not
  std::unordered_set<std::string_view> other_uids;                // of the pods that do not wait
  std::unordered_set<std::string> other_claims;                   // that those name
  std::set<uint32_t> changed;                                     // members whose sources changed
};

struct MemberFacts {
  MemberFacts(const reconcile::View& view, const Options& options, protocol::Membership of, GroupMembers all);
  void derive_changed(const reconcile::View& view, const Options& options);

  const protocol::Membership membership;
  const GroupMembers members;
  std::vector<PodFacts> facts;  // of members.waiting, in its order
  // What the search was last asked about which of `facts`, and NodeChooser::shapes_version() then.
  std::vector<size_t> asked;
  std::vector<gang::Member> questions;
  uint64_t shapes_version = 0;
  Sources sources;  // empty until they are kept
};

class KeptMembers {
 public:
  static constexpr size_t kMost = 4;

  std::shared_ptr<MemberFacts> take(const reconcile::View& view, const Options& options,
                                    const protocol::Membership& membership);
  // Only of a view that has watched_pod().
  void keep(const reconcile::View& view, std::shared_ptr<MemberFacts> made);
  void pod_changed(const api::Pod& pod);  // before or after the change
  void claim_changed(const api::ResourceClaim* before, const api::ResourceClaim* after);
  void forget_all() { kept_.clear(); }

 private:
  struct Kept {
    const reconcile::View* view;
    uint64_t rewinds;  // of the view
    std::shared_ptr<MemberFacts> made;
  };
  std::deque<Kept> kept_;  // the oldest first
};

}  // namespace dra::allocation
