#include <nlohmann/json.hpp>
#include <string_view>

#include "pkg/api/quantity.h"
#include "pkg/apiserver/kinds/core/pod_amounts.h"
#include "pkg/apiserver/kinds/core/pod_spec.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

constexpr int kDefaultMode = 0644;

bool lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// A component of an image's path: runs of lower case letters and digits, with ".", "_", "__" or dashes between them
// (github.com/distribution/reference).
bool is_path_component(std::string_view text) {
  if (text.empty() || !lower_or_digit(text.front()) || !lower_or_digit(text.back())) return false;
  for (size_t i = 0; i < text.size();) {
    if (lower_or_digit(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (!lower_or_digit(text[end])) ++end;  // the last character is always one
    const std::string_view between = text.substr(i, end - i);
    const bool dashes = between.find_first_not_of('-') == std::string_view::npos;
    if (!dashes && between != "." && between != "_" && between != "__") return false;
    i = end;
  }
  return true;
}

// The name without tag. Its first part is a host if it cannot be a path: with a dot, a port or capitals.
bool is_image_path(std::string_view name) {
  for (bool first = true;; first = false) {
    const size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    const bool host = first && slash != std::string_view::npos &&
                      part.find_first_of(".:ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string_view::npos;
    if (!host && !is_path_component(part)) return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

// Always for `latest` or no tag; IfNotPresent for other tags and digests, and for invalid image names.
const char* pull_policy(const std::string& image) {
  if (image.find('@') != std::string::npos) return "IfNotPresent";
  const size_t slash = image.rfind('/');
  const size_t colon = image.rfind(':');
  const bool tagged = colon != std::string::npos && (slash == std::string::npos || colon > slash);
  if (!is_image_path(std::string_view(image).substr(0, tagged ? colon : image.size()))) return "IfNotPresent";
  return tagged && image.substr(colon + 1) != "latest" ? "IfNotPresent" : "Always";
}

Json* inner(Json& object, const char* key) {
  auto it = object.find(key);
  return it == object.end() || !it->is_object() ? nullptr : &*it;
}
Json* inner_list(Json& object, const char* key) {
  auto it = object.find(key);
  return it == object.end() || !it->is_array() ? nullptr : &*it;
}

void default_http_get(Json& holder) {
  Json* get = inner(holder, "httpGet");
  if (get == nullptr) return;
  if (text_of(*get, "path").empty()) (*get)["path"] = "/";
  if (text_of(*get, "scheme").empty()) (*get)["scheme"] = "HTTP";
}

void default_probe(Json& container, const char* key) {
  Json* probe = inner(container, key);
  if (probe == nullptr) return;
  auto number = [&](const char* field, int value) {
    if (int_of(*probe, field) == 0) (*probe)[field] = value;
  };
  number("timeoutSeconds", 1);
  number("periodSeconds", 10);
  number("successThreshold", 1);
  number("failureThreshold", 3);
  default_http_get(*probe);
  if (Json* grpc = inner(*probe, "grpc")) set_default(*grpc, "service", "");
}

void default_field_ref(Json& holder) {
  Json* ref = inner(holder, "fieldRef");
  if (ref != nullptr && text_of(*ref, "apiVersion").empty()) (*ref)["apiVersion"] = "v1";
}

void default_container(Json& container, bool host_network) {
  if (text_of(container, "imagePullPolicy").empty()) {
    container["imagePullPolicy"] = pull_policy(text_of(container, "image"));
  }
  if (text_of(container, "terminationMessagePath").empty()) {
    container["terminationMessagePath"] = "/dev/termination-log";
  }
  if (text_of(container, "terminationMessagePolicy").empty()) container["terminationMessagePolicy"] = "File";
  if (Json* ports = inner_list(container, "ports")) {
    for (auto& port : *ports) {
      if (!port.is_object()) continue;
      if (text_of(port, "protocol").empty()) port["protocol"] = "TCP";
      if (host_network && int_of(port, "hostPort") == 0) port["hostPort"] = int_of(port, "containerPort");
    }
  }
  if (Json* env = inner_list(container, "env")) {
    for (auto& variable : *env) {
      if (!variable.is_object()) continue;
      if (Json* from = inner(variable, "valueFrom")) default_field_ref(*from);
    }
  }
  for (const char* key : {"livenessProbe", "readinessProbe", "startupProbe"}) default_probe(container, key);
  if (Json* lifecycle = inner(container, "lifecycle")) {
    for (const char* key : {"postStart", "preStop"}) {
      if (Json* handler = inner(*lifecycle, key)) default_http_get(*handler);
    }
  }
}

void default_downward_items(Json& source) {
  Json* items = inner_list(source, "items");
  if (items == nullptr) return;
  for (auto& item : *items) {
    if (item.is_object()) default_field_ref(item);
  }
}

void default_projected(Json& projected) {
  Json* sources = inner_list(projected, "sources");
  if (sources == nullptr) return;
  for (auto& source : *sources) {
    if (!source.is_object()) continue;
    if (Json* api = inner(source, "downwardAPI")) default_downward_items(*api);
    if (Json* token = inner(source, "serviceAccountToken")) set_default(*token, "expirationSeconds", 3600);
  }
}

void default_volume(Json& volume) {
  bool has_source = false;
  for (const auto& [key, value] : volume.items()) has_source = has_source || (key != "name" && !value.is_null());
  if (!has_source) volume["emptyDir"] = Json::object();
  for (const char* key : {"secret", "configMap", "downwardAPI", "projected"}) {
    if (Json* source = inner(volume, key)) set_default(*source, "defaultMode", kDefaultMode);
  }
  if (Json* api = inner(volume, "downwardAPI")) default_downward_items(*api);
  if (Json* projected = inner(volume, "projected")) default_projected(*projected);
  if (Json* host = inner(volume, "hostPath")) set_default(*host, "type", "");
  if (Json* image = inner(volume, "image")) {
    if (text_of(*image, "pullPolicy").empty()) (*image)["pullPolicy"] = pull_policy(text_of(*image, "reference"));
  }
  Json* ephemeral = inner(volume, "ephemeral");
  Json* claim = ephemeral == nullptr ? nullptr : inner(*ephemeral, "volumeClaimTemplate");
  if (claim != nullptr) set_default(object_member(*claim, "spec"), "volumeMode", "Filesystem");
}

// serviceAccount is the deprecated spelling of serviceAccountName; the server keeps both.
void default_service_account(Json& spec) {
  const std::string name = text_of(spec, "serviceAccountName");
  const std::string old_name = text_of(spec, "serviceAccount");
  if (name.empty() && old_name.empty()) return;
  spec["serviceAccountName"] = name.empty() ? old_name : name;
  spec["serviceAccount"] = spec["serviceAccountName"];
}

api::Quantity quantity_at(const Json& list, const char* resource) {
  auto q = api::Quantity::parse(text_of(list, resource));
  return q ? *q : api::Quantity();
}

}  // namespace

void default_pod_spec(Json& spec) {
  if (!spec.is_object()) return;
  const bool host_network = bool_of(spec, "hostNetwork");
  for (const char* key : {"containers", "initContainers", "ephemeralContainers"}) {
    Json* containers = inner_list(spec, key);
    if (containers == nullptr) continue;
    for (auto& c : *containers) {
      if (c.is_object()) default_container(c, host_network);
    }
  }
  if (Json* volumes = inner_list(spec, "volumes")) {
    for (auto& v : *volumes) {
      if (v.is_object()) default_volume(v);
    }
  }
  if (text_of(spec, "dnsPolicy").empty()) spec["dnsPolicy"] = "ClusterFirst";
  if (text_of(spec, "restartPolicy").empty()) spec["restartPolicy"] = "Always";
  if (text_of(spec, "schedulerName").empty()) spec["schedulerName"] = "default-scheduler";
  set_default(spec, "securityContext", Json::object());
  set_default(spec, "terminationGracePeriodSeconds", 30);
  default_service_account(spec);
}

void default_pod_only(Json& spec) {
  if (!spec.is_object()) return;
  set_default(spec, "enableServiceLinks", true);
  for (const char* key : {"containers", "initContainers"}) {
    Json* containers = inner_list(spec, key);
    if (containers == nullptr) continue;
    for (auto& c : *containers) {
      Json* resources = c.is_object() ? inner(c, "resources") : nullptr;
      if (resources == nullptr || map_of(*resources, "limits").empty()) continue;
      const Json limits = map_of(*resources, "limits");
      Json& requests = object_member(*resources, "requests");
      for (const auto& [name, value] : limits.items()) set_default(requests, name, value);
    }
  }
  default_pod_level_resources(spec);
}

std::string qos_class(const Json& spec) {
  // Requests and limits of the pod as a whole count instead of those of its containers.
  if (is_set(spec, "resources")) {
    const Json& limits = member_at(spec, "resources.limits");
    const Json& requests = member_at(spec, "resources.requests");
    bool some = false, equal = true;
    for (const char* resource : {"cpu", "memory"}) {
      const auto limit = quantity_at(limits, resource), request = quantity_at(requests, resource);
      some = some || limit.sign() > 0 || request.sign() > 0;
      equal = equal && limit.sign() > 0 && request.compare(limit) == 0;
    }
    if (!some) return "BestEffort";
    return equal ? "Guaranteed" : "Burstable";
  }
  bool any = false;
  bool guaranteed = true;
  for (const char* key : {"containers", "initContainers"}) {
    for (const auto& c : list_of(spec, key)) {
      const Json& limits = member_at(c, "resources.limits");
      const Json& requests = member_at(c, "resources.requests");
      for (const char* resource : {"cpu", "memory"}) {
        const auto limit = quantity_at(limits, resource);
        const auto request = quantity_at(requests, resource);
        any = any || limit.sign() > 0 || request.sign() > 0;
        guaranteed = guaranteed && limit.sign() > 0 && (!is_set(requests, resource) || request.compare(limit) == 0);
      }
    }
  }
  if (!any) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

}  // namespace dra::apiserver
