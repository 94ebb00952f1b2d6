// Which parts of an existing pod may change (ValidatePodUpdate), and what its status must match.
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>

#include "pkg/apiserver/kinds/core/pod_spec.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

constexpr std::string_view kOnlyTheseFields =
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

void check_deadline(FieldErrors& out, const FieldPath& path, const Json& spec, const Json& old) {
  const Json& now = member(spec, "activeDeadlineSeconds");
  const Json& before = member(old, "activeDeadlineSeconds");
  if (now.is_null()) {
    if (!before.is_null()) {
      out.push_back(invalid_value(path, nullptr, "must not update from a positive integer to nil value"));
    }
    return;
  }
  const int64_t seconds = int_of(spec, "activeDeadlineSeconds");
  if (!before.is_null() && int_of(old, "activeDeadlineSeconds") < seconds) {
    out.push_back(invalid_value(path, seconds, "must be less than or equal to previous value"));
  }
}

// Tolerations with the same text count as equal: only NoExecute has tolerationSeconds, and those may change.
std::string toleration_text(const Json& toleration) {
  Json compared = Json::array();
  for (const char* field : {"key", "operator", "value", "effect"}) compared.push_back(text_of(toleration, field));
  if (text_of(toleration, "effect") != "NoExecute") compared.push_back(member(toleration, "tolerationSeconds"));
  return compact_text(compared);
}

void check_tolerations_kept(FieldErrors& out, const FieldPath& path, const Json& spec, const Json& old) {
  std::unordered_set<std::string> now;
  for (const auto& toleration : list_of(spec, "tolerations")) now.insert(toleration_text(toleration));
  for (const auto& before : list_of(old, "tolerations")) {
    if (now.contains(toleration_text(before))) continue;
    out.push_back(forbidden(path, "existing toleration can not be modified except its tolerationSeconds"));
    return;
  }
}

void check_gates_removed(FieldErrors& out, const FieldPath& path, const Json& spec, const Json& old) {
  std::set<std::string> before;
  for (const auto& g : list_of(old, "schedulingGates")) before.insert(text_of(g, "name"));
  const Json& gates = list_of(spec, "schedulingGates");
  for (size_t i = 0; i < gates.size(); ++i) {
    const std::string& name = text_of(gates[i], "name");
    if (before.contains(name)) continue;
    out.push_back(forbidden(path.index(i).child("name"),
                            "only deletion is allowed, but found new scheduling gate '" + name + "'"));
  }
}

bool starts_with_items(const Json& longer, const Json& prefix) {
  if (longer.size() < prefix.size()) return false;
  for (size_t i = 0; i < prefix.size(); ++i) {
    if (!semantic_equal(longer[i], prefix[i])) return false;
  }
  return true;
}

// Terms are or-ed, requirements and-ed: only a longer term is more restrictive.
bool only_additions(const Json& term, const Json& old) {
  const Json& old_expressions = list_of(old, "matchExpressions");
  const Json& old_fields = list_of(old, "matchFields");
  const Json& expressions = list_of(term, "matchExpressions");
  const Json& fields = list_of(term, "matchFields");
  // A term without requirements matches nothing; adding to it would widen the match.
  if (old_expressions.empty() && old_fields.empty()) return expressions.empty() && fields.empty();
  return starts_with_items(expressions, old_expressions) && starts_with_items(fields, old_fields);
}

void check_affinity_narrowed(FieldErrors& out, const FieldPath& path, const Json& spec, const Json& old) {
  constexpr const char* kTerms = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
  const Json& before = list_of(member_at(old, kTerms), "nodeSelectorTerms");
  if (before.empty()) return;
  const Json& now = list_of(member_at(spec, kTerms), "nodeSelectorTerms");
  const FieldPath at = path.child("requiredDuringSchedulingIgnoredDuringExecution").child("nodeSelectorTerms");
  if (now.size() != before.size()) {
    out.push_back(invalid_value(at, now, "no additions/deletions to non-empty NodeSelectorTerms list are allowed"));
    return;
  }
  for (size_t i = 0; i < now.size(); ++i) {
    if (only_additions(now[i], before[i])) continue;
    out.push_back(invalid_value(at.index(i), now[i], "only additions are allowed (no mutations or deletions)"));
  }
}

