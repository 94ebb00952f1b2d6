// The users of a claim: the pods that may use its allocation (docs/design/arbitration.md, P4).
//
// status.reservedFor does not say it: kube-scheduler takes a pod out of it (Unreserve) and may bind the pod all the
// same. So before a pod's gate is lifted the pod is listed in an annotation of each of its claims:
// "<name>/<uid>[,...]". It is taken off the list only when it left the claim (leaving.h). An allocation goes only when
// each pod on the list is confirmed gone or finished. Every change is a compare-and-swap on the claim.
//
// Pods without a gate of ours are not listed: they are not let go by lifting it.
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

namespace dra::reconcile {

// Longer lists are not written (names of 100 characters, of 230 pods), and what is beyond is not read.
inline constexpr size_t kMaxUsersBytes = 32'768;
inline constexpr size_t kMaxUsers = 512;

struct User {
  std::string name, uid;
  bool operator==(const User&) const = default;
};

// What cannot be read is left out.
std::vector<User> users_of(const api::ResourceClaim& claim);
bool is_user(const api::ResourceClaim& claim, std::string_view pod_uid);
// The annotation's value; nothing (no annotation) for no users.
std::optional<std::string> users_value(const std::vector<User>& users);

// Adds the pod to the list, without those that are known to be gone; nothing when the list is full. Where it is long,
// it asks about those that the view does not know first: a claim may outlive very many pods.
enum class Enlisting { kWritten, kAsked, kFull };
Enlisting enlist(const View& view, const api::Pod& pod, const api::ResourceClaim& claim, Outcome& outcome);
// Takes the pod off the list, at exactly the claim's version.
Write write_unlisted(const api::Pod& pod, const api::ResourceClaim& claim);

enum class Fate { kAlive, kGone, kUnsure };
// Whether the pod instance still needs its claims. Gone is said only when the server said so, by uid; where it has to
// be asked first, the question is added to the outcome.
Fate fate_of(const View& view, const std::string& ns, const User& pod, Outcome& outcome);
// The same of all users of the claim but one: alive when one of them is.
Fate fate_of_users(const View& view, const api::ResourceClaim& claim, std::string_view but_uid, Outcome& outcome);

}  // namespace dra::reconcile
