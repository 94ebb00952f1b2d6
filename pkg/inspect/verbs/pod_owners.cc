#include "pkg/inspect/verbs/pod_owners.h"

#include <algorithm>
#include <map>
#include <set>

#include "pkg/base/strings.h"
#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/unseen.h"

namespace dra::inspect {
namespace {

constexpr size_t kOwnersNamed = 4;

// What users type for it.
const std::map<std::string, std::vector<std::string>, std::less<>>& known_kinds() {
  static const std::map<std::string, std::vector<std::string>, std::less<>> kKinds{
      {"pod", {"po", "pods"}},
      {"claim", {"claims", "resourceclaim", "resourceclaims"}},
      {"podgroup", {"podgroups", "pg"}},
      {"deployment", {"deploy", "deployments"}},
      {"replicaset", {"rs", "replicasets"}},
      {"statefulset", {"sts", "statefulsets"}},
      {"daemonset", {"ds", "daemonsets"}},
      {"replicationcontroller", {"rc", "replicationcontrollers"}},
      {"job", {"jobs"}},
      {"cronjob", {"cj", "cronjobs"}},
      {"jobset", {"js", "jobsets"}},
      {"leaderworkerset", {"lws", "leaderworkersets"}},
      {"rollout", {"ro", "rollouts"}}};
  return kKinds;
}

// Owners of owners that write their name on the pods.
std::string_view label_of(std::string_view kind) {
  if (kind == "jobset") return "jobset.sigs.k8s.io/jobset-name";
  if (kind == "leaderworkerset") return "leaderworkerset.sigs.k8s.io/name";
  return "";
}

// The name of the owner's owner of this kind; empty: it has none.
std::string owner_of_owner(const api::OwnerReference& owner, std::string_view kind) {
  const size_t dash = owner.name.rfind('-');
  if (dash == std::string::npos) return "";
  // A ReplicaSet's name is the Deployment's and a hash; a Job's is the CronJob's and a number.
  if ((kind == "deployment" || kind == "rollout") && owner.kind == "ReplicaSet") return owner.name.substr(0, dash);
  const std::string tail = owner.name.substr(dash + 1);
  const bool number =
      !tail.empty() && std::all_of(tail.begin(), tail.end(), [](char c) { return c >= '0' && c <= '9'; });
  return kind == "cronjob" && owner.kind == "Job" && number ? owner.name.substr(0, dash) : "";
}

// "rayclusters" for RayCluster, "proxies" for Proxy.
bool is_kind(const std::string& kind, const std::string& word) {
  const std::string plain = to_lower(kind);
  if (word == plain || word == plain + "s" || word == plain + "es") return true;
  return plain.ends_with('y') && word == plain.substr(0, plain.size() - 1) + "ies";
}

bool belongs(const api::Pod& pod, const std::string& kind, const std::string& name) {
  if (const auto label = pod.metadata.labels.find(label_of(kind));
      label != pod.metadata.labels.end() && label->second == name)
    return true;
  return std::any_of(pod.metadata.owner_references.begin(), pod.metadata.owner_references.end(),
                     [&](const api::OwnerReference& owner) {
                       return (owner.name == name && is_kind(owner.kind, kind)) || owner_of_owner(owner, kind) == name;
                     });
}

// "job/train", "raycluster/a": owners of pods in this namespace.
std::set<std::string> owners_in(const Objects& objects, const std::string& ns, bool any_namespace) {
  std::set<std::string> owners;
  for (const auto& [key, pod] : objects.pods) {
    if (!any_namespace && pod->metadata.ns != ns) continue;
    for (const api::OwnerReference& owner : pod->metadata.owner_references) {
      owners.insert(to_lower(owner.kind) + "/" + owner.name);
      for (const char* kind : {"deployment", "cronjob"})
        if (const std::string above = owner_of_owner(owner, kind); !above.empty())
          owners.insert(std::string(kind) + "/" + above);
    }
  }
  return owners;
}

}  // namespace

std::string owner_kind(std::string_view word) {
  std::string plain = to_lower(word.substr(0, word.find('.')));
  for (const auto& [kind, others] : known_kinds())
    if (plain == kind || std::find(others.begin(), others.end(), plain) != others.end()) return kind;
  return plain;
}

bool names_a_kind(const Objects& objects, std::string_view word) {
  const std::string kind = owner_kind(word);
  if (known_kinds().contains(kind)) return true;
  for (const std::string& owner : owners_in(objects, "", true))
    if (is_kind(owner.substr(0, owner.find('/')), kind)) return true;
  return false;
}

std::vector<const api::Pod*> pods_of_owner(const Objects& objects, const std::string& ns, const std::string& kind,
                                           const std::string& name) {
  std::vector<const api::Pod*> pods;
  for (const auto& [key, pod] : objects.pods)
    if (pod->metadata.ns == ns && belongs(*pod, kind, name)) pods.push_back(pod.get());
  std::stable_partition(pods.begin(), pods.end(), [](const api::Pod* pod) { return !pod->terminal(); });
  return pods;
}

Error why_no_owner(const Objects& objects, const std::string& ns, const std::string& kind, const std::string& name) {
  std::vector<std::string> kinds, names;
  bool is_known = known_kinds().contains(kind);
  for (const auto& [known, others] : known_kinds()) kinds.push_back(known);
  for (const std::string& owner : owners_in(objects, "", true)) {
    const std::string of = owner.substr(0, owner.find('/'));
    is_known = is_known || is_kind(of, kind);
    if (std::find(kinds.begin(), kinds.end(), of) == kinds.end()) kinds.push_back(of);
  }
  if (!is_known && !objects.hides("pods")) {
    const std::string near = nearest(kind, kinds);
    return {Code::kInvalidArgument, "kind " + quote(kind) +
                                        (near.empty() ? " owns no pod here; use one of " + join(kinds, ", ")
                                                      : " cannot be explained; did you mean " + quote(near) + "?")};
  }
  for (const std::string& owner : owners_in(objects, ns, false))
    if (is_kind(owner.substr(0, owner.find('/')), kind)) names.push_back(owner.substr(owner.find('/') + 1));
  const std::string near = nearest(name, names);
  if (names.size() > kOwnersNamed) names.resize(kOwnersNamed);
  return not_known(objects, "pods", ns, "a pod of " + kind + " " + quote(name),
                   !near.empty()    ? "; did you mean " + quote(near) + "?"
                   : !names.empty() ? "; there are pods of " + join(names, ", ")
                                    : "");
}

}  // namespace dra::inspect
