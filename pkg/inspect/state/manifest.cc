#include "pkg/inspect/state/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/api/decode/decode.h"
#include "pkg/api/scheduling.h"
#include "pkg/base/utf8.h"
#include "pkg/inspect/state/pod_templates.h"
#include "pkg/yaml/yaml.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

std::string string_at(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& object_at(const json& object, const char* key) {
  static const json kNothing = json::object();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_object() ? *found : kNothing;
}

uint32_t count_at(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return 1;
  return static_cast<uint32_t>(std::clamp<int64_t>(found->get<int64_t>(), 0, 1'000'000));
}

void put_namespace(json& object, const std::string& ns) {
  if (!object["metadata"].is_object()) object["metadata"] = json::object();
  if (string_at(object["metadata"], "namespace").empty()) object["metadata"]["namespace"] = ns;
}

// What the API server makes of generateName is not known yet: "sample-*".
void put_name(json& object) {
  if (!object["metadata"].is_object()) object["metadata"] = json::object();
  json& metadata = object["metadata"];
  const std::string prefix = string_at(metadata, "generateName");
  if (string_at(metadata, "name").empty() && !prefix.empty()) metadata["name"] = prefix + "*";
}

template <class T>
Result<std::shared_ptr<const T>> decoded(const json& object) {
  auto value = api::decode<T>(object.dump(-1, ' ', false, json::error_handler_t::replace));
  if (!value) return fail(value.error());
  return std::make_shared<const T>(std::move(*value));
}

// scheduling.k8s.io has a field for it, scheduling.x-k8s.io (the coscheduling plugin) a label.
std::string group_of(const json& metadata, const json& spec) {
  const std::string named = string_at(object_at(spec, "schedulingGroup"), "podGroupName");
  return named.empty() ? string_at(object_at(metadata, "labels"), "scheduling.x-k8s.io/pod-group") : named;
}

bool has_volume_claims(const json& spec) {
  const auto volumes = spec.find("volumes");
  return volumes != spec.end() && volumes->is_array() &&
         std::any_of(volumes->begin(), volumes->end(), [](const json& volume) {
           return volume.is_object() && (volume.contains("persistentVolumeClaim") || volume.contains("ephemeral"));
         });
}

Result<PodGroup> group_from(const json& object) {
  const json& spec = object_at(object, "spec");
  PodGroup group;
  group.ns = string_at(object_at(object, "metadata"), "namespace");
  group.name = string_at(object_at(object, "metadata"), "name");
  if (auto read = api::decode<api::PodGroup>(object.dump(-1, ' ', false, json::error_handler_t::replace))) {
    group.annotations = read->metadata.annotations;
    group.topology = protocol::topology_wish(read->metadata.annotations);
    if (!read->topology_key.empty()) group.topology.required = read->topology_key;
    group.unknown = read->unknown;
  }
  const std::string version = string_at(object, "apiVersion");
  if (version.starts_with("scheduling.x-k8s.io/")) {
    group.min_count = count_at(spec, "minMember");
  } else if (version.starts_with("scheduling.k8s.io/")) {
    // A basic policy does not require members to start together.
    group.min_count = count_at(object_at(object_at(spec, "schedulingPolicy"), "gang"), "minCount");
    const auto claims = spec.find("resourceClaims");
    group.has_claims = claims != spec.end() && claims->is_array() && !claims->empty();
  } else {
    return fail(Code::kInvalidArgument,
                "apiVersion " + quote(version) + " of PodGroup " + quote(group.name) +
                    " is not known; use scheduling.k8s.io/v1alpha2 or scheduling.x-k8s.io/v1alpha1");
  }
  return group;
}

// What is not requested is what the limit says, as the API server writes it into pods (SetDefaults_Pod): at the pod's
// level, if no container requests the resource.
void default_requests(json& spec) {
  const auto requests_of_limits = [](json& resources, const auto& is_wanted) {
    if (!resources.is_object()) return;
    const auto limits = resources.find("limits");
    if (limits == resources.end() || !limits->is_object()) return;
    const json all = *limits;
    json& requests = resources["requests"];
    if (requests.is_null()) requests = json::object();
    for (const auto& [name, amount] : all.items())
      if (requests.is_object() && !requests.contains(name) && is_wanted(name)) requests[name] = amount;
  };
  std::set<std::string> requested;
  for (const char* key : {"containers", "initContainers"}) {
    const auto containers = spec.find(key);
    if (containers == spec.end() || !containers->is_array()) continue;
    for (json& container : *containers) {
      if (!container.is_object() || !container.contains("resources")) continue;
      for (const auto& [name, amount] : object_at(object_at(container, "resources"), "requests").items())
        requested.insert(name);
      requests_of_limits(container["resources"], [](const std::string&) { return true; });
    }
  }
  if (spec.contains("resources"))
    requests_of_limits(spec["resources"], [&](const std::string& name) { return !requested.contains(name); });
}

// A pod made from the template, with the namespace and name of the object that contains it.
Result<Workload> workload_from(const std::string& kind, const json& object, const json& pod_template,
                               const char* count) {
  Workload workload;
  workload.kind = kind;
  workload.name = string_at(object_at(object, "metadata"), "name");
  if (count != nullptr) workload.replicas = count_at(object_at(object, "spec"), count);
  const json& claims = object_at(object_at(object, "spec"), "volumeClaimTemplates");
  workload.makes_volume_claims = kind == "StatefulSet" && !claims.empty();
  json pod{{"apiVersion", "v1"},
           {"kind", "Pod"},
           {"metadata", object_at(pod_template, "metadata")},
           {"spec", object_at(pod_template, "spec")}};
  default_requests(pod["spec"]);
  workload.group = group_of(pod["metadata"], pod["spec"]);
  workload.has_volumes = workload.makes_volume_claims || has_volume_claims(pod["spec"]);
  pod["metadata"]["name"] = workload.name;
  pod["metadata"]["namespace"] = string_at(object_at(object, "metadata"), "namespace");
  auto read = api::decode<api::Pod>(pod.dump(-1, ' ', false, json::error_handler_t::replace));
  if (!read) return fail(read.error());
  workload.pod = std::move(*read);
  return workload;
}

Result<void> add_document(Manifest& manifest, json& object, const std::string& ns) {
  const std::string kind = string_at(object, "kind");
  put_name(object);
  const auto keep = [](auto& list, auto value) -> Result<void> {
    if (!value) return fail(value.error());
    list.push_back(std::move(*value));
    return {};
  };
  if (kind == "DeviceClass") return keep(manifest.classes, decoded<api::DeviceClass>(object));
  put_namespace(object, ns);
  if (kind == "ResourceClaim") return keep(manifest.claims, decoded<api::ResourceClaim>(object));
  if (kind == "ResourceClaimTemplate") return keep(manifest.templates, decoded<api::ResourceClaimTemplate>(object));
  if (kind == "PersistentVolumeClaim") return keep(manifest.volume_claims, decoded<api::PersistentVolumeClaim>(object));
  if (kind == "PodGroup") return keep(manifest.groups, group_from(object));
  const json& spec = object_at(object, "spec");
  const json& pod_template = object_at(spec, "template");
  if (kind == "Pod") return keep(manifest.workloads, workload_from(kind, object, object, nullptr));
  if (kind == "Deployment" || kind == "ReplicaSet" || kind == "StatefulSet" || kind == "ReplicationController")
    return keep(manifest.workloads, workload_from(kind, object, pod_template, "replicas"));
  if (kind == "Job") return keep(manifest.workloads, workload_from(kind, object, pod_template, "parallelism"));
  if (kind == "DaemonSet") return keep(manifest.workloads, workload_from(kind, object, pod_template, nullptr));
  if (kind == "CronJob") {
    const json& job = object_at(object_at(spec, "jobTemplate"), "spec");
    return keep(manifest.workloads, workload_from(kind, object, object_at(job, "template"), nullptr));
  }
  // Kinds that are not known here: JobSet, RayCluster, VirtualMachine.
  const std::vector<PodTemplate> templates = pod_templates_of(object);
  for (const PodTemplate& one : templates) {
    auto workload = workload_from(kind, object, object[json::json_pointer(one.pointer)], nullptr);
    if (!workload) return fail(workload.error());
    workload->part = one.part;
    workload->replicas = static_cast<uint32_t>(one.copies);
    manifest.workloads.push_back(std::move(*workload));
  }
  if (!templates.empty()) return {};
  constexpr size_t kMostShown = 253;
  manifest.skipped.push_back((kind.empty() ? "an object without a kind" : std::string(utf8_prefix(kind, kMostShown))) +
                             " " +
                             std::string(utf8_prefix(string_at(object_at(object, "metadata"), "name"), kMostShown)));
  return {};
}

}  // namespace

