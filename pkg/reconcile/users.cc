#include "pkg/reconcile/users.h"

#include <algorithm>

#include "pkg/reconcile/proof.h"
#include "pkg/reconcile/writes.h"

namespace dra::reconcile {

namespace {

// A list this long is also pruned: pods that are gone are taken off.
constexpr size_t kLongList = 16;

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
    users.push_back({std::string(name), std::string(uid)});
    return false;
  });
  return users;
}

bool is_user(const api::ResourceClaim& claim, std::string_view pod_uid) {
  return any_user(claim, [&](std::string_view, std::string_view uid) { return uid == pod_uid; });
}

std::optional<std::string> users_value(const std::vector<User>& users) {
  if (users.empty()) return std::nullopt;
  std::string text;
  for (const User& user : users) text += (text.empty() ? "" : ",") + user.name + "/" + user.uid;
  return text;
}

Enlisting enlist(const View& view, const api::Pod& pod, const api::ResourceClaim& claim, Outcome& outcome) {
  std::vector<User> users = users_of(claim);
  bool asks = false;
  if (users.size() >= kLongList)
    std::erase_if(users, [&](const User& user) {
      const Fate fate = fate_of(view, claim.metadata.ns, user, outcome);
      asks = asks || fate == Fate::kUnsure;
      return fate == Fate::kGone;
    });
  if (asks) return Enlisting::kAsked;
  users.push_back({pod.metadata.name, pod.metadata.uid});
  const std::optional<std::string> value = users_value(users);
  if (users.size() > kMaxUsers || value->size() > kMaxUsersBytes) return Enlisting::kFull;
  outcome.add(write_metadata(claim, claim.metadata.finalizers, {{std::string(kProvenForAnnotation), value}}, "enlist"));
  return Enlisting::kWritten;
}

Write write_unlisted(const api::Pod& pod, const api::ResourceClaim& claim) {
  std::vector<User> users = users_of(claim);
  std::erase_if(users, [&](const User& user) { return user.uid == pod.metadata.uid; });
  return write_metadata(claim, claim.metadata.finalizers, {{std::string(kProvenForAnnotation), users_value(users)}},
                        "unlist");
}

Fate fate_of(const View& view, const std::string& ns, const User& user, Outcome& outcome) {
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

Fate fate_of_users(const View& view, const api::ResourceClaim& claim, std::string_view but_uid, Outcome& outcome) {
  Fate all = Fate::kGone;
  for (const User& user : users_of(claim)) {
    if (user.uid == but_uid) continue;
    const Fate one = fate_of(view, claim.metadata.ns, user, outcome);
    if (one == Fate::kAlive) return one;
    if (one == Fate::kUnsure) all = one;
  }
  return all;
}

}  // namespace dra::reconcile