void check_node_selector_added(FieldErrors& out, const FieldPath& path, const Json& spec, const Json& old) {
  const Json& now = map_of(spec, "nodeSelector");
  for (const auto& [key, value] : map_of(old, "nodeSelector").items()) {
    if (is_set(now, key) && now.at(key) == value) continue;
    out.push_back(
        invalid_value(path, now, "only additions to spec.nodeSelector are allowed (no mutations or deletions)"));
    return;
  }
}

void copy_member(Json& to, const Json& from, const char* key) {
  if (is_set(from, key)) {
    to[key] = member(from, key);
  } else {
    to.erase(key);
  }
}

void copy_images(Json& to, const Json& from, const char* key) {
  if (!to.contains(key) || !to[key].is_array()) return;
  const Json& old = list_of(from, key);
  for (size_t i = 0; i < to[key].size() && i < old.size(); ++i) copy_member(to[key][i], old[i], "image");
}

// The new spec with all permitted changes undone; any remaining difference is an error. Gated pods may be narrowed.
Json munged_spec(const Json& spec, const Json& old, bool gated) {
  Json out = spec;
  copy_images(out, old, "containers");
  copy_images(out, old, "initContainers");
  for (const char* key : {"activeDeadlineSeconds", "tolerations", "schedulingGates", "ephemeralContainers"}) {
    copy_member(out, old, key);
  }
  if (int_of(old, "terminationGracePeriodSeconds") < 0 && int_of(spec, "terminationGracePeriodSeconds") == 1) {
    copy_member(out, old, "terminationGracePeriodSeconds");
  }
  if (gated) {
    copy_member(out, old, "nodeSelector");
    Json& affinity = object_member(out, "affinity");
    copy_member(affinity, member(old, "affinity"), "nodeAffinity");
    if (affinity.empty()) out.erase("affinity");
  }
  return out;
}

void check_extended_status(FieldErrors& out, const FieldPath& path, const Json& status, const Json& spec) {
  const std::string& claim = text_of(status, "resourceClaimName");
  add_problems(out, path.child("resourceClaimName"), claim, dns_subdomain_problems(claim));
  const Json& mappings = list_of(status, "requestMappings");
  const FieldPath at = path.child("requestMappings");
  if (mappings.empty()) out.push_back(required(at, "at least one request mapping is required"));
  std::set<std::string> seen;
  for (size_t i = 0; i < mappings.size(); ++i) {
    const std::string& container = text_of(mappings[i], "containerName");
    const std::string& resource = text_of(mappings[i], "resourceName");
    const std::string& request = text_of(mappings[i], "requestName");
    bool known = false;
    bool requested = false;
    for (const char* key : {"initContainers", "containers"}) {
      for (const auto& c : list_of(spec, key)) {
        if (text_of(c, "name") != container) continue;
        known = true;
        requested = requested || is_set(member_at(c, "resources.requests"), resource);
      }
    }
    if (!known) {
      out.push_back(invalid(at.index(i).child("containerName"), container,
                            "must match the name of an entry in spec.initContainers.name or spec.containers.name"));
    }
    if (!requested) {
      out.push_back(invalid(at.index(i).child("resourceName"), resource,
                            "must match the extended resource name of an entry in "
                            "spec.initContainers.resources.requests or spec.containers.resources.requests"));
    }
    add_problems(out, path.child("requestName"), request, dns_label_problems(request));
    if (!seen.insert(container + "/" + resource + "/" + request).second) {
      out.push_back(duplicate(at.index(i).child("containerName"), container));
      out.push_back(duplicate(at.index(i).child("resourceName"), resource));
      out.push_back(duplicate(at.index(i).child("requestName"), request));
    }
  }
}

}  // namespace