Result<std::vector<json>> read_documents(std::string_view text) {
  if (text.size() > kMaxManifest)
    return fail(Code::kResourceExhausted, "the file is larger than " + std::to_string(kMaxManifest) + " bytes");
  auto documents = yaml::parse_all(text);
  if (!documents) return fail(documents.error());
  std::vector<json> objects;
  for (json& document : *documents) {
    if (!document.is_object())
      return fail(Code::kInvalidArgument,
                  "document " + std::to_string(objects.size() + 1) + " is not an object; it needs apiVersion and kind");
    const auto items = document.find("items");
    if (string_at(document, "kind").ends_with("List") && items != document.end() && items->is_array()) {
      for (json& item : *items)
        if (item.is_object()) objects.push_back(std::move(item));
    } else {
      objects.push_back(std::move(document));
    }
    if (objects.size() > kMaxDocuments)
      return fail(Code::kResourceExhausted, "the file has more than " + std::to_string(kMaxDocuments) + " objects");
  }
  return objects;
}

Result<Manifest> read_manifest(std::string_view text, const std::string& ns) {
  auto documents = read_documents(text);
  if (!documents) return fail(documents.error());
  Manifest manifest;
  for (size_t i = 0; i < documents->size(); ++i)
    if (auto added = add_document(manifest, (*documents)[i], ns); !added)
      manifest.broken.emplace(i, added.error().wrap("document " + std::to_string(i + 1)));
  if (!manifest.broken.empty() && manifest.broken.size() == documents->size())
    return fail(manifest.broken.begin()->second);
  return manifest;
}

}  // namespace dra::inspect
