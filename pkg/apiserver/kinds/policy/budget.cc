#include "pkg/apiserver/kinds/policy/budget.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

namespace {

constexpr const char* kAllowed = "DisruptionAllowed";
constexpr size_t kMostDisrupted = 2000;

// Replaces a condition; its time stays if its status does (meta.SetStatusCondition).
void set_condition(Json& status, const std::string& value, const std::string& reason, const std::string& message,
                   int64_t generation, Timestamp now) {
  Json& conditions = status["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  Json made = {{"type", kAllowed},
               {"status", value},
               {"observedGeneration", generation},
               {"lastTransitionTime", format_rfc3339(now)},
               {"reason", reason},
               {"message", message}};
  if (generation == 0) made.erase("observedGeneration");
  for (Json& old : conditions) {
    if (text_of(old, "type") != kAllowed) continue;
    if (text_of(old, "status") == value) made["lastTransitionTime"] = old["lastTransitionTime"];
    old = std::move(made);
    return;
  }
  conditions.push_back(std::move(made));
}

void set_allowed_condition(Json& status, Timestamp now) {
  const bool some = int_of(status, "disruptionsAllowed") > 0;
  set_condition(status, some ? "True" : "False", some ? "SufficientPods" : "InsufficientPods", "",
                int_of(status, "observedGeneration"), now);
}

// What counts of a selected pod.
struct CountedPod {
  std::string name;
  bool leaves = false;
  bool ready = false;
  Json controller;  // its ownerReference, or null
};

Json controller_of(const Json& object) {
  for (const Json& owner : list_of(member(object, "metadata"), "ownerReferences")) {
    if (bool_of(owner, "controller")) return owner;
  }
  return nullptr;
}

int64_t replicas_of(const Json& object) {
  const Json& spec = member(object, "spec");
  return is_set(spec, "replicas") ? int_of(spec, "replicas") : 1;
}

struct Scale {
  std::string uid;
  int64_t replicas = 0;
};

// The controller that counts for a pod: the Deployment of its ReplicaSet, the ReplicaSet, the StatefulSet.
tl::expected<Scale, std::string> scale_of(const ObjectReader& reader, const KindRegistry& kinds, const Json& owner,
                                          const std::string& ns, const std::string& pod) {
  const std::string version = text_of(owner, "apiVersion");
  const std::string& kind = text_of(owner, "kind");
  const size_t slash = version.find('/');
  const std::string group = slash == std::string::npos ? "" : version.substr(0, slash);
  const auto found = std::find_if(kinds.kinds().begin(), kinds.kinds().end(), [&](const auto& one) {
    return one->info().kind == kind && one->info().group == group;
  });
  if (found == kinds.kinds().end()) {
    return tl::unexpected("no matches for kind \"" + kind + "\" in version \"" + version + "\"");
  }
  const std::string& plural = (*found)->info().plural;
  if (group != "apps" || (kind != "ReplicaSet" && kind != "StatefulSet" && kind != "Deployment")) {
    return tl::unexpected(plural + (group.empty() ? "" : "." + group) + " does not implement the scale subresource");
  }
  const auto controller = reader.find(group, plural, ns, text_of(owner, "name"));
  if (!controller || text_of(member(*controller, "metadata"), "uid") != text_of(owner, "uid")) {
    return tl::unexpected("found no controllers for pod \"" + pod + "\"");
  }
  if (const Json above = controller_of(*controller); kind == "ReplicaSet" && text_of(above, "kind") == "Deployment") {
    return scale_of(reader, kinds, above, ns, pod);
  }
  return Scale{text_of(owner, "uid"), replicas_of(*controller)};
}

// The sum of what the pods' controllers ask for; bare pods do not count.
tl::expected<int64_t, std::string> expected_scale(const ObjectReader& reader, const KindRegistry& kinds,
                                                  const std::string& ns, const std::vector<CountedPod>& pods) {
  std::map<std::string, int64_t> scales;
  for (const CountedPod& pod : pods) {
    if (pod.controller.is_null()) continue;
    const auto scale = scale_of(reader, kinds, pod.controller, ns, pod.name);
    if (!scale) return tl::unexpected(scale.error());
    scales[scale->uid] = scale->replicas;
  }
  int64_t sum = 0;
  for (const auto& [uid, replicas] : scales) sum += replicas;
  return sum;
}

// A number, or a percentage of `total`, rounded up.
int64_t scaled(const Json& value, int64_t total) {
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_string()) return 0;
  const std::string& text = as_text(value);
  int64_t percent = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || percent > 100) break;
    percent = percent * 10 + (c - '0');
  }
  return (total * percent + 99) / 100;
}

struct Counts {
  int64_t expected = 0;
  int64_t desired = 0;
};

tl::expected<Counts, std::string> counts_of(const ObjectReader& reader, const KindRegistry& kinds, const Json& budget,
                                            const std::vector<CountedPod>& pods) {
  const Json& spec = member(budget, "spec");
  const Json& most = member(spec, "maxUnavailable");
  const Json& least = member(spec, "minAvailable");
  if (most.is_null() && least.is_null()) return Counts{};
  if (most.is_null() && least.is_number_integer()) {
    return Counts{static_cast<int64_t>(pods.size()), least.get<int64_t>()};
  }
  const auto expected = expected_scale(reader, kinds, text_of(member(budget, "metadata"), "namespace"), pods);
  if (!expected) return tl::unexpected(expected.error());
  if (most.is_null()) return Counts{*expected, scaled(least, *expected)};
  return Counts{*expected, std::max<int64_t>(0, *expected - scaled(most, *expected))};
}

}  // namespace

