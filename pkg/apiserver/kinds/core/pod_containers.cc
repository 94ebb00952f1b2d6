// Containers: names, images, ports, environment, volume mounts, resources and their claims.
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/api/quantity.h"
#include "pkg/apiserver/kinds/core/pod_amounts.h"
#include "pkg/apiserver/kinds/core/pod_spec.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

using Names = std::set<std::string>;
using api::Quantity;

void check_port(FieldErrors& out, const FieldPath& path, const Json& port, Names& port_names) {
  const std::string& name = text_of(port, "name");
  if (!name.empty()) {
    const Problems problems = port_name_problems(name);
    add_problems(out, path.child("name"), name, problems);
    if (problems.empty() && !port_names.insert(name).second) out.push_back(duplicate(path.child("name"), name));
  }
  const int64_t number = int_of(port, "containerPort");
  if (number == 0) {
    out.push_back(required(path.child("containerPort"), ""));
  } else {
    for (const auto& p : range_problems(number, 1, 65535)) {
      out.push_back(invalid_value(path.child("containerPort"), number, p));
    }
  }
  const int64_t host = int_of(port, "hostPort");
  if (host != 0) {
    for (const auto& p : range_problems(host, 1, 65535)) {
      out.push_back(invalid_value(path.child("hostPort"), host, p));
    }
  }
  const std::string& protocol = text_of(port, "protocol");
  if (protocol.empty()) {
    out.push_back(required(path.child("protocol"), ""));
  } else if (protocol != "TCP" && protocol != "UDP" && protocol != "SCTP") {
    out.push_back(not_supported(path.child("protocol"), protocol, {"SCTP", "TCP", "UDP"}));
  }
}

void check_env(FieldErrors& out, const FieldPath& path, const Json& variable) {
  const std::string& name = text_of(variable, "name");
  if (name.empty()) {
    out.push_back(required(path.child("name"), ""));
  } else {
    add_problems(out, path.child("name"), name, env_var_name_problems(name));
  }
  if (is_set(variable, "valueFrom") && !text_of(variable, "value").empty()) {
    out.push_back(invalid(path.child("valueFrom"), "", "may not be specified when `value` is not empty"));
  }
}

void check_mounts(FieldErrors& out, const FieldPath& path, const Json& mounts, const Names& volumes) {
  Names paths;
  for (size_t i = 0; i < count_of(mounts); ++i) {
    const FieldPath at = path.index(i);
    const std::string& name = text_of(mounts[i], "name");
    if (name.empty()) out.push_back(required(at.child("name"), ""));
    if (!volumes.contains(name)) out.push_back(field_not_found(at.child("name"), name));
    const std::string& mount = text_of(mounts[i], "mountPath");
    if (mount.empty()) out.push_back(required(at.child("mountPath"), ""));
    if (!paths.insert(mount).second) out.push_back(invalid(at.child("mountPath"), mount, "must be unique"));
  }
}

bool native_resource(const std::string& name) {
  return name.find('/') == std::string::npos || name.find("kubernetes.io/") != std::string::npos;
}
bool huge_pages(const std::string& name) {
  return name.starts_with("hugepages-");
}
bool integer_resource(const std::string& name) {
  return !native_resource(name);
}

enum class ResourceHolder { kContainer, kPod };

void check_resource_name(FieldErrors& out, const FieldPath& path, const std::string& name, ResourceHolder holder) {
  const Problems problems = qualified_name_problems(name);
  add_problems(out, path, name, problems);
  if (holder == ResourceHolder::kPod) {
    if (problems.empty() && !is_pod_level_resource(name))
      out.push_back(not_supported(path, name, {"cpu", "hugepages-", "memory"}));
    return;
  }
  if (name.find('/') == std::string::npos) {
    if (name != "cpu" && name != "memory" && name != "ephemeral-storage" && !huge_pages(name)) {
      out.push_back(invalid(path, name, "must be a standard resource for containers"));
    }
  } else if (native_resource(name) ? false : name.starts_with("requests.")) {
    out.push_back(invalid(path, name, "doesn't follow extended resource name standard"));
  }
}

Quantity parsed(const Json& value) {
  auto q = Quantity::parse(as_text(value));
  return q ? *q : Quantity();
}

void check_amount(FieldErrors& out, const FieldPath& path, const std::string& name, const Quantity& amount) {
  if (amount.sign() < 0) out.push_back(invalid(path, amount.to_string(), "must be greater than or equal to 0"));
  if (integer_resource(name) && amount.milli_value() % 1000 != 0) {
    out.push_back(invalid(path, amount.to_string(), "must be an integer"));
  }
}

// Huge pages alone are refused: nothing could run in them.
void check_huge_pages(FieldErrors& out, const FieldPath& path, const Json& limits, const Json& requests) {
  bool huge = false, other = false;
  for (const Json* amounts : {&limits, &requests})
    for (const auto& [name, value] : amounts->items()) {
      huge = huge || huge_pages(name);
      other = other || name == "cpu" || name == "memory";
    }
  if (huge && !other) out.push_back(forbidden(path, "HugePages require cpu or memory"));
}

