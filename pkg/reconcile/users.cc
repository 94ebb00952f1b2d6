#include "pkg/reconcile/users.h"

#include <algorithm>

#include "pkg/reconcile/proof.h"
#include "pkg/reconcile/writes.h"

namespace dra::reconcile {

std::vector<User> users_of(const api::ResourceClaim& claim) {
  std::vector<User> users;
  const auto annotation = claim.metadata.annotations.find(kProvenForAnnotation);
  if (annotation == claim.metadata.annotations.end()) return users;
  std::string_view rest = annotation->second;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const size_t slash = one.find('/');  // a name has none
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == one.size()) continue;
    users.push_back({std::string(one.substr(0, slash)), std::string(one.substr(slash + 1))});
  }
  return users;
}

bool is_user(const api::ResourceClaim& claim, std::string_view pod_uid) {
  const std::vector<User> users = users_of(claim);
  return std::any_of(users.begin(), users.end(), [&](const User& user) { return user.uid == pod_uid; });
}

std::optional<std::string> users_value(const std::vector<User>& users) {
  if (users.empty()) return std::nullopt;
  std::string text;
  for (const User& user : users) text += (text.empty() ? "" : ",") + user.name + "/" + user.uid;
  return text;
}

std::optional<Write> write_enlisted(const api::Pod& pod, const api::ResourceClaim& claim) {
  std::vector<User> users = users_of(claim);
  users.push_back({pod.metadata.name, pod.metadata.uid});
  const auto value = users_value(users);
  if (value->size() > kMaxUsersBytes) return std::nullopt;
  return write_metadata(claim, claim.metadata.finalizers, {{std::string(kProvenForAnnotation), value}}, "enlist");
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
  switch (view.confirmed(ref)) {
    case Presence::kAbsent:
      return Fate::kGone;
    case Presence::kPresent:
      return Fate::kAlive;
    case Presence::kUnknown:
      break;
  }
  outcome.add(Confirm{ref});
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
