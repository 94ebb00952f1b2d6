// The parts that PodGroups and Workloads share (k8s.io/kubernetes/pkg/apis/scheduling/v1alpha2, generated validation).
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/scheduling/kinds.h"
#include "pkg/apiserver/model/json_text.h"
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

KindInfo scheduling_kind_info(const std::string& kind, const std::string& plural, const std::string& singular) {
  const std::string version = version_of_pod_groups();
  KindInfo info = kind_info({"scheduling.k8s.io", version}, "scheduling/" + version, kind, plural, singular, true);
  if (serves_gate(kCompositeGate))
    info.served.push_back({{"scheduling.k8s.io", "v1alpha3"}, "scheduling/v1alpha3", ""});
  return info;
}

void check_scheduling_policy(FieldErrors& out, const FieldPath& path, const Json& policy, const char* count_field) {
  const bool basic = is_set(policy, "basic"), gang = is_set(policy, "gang");
  if (!basic && !gang) out.push_back(invalid(path, "", "must specify one of: `basic`, `gang`"));
  if (basic && gang) out.push_back(invalid(path, "{basic, gang}", "must specify exactly one of: `basic`, `gang`"));
  if (!gang) return;
  const FieldPath at = path.child("gang").child(count_field);
  const int64_t count = int_of(member(policy, "gang"), count_field);
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

void check_group_claims(FieldErrors& out, const FieldPath& path, const Json& spec) {
  constexpr size_t kMaxGroupClaims = 4;
  const FieldPath list = path.child("resourceClaims");
  const Json& claims = list_of(spec, "resourceClaims");
  if (claims.size() > kMaxGroupClaims)
    return out.push_back(too_many(list, static_cast<int64_t>(claims.size()), kMaxGroupClaims));
  std::set<std::string> names;
  for (size_t i = 0; i < claims.size(); ++i) {
    const Json& claim = claims[i];
    const FieldPath at = list.index(i);
    if (!names.insert(text_of(claim, "name")).second) out.push_back(duplicate_raw(at, compact_text(claim)));
    const bool named = is_set(claim, "resourceClaimName"), made = is_set(claim, "resourceClaimTemplateName");
    if (!named && !made)
      out.push_back(invalid(at, "", "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"));
    if (named && made)
      out.push_back(invalid(at, "{resourceClaimName, resourceClaimTemplateName}",
                            "must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`"));
    check_short_name(out, at, claim, "name");
    for (const char* key : {"resourceClaimName", "resourceClaimTemplateName"})
      if (is_set(claim, key))
        add_problems(out, at.child(key), text_of(claim, key), dns_subdomain_problems(text_of(claim, key)));
  }
}

void drop_disabled_group_fields(Json& spec, const Json& old_spec) {
  if (!spec.is_object()) return;
  if (!serves_gate(kGroupClaimsGate) && list_of(old_spec, "resourceClaims").empty()) spec.erase("resourceClaims");
  if (served_release() >= 37) return;
  for (const char* key : {"disruptionMode", "priorityClassName", "priority"}) spec.erase(key);
}

void check_group_fields_of_137(FieldErrors& out, const FieldPath& path, const Json& spec) {
  constexpr int64_t kHighestOfUsers = 1000000000;
  if (served_release() < 37) return;
  if (is_set(spec, "disruptionMode")) {
    const Json& mode = member(spec, "disruptionMode");
    const bool single = is_set(mode, "single"), all = is_set(mode, "all");
    const FieldPath at = path.child("disruptionMode");
    if (!single && !all) out.push_back(invalid(at, "", "must specify one of: `all`, `single`"));
    if (single && all) out.push_back(invalid(at, "{single, all}", "must specify exactly one of: `all`, `single`"));
  }
  if (const std::string& name = text_of(spec, "priorityClassName"); !name.empty())
    add_problems(out, path.child("priorityClassName"), name, dns_subdomain_problems(name));
  if (const int64_t priority = int_of(spec, "priority"); priority > kHighestOfUsers)
    out.push_back(invalid_value(path.child("priority"), priority, "must be less than or equal to 1000000000"));
  if (is_set(spec, "preemptionPolicy")) out.push_back(forbidden(path.child("preemptionPolicy"), ""));
  for (const char* key : {"parentCompositePodGroupName", "compositePodGroupTemplates"})
    if (is_set(spec, key) && !serves_gate(kCompositeGate)) out.push_back(forbidden(path.child(key), ""));
  if (const std::string& parent = text_of(spec, "parentCompositePodGroupName");
      is_set(spec, "parentCompositePodGroupName") && serves_gate(kCompositeGate))
    add_problems(out, path.child("parentCompositePodGroupName"), parent, dns_subdomain_problems(parent));
}

std::optional<std::string> why_no_template(const WriteContext& ctx, const std::string& workload,
                                           const std::string& wanted, bool composite) {
  const auto found = ctx.reader->find("scheduling.k8s.io", "workloads", ctx.namespace_, workload);
  if (!found) return "Workload \"" + workload + "\" not found";
  if (is_set(member(*found, "metadata"), "deletionTimestamp")) return "Workload \"" + workload + "\" is being deleted";
  const std::function<bool(const Json&, int)> has = [&](const Json& holder, int depth) {
    const char* own = composite ? "compositePodGroupTemplates" : "podGroupTemplates";
    for (const Json& one : list_of(holder, own))
      if (text_of(one, "name") == wanted) return true;
    if (depth >= kMaxTemplateDepth) return false;
    for (const Json& one : list_of(holder, "compositePodGroupTemplates"))
      if (has(one, depth + 1)) return true;
    return false;
  };
  if (has(member(*found, "spec"), 1)) return std::nullopt;
  return std::string(composite ? "CompositePodGroupTemplate" : "PodGroupTemplate") + " \"" + wanted +
         "\" not found in Workload \"" + workload + "\"";
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
  if (serves_gate(kCompositeGate)) registry.add(make_composite_pod_group_kind());
}

}  // namespace dra::apiserver
