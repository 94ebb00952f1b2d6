#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/sandbox/pod_sets.h"
#include "pkg/sandbox/workload.h"

namespace dra::sandbox {
namespace {

constexpr const char* kRevision = "deployment.kubernetes.io/revision";
constexpr size_t kNameBase = 58;  // of generated names, which the API server cuts to this length

int64_t revision_of(const Json& object) {
  const Json annotations = object.value("/metadata/annotations"_json_pointer, Json::object());
  const std::string text = annotations.value(kRevision, "");
  const bool number = !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
  return number ? std::stoll(text) : 0;
}

int64_t wanted_of(const Json& set) {
  return number_at(set, "/spec/replicas", 1);
}

int64_t available_of(const Json& set) {
  return number_at(set, "/status/availableReplicas", 0);
}

ApiCall scale_set(const Json& set, int64_t replicas) {
  return {"PATCH", object_path(kReplicaSetOwner, set),
          Json{{"metadata", {{"uid", text_at(set, "/metadata/uid")}}}, {"spec", {{"replicas", replicas}}}}.dump()};
}

// One rollout as a value: the set of the current template, the others, and the bounds from the strategy.
struct Rollout {
  const Json& deployment;
  const Json* current = nullptr;
  std::vector<const Json*> old;  // newest first
  std::string hash;
  int64_t wanted = 0;
  int64_t surge = 0;
  int64_t unavailable = 0;
  int64_t newest_revision = 0;

  Rollout(const Json& d, const std::vector<const Json*>& sets)
      : deployment(d), hash(template_hash(d)), wanted(number_at(d, "/spec/replicas", 1)) {
    for (const Json* set : sets) {
      if (deleting(*set)) continue;
      newest_revision = std::max(newest_revision, revision_of(*set));
      if (text_at(*set, "/metadata/labels/pod-template-hash") == hash) {
        current = set;
      } else {
        old.push_back(set);
      }
    }
    std::sort(old.begin(), old.end(), [](const Json* a, const Json* b) { return revision_of(*a) > revision_of(*b); });
    const Json rolling = d.value("/spec/strategy/rollingUpdate"_json_pointer, Json::object());
    surge = amount_of(rolling.value("maxSurge", Json()), wanted, true, 1);
    unavailable = amount_of(rolling.value("maxUnavailable", Json()), wanted, false, 0);
    if (surge == 0 && unavailable == 0) unavailable = 1;
  }