void check_resources(FieldErrors& out, const FieldPath& path, const Json& resources, ResourceHolder holder) {
  const FieldPath limits_path = path.child("limits");
  const FieldPath requests_path = path.child("requests");
  const Json& limits = map_of(resources, "limits");
  const Json& requests = map_of(resources, "requests");
  for (const auto& [name, value] : limits.items()) {
    check_resource_name(out, limits_path.key(name), name, holder);
    check_amount(out, limits_path.key(name), name, parsed(value));
  }
  for (const auto& [name, value] : requests.items()) {
    check_resource_name(out, requests_path.key(name), name, holder);
    const Quantity amount = parsed(value);
    check_amount(out, requests_path.key(name), name, amount);
    const bool overcommit = !integer_resource(name) && !huge_pages(name);
    if (is_set(limits, name)) {
      const Quantity limit = parsed(limits.at(name));
      const char* relation = nullptr;
      if (!overcommit && amount.compare(limit) != 0) relation = "equal to ";
      if (overcommit && amount.compare(limit) > 0) relation = "less than or equal to ";
      if (relation != nullptr) {
        out.push_back(invalid(requests_path, amount.to_string(),
                              std::string("must be ") + relation + name + " limit of " + limit.to_string()));
      }
    } else if (!overcommit) {
      out.push_back(required(limits_path, "Limit must be set for non overcommitable resources"));
    }
  }
  check_huge_pages(out, path, limits, requests);
}

void check_claim_uses(FieldErrors& out, const FieldPath& path, const Json& claims, const Names& declared) {
  Names used;
  for (size_t i = 0; i < count_of(claims); ++i) {
    const FieldPath at = path.index(i);
    const std::string& name = text_of(claims[i], "name");
    const std::string& request = text_of(claims[i], "request");
    if (name.empty()) {
      out.push_back(required(at, ""));
    } else {
      const std::string key = request.empty() ? name : name + "/" + request;
      if (used.contains(name)) {
        out.push_back(duplicate(at, name));  // the whole claim is already listed
      } else if (!used.insert(key).second) {
        out.push_back(duplicate(at, key));
      }
      if (!declared.contains(name)) {
        FieldError e = field_not_found(at, name);
        e.message += ": must be one of the names in pod.spec.resourceClaims";
        e.message += declared.empty() ? " which is empty" : ": " + join({declared.begin(), declared.end()}, ", ");
        out.push_back(std::move(e));
      }
    }
    if (!request.empty()) add_problems(out, at.child("request"), request, dns_label_problems(request));
  }
}

struct PodNames {
  Names volumes;
  Names claims;
};

void check_handler_port(FieldErrors& out, const FieldPath& path, const Json& port) {
  if (port.is_string()) return add_problems(out, path, as_text(port), port_name_problems(as_text(port)));
  const int64_t number = port.is_number_integer() ? port.get<int64_t>() : 0;
  for (const auto& problem : range_problems(number, 1, 65535)) out.push_back(invalid_value(path, number, problem));
}

void check_handler(FieldErrors& out, const FieldPath& path, const Json& handler) {
  bool found = false;
  for (const char* type : {"exec", "httpGet", "tcpSocket", "grpc"}) {
    if (!is_set(handler, type)) continue;
    if (found) out.push_back(forbidden(path.child(type), "may not specify more than 1 handler type"));
    found = true;
    if (type == std::string_view("httpGet") || type == std::string_view("tcpSocket"))
      check_handler_port(out, path.child(type).child("port"), member(member(handler, type), "port"));
  }
  if (!found) out.push_back(required(path, "must specify a handler type"));
}

