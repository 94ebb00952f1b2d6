#include "pkg/inspect/source/prune.h"

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

#include "pkg/inspect/state/quota.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

void keep_only(json& object, std::initializer_list<const char*> keys) {
  if (!object.is_object()) return;
  json kept = json::object();
  for (const char* key : keys)
    if (const auto found = object.find(key); found != object.end()) kept[key] = std::move(*found);
  object = std::move(kept);
}

bool is_read(const std::string& annotation) {
  return annotation.starts_with("dra-controller-manager/") || annotation.find("resource.k8s.io") != std::string::npos ||
         annotation.starts_with("resource.kubernetes.io/") || annotation == "volume.beta.kubernetes.io/storage-class" ||
         annotation == "volume.kubernetes.io/selected-node" || annotation == "pv.kubernetes.io/bind-completed" ||
         annotation == "pv.kubernetes.io/bound-by-controller" || annotation == "kubernetes.io/config.mirror" ||
         annotation.ends_with("/is-default-class");
}

void prune_managed_fields(json& metadata) {
  const auto entries = metadata.find("managedFields");
  if (entries == metadata.end() || !entries->is_array()) return;
  for (json& entry : *entries) {
    if (!entry.is_object()) continue;
    const auto fields = entry.find("fieldsV1");
    if (fields == entry.end()) continue;
    const bool nominates = fields->is_object() && fields->contains("f:status") && (*fields)["f:status"].is_object() &&
                           (*fields)["f:status"].contains("f:nominatedNodeName");
    if (nominates)
      *fields = json{{"f:status", {{"f:nominatedNodeName", json::object()}}}};
    else
      entry.erase(fields);
  }
}

void prune_metadata(json& object) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return;
  if (const auto annotations = metadata->find("annotations"); annotations != metadata->end()) {
    json kept = json::object();
    if (annotations->is_object())
      for (auto& [key, value] : annotations->items())
        if (is_read(key)) kept[key] = value;
    if (kept.empty())
      metadata->erase(annotations);
    else
      *annotations = std::move(kept);
  }
  prune_managed_fields(*metadata);
}

void prune_containers(json& spec, const char* list) {
  const auto containers = spec.find(list);
  if (containers == spec.end() || !containers->is_array()) return;
  for (json& container : *containers) keep_only(container, {"name", "image", "resources", "restartPolicy", "ports"});
}

void prune_volumes(json& spec) {
  const auto volumes = spec.find("volumes");
  if (volumes == spec.end() || !volumes->is_array()) return;
  for (json& volume : *volumes) {
    keep_only(volume, {"name", "persistentVolumeClaim", "ephemeral", "image", "gcePersistentDisk",
                       "awsElasticBlockStore", "iscsi", "rbd", "hostPath"});
    // That there is one ties the pod to its node; nothing reads which.
    if (volume.is_object() && volume.contains("hostPath")) volume["hostPath"] = json::object();
  }
}

void prune_pod(json& pod) {
  if (const auto spec = pod.find("spec"); spec != pod.end() && spec->is_object()) {
    keep_only(*spec, {"nodeName",
                      "schedulerName",
                      "restartPolicy",
                      "nodeSelector",
                      "affinity",
                      "topologySpreadConstraints",
                      "volumes",
                      "tolerations",
                      "schedulingGates",
                      "resourceClaims",
                      "schedulingGroup",
                      "containers",
                      "initContainers",
                      "overhead",
                      "resources",
                      "priority",
                      "priorityClassName",
                      "preemptionPolicy",
                      "terminationGracePeriodSeconds",
                      "activeDeadlineSeconds"});
    prune_containers(*spec, "containers");
    prune_containers(*spec, "initContainers");
    prune_volumes(*spec);
  }
  if (const auto status = pod.find("status"); status != pod.end())
    keep_only(*status, {"phase", "startTime", "nominatedNodeName", "conditions", "resourceClaimStatuses",
                        "extendedResourceClaimStatus", "nodeAllocatableResourceClaimStatuses", "containerStatuses",
                        "initContainerStatuses", "resources", "allocatedResources"});
}

// Handles and names of secrets are confidential.
void prune_storage(std::string_view plural, json& object) {
  if (plural == "storageclasses") object.erase("parameters");
  if (plural == "volumeattachments") object.erase("status");
  if (plural != "persistentvolumes" || !object.contains("spec") || !object["spec"].is_object()) return;
  json& spec = object["spec"];
  keep_only(spec, {"capacity", "accessModes", "storageClassName", "volumeMode", "volumeAttributesClassName", "claimRef",
                   "nodeAffinity", "csi", "persistentVolumeReclaimPolicy"});
  if (spec.contains("csi")) keep_only(spec["csi"], {"driver", "volumeHandle"});
}

// Only what counts claims and devices: names of storage classes are among the rest.
void prune_quota(json& quota) {
  const auto keep_counts = [](json& part, const char* name) {
    if (!part.is_object() || !part.contains(name) || !part[name].is_object()) return;
    json kept = json::object();
    for (auto& [resource, amount] : part[name].items())
      if (resource == kClaimCount || resource.ends_with(kDevicesOfClass) ||
          (resource.starts_with(kRequested) && resource.find('/') != std::string::npos))
        kept[resource] = amount;
    part[name] = std::move(kept);
  };
  if (quota.contains("spec")) {
    keep_only(quota["spec"], {"hard", "scopes", "scopeSelector"});
    keep_counts(quota["spec"], "hard");
  }
  if (quota.contains("status")) {
    keep_only(quota["status"], {"hard", "used"});
    keep_counts(quota["status"], "hard");
    keep_counts(quota["status"], "used");
  }
}

// What decides about evictions.
void prune_eviction(std::string_view plural, json& object) {
  if (plural == "poddisruptionbudgets") {
    if (object.contains("spec")) keep_only(object["spec"], {"selector", "unhealthyPodEvictionPolicy"});
    if (object.contains("status"))
      keep_only(object["status"],
                {"observedGeneration", "disruptionsAllowed", "currentHealthy", "desiredHealthy", "disruptedPods"});
  }
  if (plural == "priorityclasses")
    keep_only(object, {"apiVersion", "kind", "metadata", "value", "globalDefault", "preemptionPolicy"});
  if (plural == "jobs") {
    keep_only(object, {"apiVersion", "kind", "metadata", "spec"});
    if (object.contains("metadata")) keep_only(object["metadata"], {"name", "namespace", "uid"});
    if (object.contains("spec")) keep_only(object["spec"], {"podReplacementPolicy"});
  }
}

}  // namespace

void prune(std::string_view plural, json& object) {
  if (!object.is_object()) return;
  prune_metadata(object);
  if (plural == "pods") prune_pod(object);
  if (plural == "resourcequotas") prune_quota(object);
  prune_storage(plural, object);
  prune_eviction(plural, object);
  // Nothing reads addresses, image digests and system figures of nodes.
  if (plural == "nodes" && object.contains("status"))
    keep_only(object["status"], {"capacity", "allocatable", "conditions", "images"});
}

}  // namespace dra::inspect
