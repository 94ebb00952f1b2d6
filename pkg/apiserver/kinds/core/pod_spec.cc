#include "pkg/apiserver/kinds/core/pod_spec.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/apiserver/kinds/core/pod_amounts.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/go_render.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/apiserver/validation/node_selector.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

void check_choice(FieldErrors& out, const FieldPath& path, const std::string& value,
                  const std::vector<std::string>& choices) {
  if (value.empty()) {
    out.push_back(required(path, ""));
    return;
  }
  for (const auto& c : choices) {
    if (c == value) return;
  }
  out.push_back(not_supported(path, value, choices));
}

void check_volumes(FieldErrors& out, const FieldPath& path, const Json& volumes) {
  std::set<std::string> seen;
  for (size_t i = 0; i < volumes.size(); ++i) {
    const FieldPath at = path.index(i).child("name");
    const std::string& name = text_of(volumes[i], "name");
    if (name.empty()) {
      out.push_back(required(at, ""));
      continue;
    }
    add_problems(out, at, name, dns_label_problems(name));
    if (!seen.insert(name).second) out.push_back(duplicate(at, name));
  }
}

void check_gates(FieldErrors& out, const FieldPath& path, const Json& gates) {
  std::set<std::string> seen;
  for (size_t i = 0; i < gates.size(); ++i) {
    const std::string& name = text_of(gates[i], "name");
    add_problems(out, path.index(i), name, qualified_name_problems(name));
    if (!seen.insert(name).second) out.push_back(duplicate(path.index(i), name));
  }
}

void check_subdomain_if_set(FieldErrors& out, const FieldPath& path, const Json& spec, const char* key) {
  const std::string& name = text_of(spec, key);
  if (!name.empty()) add_problems(out, path.child(key), name, dns_subdomain_problems(name));
}