bool budget_selects(const Json& budget, const Json& pod) {
  const Json& selector = member(member(budget, "spec"), "selector");
  return selector.is_object() && label_selector_matches(selector, map_of(member(pod, "metadata"), "labels"));
}

bool pod_is_ready(const Json& pod) {
  for (const Json& condition : list_of(member(pod, "status"), "conditions")) {
    if (text_of(condition, "type") == "Ready") return text_of(condition, "status") == "True";
  }
  return false;
}

Json budget_status(const ObjectReader& reader, const KindRegistry& kinds, const Json& budget, Timestamp now,
                   std::optional<Timestamp>& again) {
  const Json& meta = member(budget, "metadata");
  const Json& before = member(budget, "status");
  std::vector<CountedPod> pods;
  reader.for_each("", "pods", text_of(meta, "namespace"), [&](const Json& pod) {
    if (!budget_selects(budget, pod)) return;
    const Json& pod_meta = member(pod, "metadata");
    pods.push_back(
        {text_of(pod_meta, "name"), is_set(pod_meta, "deletionTimestamp"), pod_is_ready(pod), controller_of(pod)});
  });
  Json status = before.is_object() ? before : Json::object();
  const auto counts = counts_of(reader, kinds, budget, pods);
  if (!counts) {
    status["disruptionsAllowed"] = 0;
    for (const char* name : {"currentHealthy", "desiredHealthy", "expectedPods"}) set_default(status, name, 0);
    set_condition(status, "False", "SyncFailed", counts.error(), int_of(before, "observedGeneration"), now);
    return status;
  }
  Json disrupted = Json::object();
  int64_t healthy = 0;
  for (const CountedPod& pod : pods) {
    if (pod.leaves) continue;
    const std::string& when = text_of(map_of(before, "disruptedPods"), pod.name);
    Timestamp since{};
    if (parse_rfc3339(when, since) && since + kDisruptedFor >= now) {
      disrupted[pod.name] = when;
      if (!again || since + kDisruptedFor < *again) again = since + kDisruptedFor;
      if (since + kDisruptedFor > now) continue;
    }
    healthy += pod.ready ? 1 : 0;
  }
  const int64_t allowed = counts->expected <= 0 ? 0 : std::max<int64_t>(0, healthy - counts->desired);
  status["currentHealthy"] = healthy;
  status["desiredHealthy"] = counts->desired;
  status["expectedPods"] = counts->expected;
  status["disruptionsAllowed"] = allowed;
  status["observedGeneration"] = int_of(meta, "generation");
  status.erase("disruptedPods");
  if (!disrupted.empty()) status["disruptedPods"] = std::move(disrupted);
  set_allowed_condition(status, now);
  return status;
}

Status still_processed(const std::string& budget) {
  Status refused = too_many_requests("Cannot evict pod as it would violate the pod's disruption budget.");
  refused.retry_after_seconds = 10;
  refused.causes.push_back(
      {"DisruptionBudget", "The disruption budget " + budget + " is still being processed by the server.", ""});
  return refused;
}

namespace {

Status refusal_of(const std::string& name, const Json& status) {
  Status refused = too_many_requests("Cannot evict pod as it would violate the pod's disruption budget.");
  refused.retry_after_seconds = 0;
  const Json* condition = nullptr;
  for (const Json& one : list_of(status, "conditions")) {
    if (text_of(one, "type") == kAllowed && text_of(one, "status") == "False" && !text_of(one, "message").empty()) {
      condition = &one;
    }
  }
  std::string why = "The disruption budget " + name + " does not allow evicting pods currently";
  const int64_t needed = int_of(status, "desiredHealthy"), healthy = int_of(status, "currentHealthy");
  if (condition != nullptr && text_of(*condition, "reason") == "SyncFailed") {
    why += " because it failed sync: " + text_of(*condition, "message");
  } else if (healthy <= needed) {
    why = "The disruption budget " + name + " needs " + std::to_string(needed) + " healthy pods and has " +
          std::to_string(healthy) + " currently";
  } else if (condition != nullptr) {
    why += " (" + text_of(*condition, "reason") + "): " + text_of(*condition, "message");
  }
  refused.causes.push_back({"DisruptionBudget", why, ""});
  return refused;
}

}  // namespace

StatusOr<Json> status_after_eviction(const Json& budget, const std::string& pod, Timestamp now) {
  const Json& meta = member(budget, "metadata");
  const std::string& name = text_of(meta, "name");
  Json status = member(budget, "status").is_object() ? member(budget, "status") : Json::object();
  if (int_of(status, "observedGeneration") < int_of(meta, "generation")) return fail_status(still_processed(name));
  const GroupResource resource{"policy", "poddisruptionbudget"};
  if (int_of(status, "disruptionsAllowed") < 0) {
    return fail_status(forbidden_status(resource, name, "pdb disruptions allowed is negative"));
  }
  if (map_of(status, "disruptedPods").size() > kMostDisrupted) {
    return fail_status(forbidden_status(
        resource, name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller"));
  }
  if (int_of(status, "disruptionsAllowed") == 0) return fail_status(refusal_of(name, status));
  status["disruptionsAllowed"] = int_of(status, "disruptionsAllowed") - 1;
  if (int_of(status, "disruptionsAllowed") == 0) set_allowed_condition(status, now);
  object_member(status, "disruptedPods")[pod] = format_rfc3339(now);
  return status;
}

}  // namespace dra::apiserver
