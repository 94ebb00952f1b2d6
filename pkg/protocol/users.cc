#include "pkg/protocol/users.h"

#include <algorithm>

#include "pkg/protocol/group_claims.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/writes.h"

namespace dra::protocol {

using namespace reconcile;

namespace {

// A list this long is also pruned: pods that are gone are taken off.
constexpr size_t kLongList = 16;
constexpr char kLeft = '~';  // before the uid; no uid begins with it

// Until `see(name, uid)` returns true.
template <typename See>
bool any_user(const api::ResourceClaim& claim, const See& see) {
  const auto annotation = claim.metadata.annotations.find(kProvenForAnnotation);
  if (annotation == claim.metadata.annotations.end()) return false;
  std::string_view rest = annotation->second;
  for (size_t i = 0; i < kMaxUsers && !rest.empty(); ++i) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const size_t slash = one.find('/');  // a name has none
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == one.size()) continue;
    if (see(one.substr(0, slash), one.substr(slash + 1))) return true;
  }
  return false;
}

}  // namespace

std::vector<User> users_of(const api::ResourceClaim& claim) {
  std::vector<User> users;
  any_user(claim, [&](std::string_view name, std::string_view uid) {
    const bool left = uid.front() == kLeft;
    users.push_back({std::string(name), std::string(uid.substr(left ? 1 : 0)), left});
    return false;
  });
  return users;
}

bool is_user(const api::ResourceClaim& claim, std::string_view pod_uid) {
  return any_user(claim, [&](std::string_view, std::string_view uid) { return uid == pod_uid; });
}

bool has_left(const api::ResourceClaim& claim, std::string_view pod_uid) {
  return any_user(
      claim, [&](std::string_view, std::string_view uid) { return uid.front() == kLeft && uid.substr(1) == pod_uid; });
}

std::optional<std::string> users_value(const std::vector<User>& users) {
  if (users.empty()) return std::nullopt;
  std::string text;
  for (const User& user : users)
    text += (text.empty() ? "" : ",") + user.name + "/" + (user.left ? std::string(1, kLeft) : "") + user.uid;
  return text;
}

namespace {

Fate fate_of_left(const View& view, const api::ResourceClaim& claim, const User& user, ReconcileResult& outcome) {
  // Of a PodGroup's reservation kubelet reads the name alone.
  const auto& reserved = claim.status.reserved_for;
  if (is_reserved_for(claim, user.uid) || std::any_of(reserved.begin(), reserved.end(), is_group_reference))
    return Fate::kAlive;
  const Ref ref{Kind::kPod, claim.metadata.ns, user.name, user.uid};
  std::string seen = claim.metadata.uid + "@" + claim.metadata.resource_version;
  switch (view.live_presence_after(ref, seen)) {
    case Presence::kAbsent:
      return Fate::kGone;
    case Presence::kPresent: {
      // Not in the view: it exists and cannot be read.
      const api::Pod* pod = view.pod(ref.store_key());
      if (!pod || pod->metadata.uid != user.uid) return Fate::kAlive;
      return pod->node_name.empty() || pod->done() ? Fate::kGone : Fate::kAlive;
    }
    case Presence::kUnknown:
      break;
  }
  outcome.add(LiveGet{ref, std::move(seen)});
  return Fate::kUnsure;
}

Fate fate_of_user(const View& view, const api::ResourceClaim& claim, const User& user, ReconcileResult& outcome) {
  return user.left ? fate_of_left(view, claim, user, outcome) : fate_of(view, claim.metadata.ns, user, outcome);
}

}  // namespace

Enlisting enlist(const View& view, const api::Pod& pod, const api::ResourceClaim& claim,
                 const std::vector<const api::Pod*>& others, ReconcileResult& outcome) {
  std::vector<User> users = users_of(claim);
  std::erase_if(users, [&](const User& user) { return user.uid == pod.metadata.uid; });
  bool asks = false;
  if (users.size() >= kLongList)
    std::erase_if(users, [&](const User& user) {
      const Fate fate = fate_of_user(view, claim, user, outcome);
      asks = asks || fate == Fate::kUnsure;
      return fate == Fate::kGone;
    });
  if (asks) return Enlisting::kAsked;
  users.push_back({pod.metadata.name, pod.metadata.uid});
  size_t bytes = users_value(users)->size();
  if (users.size() > kMaxUsers || bytes > kMaxUsersBytes) return Enlisting::kFull;
  for (const api::Pod* other : others) {
    bytes += other->metadata.name.size() + other->metadata.uid.size() + std::string_view(",/").size();
    if (users.size() == kMaxUsers || bytes > kMaxUsersBytes) break;
    users.push_back({other->metadata.name, other->metadata.uid});
  }
  const std::optional<std::string> value = users_value(users);
  outcome.add(write_metadata(claim, claim.metadata.finalizers, {{std::string(kProvenForAnnotation), value}}, "enlist"));
  return Enlisting::kWritten;
}

Write write_unlisted(const api::Pod& pod, const api::ResourceClaim& claim, bool remember) {
  std::vector<User> users = users_of(claim);
  std::erase_if(users, [&](const User& user) { return user.uid == pod.metadata.uid; });
  if (remember) users.push_back({pod.metadata.name, pod.metadata.uid, true});
  return write_metadata(claim, claim.metadata.finalizers, {{std::string(kProvenForAnnotation), users_value(users)}},
                        remember ? "unlist-unbound" : "unlist");
}

Fate fate_of(const View& view, const std::string& ns, const User& user, ReconcileResult& outcome) {
  const Ref ref{Kind::kPod, ns, user.name, user.uid};
  const api::Pod* pod = view.pod(ref.store_key());
  if (pod && pod->metadata.uid == user.uid) return pod->done() ? Fate::kGone : Fate::kAlive;
  switch (view.live_presence(ref)) {
    case Presence::kAbsent:
      return Fate::kGone;
    case Presence::kPresent:
      return Fate::kAlive;
    case Presence::kUnknown:
      break;
  }
  outcome.add(LiveGet{ref});
  return Fate::kUnsure;
}

Fate fate_of_users(const View& view, const api::ResourceClaim& claim, std::string_view but_uid,
                   ReconcileResult& outcome) {
  Fate all = Fate::kGone;
  for (const User& user : users_of(claim)) {
    if (user.uid == but_uid) continue;
    const Fate one = fate_of_user(view, claim, user, outcome);
    if (one == Fate::kAlive) return one;
    if (one == Fate::kUnsure) all = one;
  }
  return all;
}

}  // namespace dra::protocol
