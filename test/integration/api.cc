#include "test/integration/api.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

namespace dra::integration {
namespace {

struct Place {
  const char* prefix;
  const char* plural;
  bool namespaced;
};

const Place& place_of(const std::string& kind) {
  static const std::map<std::string, Place> kPlaces{
      {"Pod", {"/api/v1", "pods", true}},
      {"Node", {"/api/v1", "nodes", false}},
      {"Namespace", {"/api/v1", "namespaces", false}},
      {"PriorityClass", {"/apis/scheduling.k8s.io/v1", "priorityclasses", false}},
      {"PodDisruptionBudget", {"/apis/policy/v1", "poddisruptionbudgets", true}},
      {"PersistentVolume", {"/api/v1", "persistentvolumes", false}},
      {"PersistentVolumeClaim", {"/api/v1", "persistentvolumeclaims", true}},
      {"StorageClass", {"/apis/storage.k8s.io/v1", "storageclasses", false}},
      {"VolumeAttachment", {"/apis/storage.k8s.io/v1", "volumeattachments", false}},
      {"ReplicaSet", {"/apis/apps/v1", "replicasets", true}},
      {"Job", {"/apis/batch/v1", "jobs", true}},
      {"Event", {"/apis/events.k8s.io/v1", "events", true}},
      {"Lease", {"/apis/coordination.k8s.io/v1", "leases", true}},
      {"ResourceClaim", {"/apis/resource.k8s.io/v1", "resourceclaims", true}},
      {"ResourceClaimTemplate", {"/apis/resource.k8s.io/v1", "resourceclaimtemplates", true}},
      {"ResourceSlice", {"/apis/resource.k8s.io/v1", "resourceslices", false}},
      {"DeviceClass", {"/apis/resource.k8s.io/v1", "deviceclasses", false}},
      {"DeviceTaintRule", {"/apis/resource.k8s.io/v1beta2", "devicetaintrules", false}},
  };
  return kPlaces.at(kind);
}

// Managed fields contain the client's name.
std::string as_kubectl(const std::string& target) {
  return target.find('?') == std::string::npos ? target + "?fieldManager=kubectl" : target;
}

Json checked(const std::string& what, const Answer& answer) {
  if (!answer.ok()) throw std::runtime_error(what + ": " + std::to_string(answer.status) + " " + answer.body);
  return answer.json();
}

}  // namespace

Json Answer::json() const {
  Json parsed = Json::parse(body, nullptr, false);
  return parsed.is_discarded() ? Json(nullptr) : parsed;
}

Answer Api::call(const std::string& method, const std::string& target, const std::string& body,
                 const std::string& content_type, const std::string& accept) {
  client::Request request;
  request.accept = accept;
  request.method = method;
  request.target = target;
  request.body = body;
  if (!body.empty()) request.content_type = content_type;
  std::optional<Result<client::Response>> result;
  const Handle handle =
      transport_.send(std::move(request), [&](Result<client::Response> answer) { result = std::move(answer); });
  driver_.run_until([&] { return result.has_value(); }, std::chrono::minutes(1));
  if (!result) throw std::runtime_error(method + " " + target + ": no answer");
  if (!*result) throw std::runtime_error(method + " " + target + ": " + result->error().message());
  return {(*result)->status, (*result)->body};
}

std::string Api::path(const std::string& kind, const std::string& name, const std::string& ns) {
  const Place& place = place_of(kind);
  std::string text = place.prefix;
  if (place.namespaced) text += "/namespaces/" + ns;
  text += std::string("/") + place.plural;
  return name.empty() ? text : text + "/" + name;
}

Json Api::create(const Json& object) {
  const Json& metadata = object.at("metadata");
  const std::string target = path(object.at("kind").get<std::string>(), "", metadata.value("namespace", "default"));
  return checked("create " + metadata.value("name", metadata.value("generateName", "?")),
                 call("POST", as_kubectl(target), object.dump()));
}

Json Api::get(const std::string& target) {
  return checked("get " + target, call("GET", target));
}

bool Api::exists(const std::string& target) {
  return call("GET", target).ok();
}

Json Api::merge(const std::string& target, const Json& patch) {
  return checked("patch " + target, call("PATCH", as_kubectl(target), patch.dump(), "application/merge-patch+json"));
}

void Api::remove(const std::string& target) {
  checked("delete " + target, call("DELETE", target));
}

void Api::remove_now(const std::string& target) {
  checked("delete " + target, call("DELETE", target, R"({"gracePeriodSeconds":0})"));
}

std::vector<Json> Api::list(const std::string& kind) {
  const Place& place = place_of(kind);
  Json answer = get(std::string(place.prefix) + "/" + place.plural);
  std::vector<Json> items;
  for (Json& item : answer["items"]) items.push_back(std::move(item));
  return items;
}

}  // namespace dra::integration
