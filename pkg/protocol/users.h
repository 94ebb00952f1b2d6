// The users of a claim: the pods that may use its allocation (docs/design/arbitration.md, P4).
//
// status.reservedFor is not enough: kube-scheduler may take a pod out of it (Unreserve) and still bind the pod. So
// before a pod's gate is lifted, or we bind it, the pod is listed in an annotation of each of its claims:
// "<name>/<uid>[,...]". It is taken off the list only after it left the claim (leaving.h). An allocation is removed
// only when each pod on the list is known from the server to be gone or finished. Every change is a compare-and-swap.
//
// Of a pod without a gate that left, "<name>/~<uid>" stays: others may have bound it before. The allocation is removed
// only when a live GET shows that they have not, and the next one is reserved for the pod only when it is proven.
// (Versions that do not know the form look for a pod of that uid, and find none.)
//
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::protocol {

// Longer lists are not written (230 pods with names of 100 characters), and the excess is not read.
inline constexpr size_t kMaxUsersBytes = 32'768;
inline constexpr size_t kMaxUsers = 512;

struct User {
  std::string name, uid;
  bool left = false;  // without a gate: may use the claim only if others bound the pod before it left
  bool operator==(const User&) const = default;
};

// Unreadable entries are left out.
std::vector<User> users_of(const api::ResourceClaim& claim);
// Listed, and has not left.
bool is_user(const api::ResourceClaim& claim, std::string_view pod_uid);
bool has_left(const api::ResourceClaim& claim, std::string_view pod_uid);
// The annotation's value; nothing (no annotation) if there are no users.
std::optional<std::string> users_value(const std::vector<User>& users);

// Adds the pod to the list, and of `others`, which are not on it, as many as fit; writes nothing if the list is full. A
// long list first loses the pods that are gone, with live GETs for pods that the view does not know: a claim may
// outlive very many pods.
enum class Enlisting { kWritten, kAsked, kFull };
Enlisting enlist(const reconcile::View& view, const api::Pod& pod, const api::ResourceClaim& claim,
                 const std::vector<const api::Pod*>& others, reconcile::ReconcileResult& outcome);
// Takes the pod off the list, at exactly the claim's version. `remember`: the pod has no gate, so the list keeps that
// it left.
reconcile::Write write_unlisted(const api::Pod& pod, const api::ResourceClaim& claim, bool remember = false);

enum class Fate { kAlive, kGone, kUnsure };
// Whether the pod instance still needs its claims. kGone only if the server said so, by uid; if the server must be
// asked first, a live GET is added to the outcome.
Fate fate_of(const reconcile::View& view, const std::string& ns, const User& pod, reconcile::ReconcileResult& outcome);
// As above, for all users of the claim but one: alive if one of them is. A pod that left counts as gone if it is not
// reserved and a live GET, begun after the claim was seen at this version, shows it unbound: then kubelet has not read
// the claim for it and never will find it reserved at this version.
Fate fate_of_users(const reconcile::View& view, const api::ResourceClaim& claim, std::string_view but_uid,
                   reconcile::ReconcileResult& outcome);

}  // namespace dra::protocol
