// The promise of a pod, or of a group of pods, that takes the place of others, or for which others move, as it is
// written down: a condition of ours in the pod's status, beside status.nominatedNodeName, both under a field manager of
// their own. A group has one record, in the status of one of its pods: so it is written, kept and dropped as a whole.
// Tenants with the role edit cannot write pods/status, and the record ends with the pod.
//
//   if (const std::optional<Result<Promise>> written = promise_of(pod)) ...
//   outcome.add(write_promise(view, pod, promise));        // bound to this version of the pod
//
// What is read is a proposal (docs/design/preemption.md): whoever reads it judges it by the objects of now. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/base/error.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::inventory {
class Inventory;
}

namespace dra::protocol {

inline constexpr std::string_view kPromiseCondition = "dra-controller-manager/Promise";
inline constexpr std::string_view kPromiseManager = "dra-controller-manager-promise";

// The flag without which promises are neither made nor kept, without dashes.
inline constexpr std::string_view kPreemptionFlag = "preemption";

// At most so many promises stand at a time, half of them of one namespace.
inline constexpr size_t kMostPromises = 256;

// A longer record is neither written nor read.
inline constexpr size_t kMaxPromiseBytes = 512 * 1024;

// An object by name and uid: one that was made anew under the same name is another.
struct Instance {
  std::string key;  // "namespace/name"
  std::string uid;
  bool operator==(const Instance&) const = default;
};

// The most pods that are promised their places together: each of their decisions leaves out the places of all.
inline constexpr size_t kMostPlaces = 128;

// The most pods that move for one.
inline constexpr size_t kMostMoves = 64;

// Promise::Move::next where no next pod came in time.
inline constexpr std::string_view kNoNextPod = "none";

struct Promise {
  struct Place {
    Instance pod;
    std::string node;
    bool operator==(const Place&) const = default;
  };
  // A pod that leaves for a place of its own: the next pod of its controller gets it.
  struct Move {
    Instance pod;
    std::string controller;  // uid
    std::string node;
    std::vector<std::string> claims;  // of it, in `allocations`: what the next pod gets in their place
    // uid of the next pod that got the place, or kNoNextPod: nothing is kept for it any more. Empty: the place is kept.
    std::string next;
    bool settled() const { return !next.empty(); }
    std::string ns() const { return pod.key.substr(0, pod.key.find('/')); }
    bool operator==(const Move&) const = default;
  };
  std::string pod_uid;  // in whose status it is: copied to another pod, or to a later one of the name, it is none
  std::string node;     // of that pod, which is promised a place alone; empty: `places` says who goes where
  // Of a group: the members that are placed together, of one namespace. The pod with the record may be none of them.
  std::vector<Place> places;
  std::map<std::string, api::AllocationResult> allocations;  // "namespace/name" of the claim; its devices alone
  std::vector<Instance> victims;                             // or who moves
  // One for each of `victims`, in their order, or none: nobody moves.
  std::vector<Move> moves;
  std::vector<Instance> victim_claims;  // allocated claims that only victims use
  std::string since;                    // RFC 3339
  // Seen in the stream at its own write, without another one that excludes it: evictions may begin.
  bool proven = false;
  bool operator==(const Promise&) const = default;
  bool of_group() const { return node.empty(); }
  bool has_moves() const { return !moves.empty(); }
  // It may outlast the binding of the pod that has it: others have places in it, too.
  bool outlasts_binding() const { return of_group() || has_moves(); }
};

// Who goes where, `pod` being the one that has the record.
std::vector<Promise::Place> places_of(const Promise& promise, const api::Pod& pod);

// "namespace/uid" of the controller, as owner_key() of its pods.
std::string owner_key(const Promise::Move& move);
// `known`: the pod that has its name now, or null. It is gone, or going.
bool has_left(const Promise::Move& move, const api::Pod* known);
// The place is kept, for any pod of the controller.
inline bool is_next_of(const Promise::Move& move, const api::Pod& pod) {
  return !move.settled() && owner_key(pod) == owner_key(move);
}
// Ends the keeping: the place was taken by this pod, or is given up (kNoNextPod).
void settle(Promise& promise, Promise::Move& move, std::string next);

// Of promised devices those that nobody holds yet, so that the promise has to keep them; of shares each one.
void add_unheld(const api::AllocationResult& promised, const inventory::Inventory& inventory,
                api::AllocationResult& all);

// Nothing: the pod has none. An error: it cannot be read, or is another pod's.
std::optional<Result<Promise>> promise_of(const api::Pod& pod);
bool has_promise(const api::Pod& pod);

// Both are bound to this version of the pod (409 if it changed). Promise::since is set where it is empty, pod_uid
// always.
reconcile::Write write_promise(const reconcile::View& view, const api::Pod& pod, Promise promise);
// Removes the condition and the nomination.
reconcile::Write write_promise_removed(const api::Pod& pod);

}  // namespace dra::protocol