void check_probes(FieldErrors& out, const FieldPath& path, const Json& container) {
  for (const char* name : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    if (!is_set(container, name)) continue;
    const Json& probe = member(container, name);
    const FieldPath at = path.child(name);
    check_handler(out, at, probe);
    for (const char* key :
         {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"}) {
      if (int_of(probe, key) < 0)
        out.push_back(invalid_value(at.child(key), int_of(probe, key), "must be greater than or equal to 0"));
    }
    const int64_t successes = int_of(probe, "successThreshold");
    if (name != std::string_view("readinessProbe") && successes != 1)
      out.push_back(invalid_value(at.child("successThreshold"), successes, "must be 1"));
  }
}

void check_container(FieldErrors& out, const FieldPath& path, const Json& container, const PodNames& names) {
  const std::string& image = text_of(container, "image");
  if (image.empty()) {
    out.push_back(required(path.child("image"), ""));
  } else if (std::isspace(static_cast<unsigned char>(image.front())) != 0 ||
             std::isspace(static_cast<unsigned char>(image.back())) != 0) {
    out.push_back(invalid(path.child("image"), image, "must not have leading or trailing whitespace"));
  }
  const std::string& policy = text_of(container, "terminationMessagePolicy");
  if (!policy.empty() && policy != "File" && policy != "FallbackToLogsOnError") {
    out.push_back(not_supported(path.child("terminationMessagePolicy"), policy, {"FallbackToLogsOnError", "File"}));
  }
  Names port_names;
  const Json& ports = list_of(container, "ports");
  for (size_t i = 0; i < ports.size(); ++i) check_port(out, path.child("ports").index(i), ports[i], port_names);
  const Json& env = list_of(container, "env");
  for (size_t i = 0; i < env.size(); ++i) check_env(out, path.child("env").index(i), env[i]);
  check_mounts(out, path.child("volumeMounts"), member(container, "volumeMounts"), names.volumes);
  check_probes(out, path, container);
  const std::string& pull = text_of(container, "imagePullPolicy");
  if (!pull.empty() && pull != "Always" && pull != "IfNotPresent" && pull != "Never") {
    out.push_back(not_supported(path.child("imagePullPolicy"), pull, {"Always", "IfNotPresent", "Never"}));
  }
  const Json& resources = member(container, "resources");
  check_resources(out, path.child("resources"), resources, ResourceHolder::kContainer);
  check_claim_uses(out, path.child("resources").child("claims"), member(resources, "claims"), names.claims);
}

void check_container_list(FieldErrors& out, const FieldPath& path, const Json& containers, const PodNames& names,
                          Names& seen) {
  for (size_t i = 0; i < containers.size(); ++i) {
    const FieldPath at = path.index(i);
    const std::string& name = text_of(containers[i], "name");
    if (name.empty()) {
      out.push_back(required(at.child("name"), ""));
    } else {
      add_problems(out, at.child("name"), name, dns_label_problems(name));
      if (!seen.insert(name).second) out.push_back(duplicate(at.child("name"), name));
    }
    check_container(out, at, containers[i], names);
  }
}

}  // namespace

namespace {

// validatePodResourceConsistency(): what the pod as a whole has is enough for its containers.
void check_pod_level_consistency(FieldErrors& out, const FieldPath& path, const Json& spec) {
  const Json& limits = member_at(spec, "resources.limits");
  const Json& requests = member_at(spec, "resources.requests");
  const auto enough = [&](const Json& own, const char* list, const std::string& name, const Quantity& sum) {
    if (is_set(own, name) && sum.compare(parsed(own.at(name))) > 0)
      out.push_back(invalid(
          path.child(list).key(name), parsed(own.at(name)).to_string(),
          std::string("must be greater than or equal to aggregate container ") + list + " of " + sum.to_string()));
  };
  for (const auto& [name, sum] : container_amounts(spec, "requests")) enough(requests, "requests", name, sum);
  for (const auto& [name, sum] : container_amounts(spec, "limits"))
    if (huge_pages(name)) enough(limits, "limits", name, sum);
  const Json& containers = list_of(spec, "containers");
  for (size_t i = 0; i < containers.size(); ++i)
    for (const auto& [name, value] : map_of(member(containers[i], "resources"), "limits").items()) {
      if (!is_set(limits, name) || parsed(value).compare(parsed(limits.at(name))) <= 0) continue;
      out.push_back(invalid(path.child("containers").index(i).key(name).child("limits"), parsed(value).to_string(),
                            "must be less than or equal to pod limits of " + parsed(limits.at(name)).to_string()));
    }
}

}  // namespace

void check_pod_level_resources(FieldErrors& out, const FieldPath& path, const Json& spec) {
  const Json& resources = member(spec, "resources");
  if (!resources.is_object()) return;
  if (text_of(member(spec, "os"), "name") == "windows")
    out.push_back(forbidden(path, "may not be set for a windows pod"));
  const Json& claims = member(resources, "claims");
  if (count_of(claims) > 0)
    out.push_back(forbidden(path.child("claims"), "claims may not be set for Resources at pod-level"));
  check_resources(out, path, resources, ResourceHolder::kPod);
  Names declared;
  for (const auto& c : list_of(spec, "resourceClaims")) declared.insert(text_of(c, "name"));
  check_claim_uses(out, path.child("claims"), claims, declared);
  check_pod_level_consistency(out, path, spec);
}

void check_containers(FieldErrors& out, const FieldPath& path, const Json& spec) {
  PodNames names;
  for (const auto& v : list_of(spec, "volumes")) names.volumes.insert(text_of(v, "name"));
  for (const auto& c : list_of(spec, "resourceClaims")) names.claims.insert(text_of(c, "name"));
  Names seen;
  const Json& containers = list_of(spec, "containers");
  if (containers.empty()) out.push_back(required(path.child("containers"), ""));
  check_container_list(out, path.child("containers"), containers, names, seen);
  check_container_list(out, path.child("initContainers"), list_of(spec, "initContainers"), names, seen);
  check_container_list(out, path.child("ephemeralContainers"), list_of(spec, "ephemeralContainers"), names, seen);
}

}  // namespace dra::apiserver
