// The parts that PodGroups and Workloads share (k8s.io/kubernetes/pkg/apis/scheduling/v1alpha2, generated validation).
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/scheduling/kinds.h"
#include "pkg/apiserver/model/release.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

std::string version_of_pod_groups() {
  return served_release() >= 37 ? "v1beta1" : "v1alpha2";
}

std::string group_version_of_pod_groups() {
  return "scheduling.k8s.io/" + version_of_pod_groups();
}

void check_scheduling_policy(FieldErrors& out, const FieldPath& path, const Json& policy) {
  const bool basic = is_set(policy, "basic"), gang = is_set(policy, "gang");
  if (!basic && !gang) out.push_back(invalid(path, "", "must specify one of: `basic`, `gang`"));
  if (basic && gang) out.push_back(invalid(path, "{basic, gang}", "must specify exactly one of: `basic`, `gang`"));
  if (!gang) return;
  const FieldPath at = path.child("gang").child("minCount");
  const int64_t count = int_of(member(policy, "gang"), "minCount");
  if (count == 0) out.push_back(required(at, ""));
  if (count < 0) out.push_back(invalid_value(at, count, "must be greater than or equal to 1"));
}

void check_scheduling_constraints(FieldErrors& out, const FieldPath& path, const Json& constraints) {
  const FieldPath topology = path.child("topology");
  const Json& levels = list_of(constraints, "topology");
  if (levels.size() > 1) return out.push_back(too_many(topology, static_cast<int64_t>(levels.size()), 1));
  for (const Json& level : levels) {
    const FieldPath at = topology.index(0).child("key");
    const std::string& key = text_of(level, "key");
    if (key.empty())
      out.push_back(required(at, ""));
    else
      check_label_name(out, at, key);
  }
}

void drop_disabled_group_fields(Json& spec) {
  if (!spec.is_object()) return;
  for (const char* key : {"resourceClaims", "disruptionMode", "priorityClassName", "priority", "preemptionPolicy",
                          "parentCompositePodGroupName", "compositePodGroupTemplates"})
    spec.erase(key);
}

void check_unchanged(FieldErrors& out, const FieldPath& path, const Json& value, const Json& old) {
  if (!semantic_equal(value, old)) out.push_back(invalid_value(path, nullptr, "field is immutable"));
}

void check_short_name(FieldErrors& out, const FieldPath& path, const Json& object, const char* key) {
  const std::string& name = text_of(object, key);
  if (name.empty()) return out.push_back(required(path.child(key), ""));
  add_problems(out, path.child(key), name, dns_label_problems(name));
}

void check_long_name(FieldErrors& out, const FieldPath& path, const Json& object, const char* key) {
  const std::string& name = text_of(object, key);
  if (name.empty()) return out.push_back(required(path.child(key), ""));
  add_problems(out, path.child(key), name, dns_subdomain_problems(name));
}

void add_scheduling_kinds(KindRegistry& registry) {
  registry.add(make_priority_class_kind());
  registry.add(make_pod_group_kind());
  registry.add(make_workload_kind());
}

}  // namespace dra::apiserver