  bool recreate() const { return text_at(deployment, "/spec/strategy/type") == "Recreate"; }
  bool paused() const { return deployment.value("/spec/paused"_json_pointer, false); }
  // Specs of all sets summed; statuses likewise by `pointer`.
  int64_t specified() const {
    int64_t sum = current != nullptr ? wanted_of(*current) : 0;
    for (const Json* set : old) sum += wanted_of(*set);
    return sum;
  }
  int64_t reported(const char* pointer) const {
    int64_t sum = current != nullptr ? number_at(*current, pointer, 0) : 0;
    for (const Json* set : old) sum += number_at(*set, pointer, 0);
    return sum;
  }
  int64_t old_pods() const {
    int64_t sum = 0;
    for (const Json* set : old) sum += std::max(wanted_of(*set), number_at(*set, "/status/replicas", 0));
    return sum;
  }
  // NewRSNewReplicas.
  int64_t replicas_of_current() const {
    const int64_t have = current != nullptr ? wanted_of(*current) : 0;
    if (recreate()) return old_pods() > 0 ? have : wanted;
    if (have > wanted) return wanted;
    const int64_t room = wanted + surge - specified();
    return room <= 0 ? have : have + std::min(room, wanted - have);
  }
};

Json new_set(const Rollout& rollout) {
  const Json& deployment = rollout.deployment;
  Json pod_template = deployment.value("/spec/template"_json_pointer, Json::object());
  Json selector = deployment.value("/spec/selector"_json_pointer, Json::object());
  selector["matchLabels"]["pod-template-hash"] = rollout.hash;
  pod_template["metadata"]["labels"]["pod-template-hash"] = rollout.hash;
  Json annotations = deployment.value("/metadata/annotations"_json_pointer, Json::object());
  annotations.erase("kubectl.kubernetes.io/last-applied-configuration");
  annotations[kRevision] = std::to_string(rollout.newest_revision + 1);
  annotations["deployment.kubernetes.io/desired-replicas"] = std::to_string(rollout.wanted);
  annotations["deployment.kubernetes.io/max-replicas"] = std::to_string(rollout.wanted + rollout.surge);
  return {{"apiVersion", "apps/v1"},
          {"kind", "ReplicaSet"},
          {"metadata",
           {{"name", text_at(deployment, "/metadata/name") + "-" + rollout.hash},
            {"namespace", text_at(deployment, "/metadata/namespace")},
            {"labels", pod_template["metadata"]["labels"]},
            {"annotations", annotations},
            {"ownerReferences", Json::array({controller_reference(kDeploymentOwner, deployment)})}}},
          {"spec", {{"replicas", rollout.replicas_of_current()}, {"selector", selector}, {"template", pod_template}}}};
}

// The old sets shrink as far as the strategy allows: first unavailable pods, then others.
void shrink_old(const Rollout& rollout, Step& step) {
  if (rollout.recreate()) {
    for (const Json* set : rollout.old)
      if (wanted_of(*set) > 0) step.calls.push_back(scale_set(*set, 0));
    return;
  }
  const int64_t least = rollout.wanted - rollout.unavailable;
  const int64_t new_unavailable = wanted_of(*rollout.current) - available_of(*rollout.current);
  int64_t may_go = rollout.specified() - least - new_unavailable;
  int64_t available_may_go = rollout.reported("/status/availableReplicas") - least;
  for (auto at = rollout.old.rbegin(); at != rollout.old.rend() && may_go > 0; ++at) {
    const int64_t have = wanted_of(**at), available = available_of(**at);
    const int64_t unhealthy = std::min(may_go, std::max<int64_t>(0, have - available));
    const int64_t healthy = std::clamp<int64_t>(std::min(may_go - unhealthy, available_may_go), 0, have - unhealthy);
    if (unhealthy + healthy == 0) continue;
    step.calls.push_back(scale_set(**at, have - unhealthy - healthy));
    may_go -= unhealthy + healthy;
    available_may_go -= healthy;
  }
}

void drop_history(const Rollout& rollout, Step& step) {
  const auto keep =
      static_cast<size_t>(std::max<int64_t>(0, number_at(rollout.deployment, "/spec/revisionHistoryLimit", 10)));
  for (size_t i = keep; i < rollout.old.size(); ++i) {
    const Json& set = *rollout.old[i];
    if (wanted_of(set) > 0 || number_at(set, "/status/replicas", 0) > 0) continue;
    step.calls.push_back({"DELETE", object_path(kReplicaSetOwner, set),
                          Json{{"preconditions", {{"uid", text_at(set, "/metadata/uid")}}}}.dump()});
  }
}

// A set that is used again gets the next revision, and the Deployment shows its set's revision.
void number_revisions(const Rollout& rollout, Step& step) {
  int64_t revision = revision_of(*rollout.current);
  const auto annotate = [&](const OwnerKind& kind, const Json& object) {
    step.calls.push_back(
        {"PATCH", object_path(kind, object),
         Json{{"metadata",
               {{"uid", text_at(object, "/metadata/uid")}, {"annotations", {{kRevision, std::to_string(revision)}}}}}}
             .dump()});
  };
  if (revision < rollout.newest_revision) {
    revision = rollout.newest_revision + 1;
    annotate(kReplicaSetOwner, *rollout.current);
  }
  if (revision_of(rollout.deployment) != revision) annotate(kDeploymentOwner, rollout.deployment);
}

Json deployment_status(const Rollout& rollout, WallTime now) {
  const int64_t available = rollout.reported("/status/availableReplicas");
  const int64_t total = rollout.reported("/status/replicas");
  const int64_t updated = rollout.current != nullptr ? number_at(*rollout.current, "/status/replicas", 0) : 0;
  const bool enough = available >= rollout.wanted - (rollout.recreate() ? 0 : rollout.unavailable);
  const bool complete = updated == rollout.wanted && total == rollout.wanted && available == rollout.wanted;
  const std::string set = "ReplicaSet \"" + text_at(rollout.deployment, "/metadata/name") + "-" + rollout.hash + "\" ";
  const std::vector<WantedCondition> conditions = {
      {"Available", enough ? "True" : "False", enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
       enough ? "Deployment has minimum availability." : "Deployment does not have minimum availability."},
      {"Progressing", "True", complete ? "NewReplicaSetAvailable" : "ReplicaSetUpdated",
       set + (complete ? "has successfully progressed." : "is progressing.")}};
  return {{"observedGeneration", number_at(rollout.deployment, "/metadata/generation", 0)},
          {"replicas", total},
          {"updatedReplicas", updated},
          {"readyReplicas", rollout.reported("/status/readyReplicas")},
          {"availableReplicas", available},
          {"unavailableReplicas", std::max<int64_t>(0, rollout.specified() - available)},
          {"conditions", with_conditions(rollout.deployment, conditions, now)}};
}

}  // namespace

Step deployment_pass(const Json& deployment, const std::vector<const Json*>& sets, WallTime now) {
  Step step;
  if (deleting(deployment)) return step;
  const Rollout rollout(deployment, sets);
  if (rollout.current == nullptr) {
    if (!rollout.paused()) {
      if (rollout.recreate() && rollout.old_pods() > 0) {
        shrink_old(rollout, step);
      } else {
        step.calls.push_back({"POST",
                              "/apis/apps/v1/namespaces/" + text_at(deployment, "/metadata/namespace") + "/replicasets",
                              new_set(rollout).dump()});
      }
    }
  } else {
    number_revisions(rollout, step);
    const int64_t replicas = rollout.replicas_of_current();
    if (replicas != wanted_of(*rollout.current)) {
      step.calls.push_back(scale_set(*rollout.current, replicas));
    } else if (!rollout.paused()) {
      shrink_old(rollout, step);
    }
    drop_history(rollout, step);
  }
  report(kDeploymentOwner, deployment, deployment_status(rollout, now), step);
  return step;
}

Step replica_set_pass(const Json& set, const std::vector<const Json*>& pods, Random& random) {
  Step step;
  if (deleting(set)) return step;
  const auto wanted = static_cast<size_t>(std::max<int64_t>(0, wanted_of(set)));
  std::vector<const Json*> active;
  for (const Json* pod : pods)
    if (!deleting(*pod) && !finished(*pod)) active.push_back(pod);
  const std::vector<const Json*> counted = active;
  // Pods that are not ready are deleted first, then the youngest.
  std::sort(active.begin(), active.end(), [](const Json* a, const Json* b) {
    if (ready(*a) != ready(*b)) return ready(*a);
    const std::string at_a = text_at(*a, "/metadata/creationTimestamp"),
                      at_b = text_at(*b, "/metadata/creationTimestamp");
    return at_a != at_b ? at_a < at_b : text_at(*a, "/metadata/name") < text_at(*b, "/metadata/name");
  });
  while (active.size() > wanted) {
    step.calls.push_back(delete_pod(*active.back()));
    active.pop_back();
  }
  const size_t missing = std::min(wanted - active.size(), kMaxPodsPerPass);
  const std::string base = (text_at(set, "/metadata/name") + "-").substr(0, kNameBase);
  for (size_t i = 0; i < missing; ++i) {
    Json pod = pod_of(kReplicaSetOwner, set, base + random.name_suffix(), Json::object());
    pod["metadata"]["generateName"] = text_at(set, "/metadata/name") + "-";
    step.calls.push_back(create_pod(pod));
  }
  const auto total = static_cast<int64_t>(counted.size());
  const int64_t available = ready_among(counted);
  report(kReplicaSetOwner, set,
         {{"observedGeneration", number_at(set, "/metadata/generation", 0)},
          {"replicas", total},
          {"fullyLabeledReplicas", total},
          {"readyReplicas", available},
          {"availableReplicas", available}},
         step);
  return step;
}

}  // namespace dra::sandbox