void check_toleration_effect(FieldErrors& out, const FieldPath& path, const std::string& effect) {
  if (effect.empty() || effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute") return;
  out.push_back(not_supported(path, effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"}));
}

void check_one_toleration(FieldErrors& out, const FieldPath& path, const Json& t) {
  const std::string& key = text_of(t, "key");
  const std::string& op = text_of(t, "operator");
  const std::string& value = text_of(t, "value");
  const std::string& effect = text_of(t, "effect");
  if (!key.empty()) check_label_name(out, path.child("key"), key);
  if (key.empty() && op != "Exists") {
    out.push_back(invalid(path.child("operator"), op,
                          "operator must be Exists when `key` is empty, which means \"match all values and all "
                          "keys\""));
  }
  if (is_set(t, "tolerationSeconds") && effect != "NoExecute") {
    out.push_back(invalid(path.child("effect"), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
  }
  if (op.empty() || op == "Equal") {
    const Problems problems = label_value_problems(value);
    if (!problems.empty()) out.push_back(invalid(path.child("operator"), value, join(problems, ";")));
  } else if (op == "Exists") {
    if (!value.empty()) {
      out.push_back(invalid(path.child("operator"), value, "value must be empty when `operator` is 'Exists'"));
    }
  } else {
    out.push_back(not_supported(path.child("operator"), op, {"Equal", "Exists"}));
  }
  check_toleration_effect(out, path.child("effect"), effect);
}

void check_node_affinity(FieldErrors& out, const FieldPath& path, const Json& affinity) {
  constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  constexpr const char* kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
  if (is_set(affinity, kRequired)) check_node_selector(out, path.child(kRequired), member(affinity, kRequired));
  const Json& preferred = list_of(affinity, kPreferred);
  for (size_t i = 0; i < preferred.size(); ++i) {
    const FieldPath at = path.child(kPreferred).index(i);
    const int64_t weight = int_of(preferred[i], "weight");
    if (weight <= 0 || weight > 100) {
      out.push_back(invalid_value(at.child("weight"), weight, "must be in the range 1-100"));
    }
    check_node_selector_term(out, at.child("preference"), member(preferred[i], "preference"));
  }
}

}  // namespace

void check_tolerations(FieldErrors& out, const FieldPath& path, const Json& tolerations) {
  for (size_t i = 0; i < count_of(tolerations); ++i) check_one_toleration(out, path.index(i), tolerations[i]);
}

void check_pod_claims(FieldErrors& out, const FieldPath& path, const Json& claims) {
  std::set<std::string> seen;
  for (size_t i = 0; i < count_of(claims); ++i) {
    const FieldPath at = path.index(i);
    const std::string& name = text_of(claims[i], "name");
    if (name.empty()) {
      out.push_back(required(at.child("name"), ""));
    } else {
      if (!seen.insert(name).second) out.push_back(duplicate(at.child("name"), name));
      add_problems(out, at.child("name"), name, dns_label_problems(name));
    }
    const bool by_name = is_set(claims[i], "resourceClaimName");
    const bool by_template = is_set(claims[i], "resourceClaimTemplateName");
    if (by_name == by_template) {
      out.push_back(
          invalid_raw(at, render_go("PodResourceClaim", claims[i]),
                      by_name ? "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
                              : "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"));
    }
    for (const char* key : {"resourceClaimName", "resourceClaimTemplateName"}) {
      if (is_set(claims[i], key)) {
        add_problems(out, at.child(key), text_of(claims[i], key), dns_subdomain_problems(text_of(claims[i], key)));
      }
    }
  }
}

void check_affinity(FieldErrors& out, const FieldPath& path, const Json& affinity) {
  if (is_set(affinity, "nodeAffinity")) {
    check_node_affinity(out, path.child("nodeAffinity"), member(affinity, "nodeAffinity"));
  }
}

void check_spreading(FieldErrors& out, const FieldPath& path, const Json& constraints) {
  size_t i = 0;
  for (const Json& constraint : constraints) {
    const FieldPath at = path.index(i++);
    const int64_t skew = int_of(constraint, "maxSkew");
    if (skew <= 0) out.push_back(invalid_value(at.child("maxSkew"), skew, "must be greater than zero"));
    const std::string& key = text_of(constraint, "topologyKey");
    if (key.empty()) {
      out.push_back(required(at.child("topologyKey"), "can not be empty"));
    } else {
      check_label_name(out, at.child("topologyKey"), key);
    }
    const std::string& action = text_of(constraint, "whenUnsatisfiable");
    if (action != "DoNotSchedule" && action != "ScheduleAnyway") {
      out.push_back(not_supported(at.child("whenUnsatisfiable"), action, {"DoNotSchedule", "ScheduleAnyway"}));
    }
  }
}

void check_pod_spec(FieldErrors& out, const FieldPath& path, const Json& spec) {
  check_volumes(out, path.child("volumes"), list_of(spec, "volumes"));
  check_pod_claims(out, path.child("resourceClaims"), member(spec, "resourceClaims"));
  check_containers(out, path, spec);
  check_pod_level_resources(out, path.child("resources"), spec);
  check_choice(out, path.child("restartPolicy"), text_of(spec, "restartPolicy"), {"Always", "OnFailure", "Never"});
  check_choice(out, path.child("dnsPolicy"), text_of(spec, "dnsPolicy"),
               {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"});
  check_labels(out, path.child("nodeSelector"), member(spec, "nodeSelector"));
  check_affinity(out, path.child("affinity"), member(spec, "affinity"));
  check_gates(out, path.child("schedulingGates"), list_of(spec, "schedulingGates"));
  check_subdomain_if_set(out, path, spec, "serviceAccountName");
  check_subdomain_if_set(out, path, spec, "nodeName");
  if (is_set(spec, "activeDeadlineSeconds")) {
    const int64_t seconds = int_of(spec, "activeDeadlineSeconds");
    for (const auto& p : range_problems(seconds, 1, std::numeric_limits<int32_t>::max())) {
      out.push_back(invalid_value(path.child("activeDeadlineSeconds"), seconds, p));
    }
  }
  const std::string& host = text_of(spec, "hostname");
  if (!host.empty()) add_problems(out, path.child("hostname"), host, dns_label_problems(host));
  check_tolerations(out, path.child("tolerations"), member(spec, "tolerations"));
  check_spreading(out, path.child("topologySpreadConstraints"), list_of(spec, "topologySpreadConstraints"));
  check_subdomain_if_set(out, path, spec, "priorityClassName");
}

}  // namespace dra::apiserver