void check_pod_update(FieldErrors& out, const Json& pod, const Json& old_pod) {
  const FieldPath path("spec");
  const Json& spec = member(pod, "spec");
  const Json& old = member(old_pod, "spec");
  for (const char* key : {"containers", "initContainers"}) {
    const Json& containers = list_of(spec, key);
    if (containers.size() != list_of(old, key).size()) {
      out.push_back(forbidden(path.child(key), "pod updates may not add or remove containers"));
      return;
    }
    // In addition to the spec's own rules: ValidateContainerUpdates.
    for (size_t i = 0; i < containers.size(); ++i)
      if (text_of(containers[i], "image").empty()) out.push_back(required(path.child(key).index(i).child("image"), ""));
  }
  check_deadline(out, path.child("activeDeadlineSeconds"), spec, old);
  check_tolerations_kept(out, path.child("tolerations"), spec, old);
  check_gates_removed(out, path.child("schedulingGates"), spec, old);
  const bool gated = !list_of(old, "schedulingGates").empty();
  if (gated) {
    check_node_selector_added(out, path.child("nodeSelector"), spec, old);
    check_affinity_narrowed(out, path.child("affinity").child("nodeAffinity"), spec, old);
  }
  Json old_spec = old;
  if (gated && old_spec.is_object() && is_set(old_spec, "affinity") && member(old_spec, "affinity").empty()) {
    old_spec.erase("affinity");
  }
  if (!semantic_equal(munged_spec(spec, old, gated), old_spec)) out.push_back(forbidden(path, kOnlyTheseFields));
}

void check_nominated_node(FieldErrors& out, const Json& pod, const Json& old) {
  const std::string& node = text_of(member(pod, "status"), "nominatedNodeName");
  if (node.empty() || node == text_of(member(old, "status"), "nominatedNodeName")) return;
  add_problems(out, FieldPath("status.nominatedNodeName"), node, dns_subdomain_problems(node));
  if (!text_of(member(old, "spec"), "nodeName").empty()) {
    out.push_back(
        forbidden(FieldPath("status.nominatedNodeName"), "may not be set on pods that are already bound to a node"));
  }
}

void check_pod_status(FieldErrors& out, const Json& pod) {
  const Json& status = member(pod, "status");
  const Json& spec = member(pod, "spec");
  std::set<std::string> names;
  for (const auto& c : list_of(spec, "resourceClaims")) names.insert(text_of(c, "name"));
  const Json& statuses = list_of(status, "resourceClaimStatuses");
  std::set<std::string> seen;
  for (size_t i = 0; i < statuses.size(); ++i) {
    const FieldPath at = FieldPath("status.resourceClaimStatuses").index(i);
    const std::string& name = text_of(statuses[i], "name");
    if (!names.contains(name)) {
      out.push_back(invalid(at.child("name"), name, "must match the name of an entry in `spec.resourceClaims`"));
    }
    if (!seen.insert(name).second) out.push_back(duplicate(at.child("name"), name));
    if (is_set(statuses[i], "resourceClaimName")) {
      const std::string& claim = text_of(statuses[i], "resourceClaimName");
      add_problems(out, at.child("resourceClaimName"), claim, dns_subdomain_problems(claim));
    }
  }
  size_t at = 0;
  for (const Json& ip : list_of(status, "podIPs")) {
    const std::string& text = text_of(ip, "ip");
    const FieldPath path = FieldPath("status.podIPs").index(at++);
    if (!is_address(text))
      out.push_back(invalid(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
  }
  const Json& extended = member(status, "extendedResourceClaimStatus");
  if (!extended.is_null()) {
    check_extended_status(out, FieldPath("status.extendedResourceClaimStatus"), extended, spec);
  }
}

}  // namespace dra::apiserver
