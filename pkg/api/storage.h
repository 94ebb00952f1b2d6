// The kinds that decide where a pod's volumes can be used: claims, volumes, storage classes and what CSI drivers
// report; and the selectors of Services and workload controllers, which kube-scheduler's default spreading reads.
//
// Same conventions as core.h: plain values, quantities as wire text, only the fields that this project reads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/meta.h"

namespace dra::api {

// Annotation of a PersistentVolumeClaim that waits for its first consumer: the node for which to provision a volume.
inline constexpr const char* kSelectedNodeAnnotation = "volume.kubernetes.io/selected-node";

struct PersistentVolumeClaim {
  ObjectMeta metadata;
  std::vector<std::string> access_modes;
  std::optional<std::string> storage_class_name;
  std::string volume_name;
  std::string volume_mode;  // "" is Filesystem
  std::string volume_attributes_class_name;
  std::optional<LabelSelector> selector;
  std::string storage;  // spec.resources.requests.storage
  std::string phase;
};

struct PersistentVolume {
  struct ClaimRef {
    std::string ns;
    std::string name;
    std::string uid;  // "" matches any
  };
  ObjectMeta metadata;
  std::string storage;  // spec.capacity.storage
  std::vector<std::string> access_modes;
  std::string storage_class_name;
  std::string volume_mode;  // "" is Filesystem
  std::string volume_attributes_class_name;
  std::optional<ClaimRef> claim_ref;
  std::optional<NodeSelector> node_affinity;  // spec.nodeAffinity.required
  std::string csi_driver;                     // "" for volumes of other kinds
  std::string csi_handle;
  std::string phase;
};

struct StorageClass {
  ObjectMeta metadata;
  std::string provisioner;
  std::string volume_binding_mode;
  // OR of terms, each an AND of key In values; a term without expressions matches nothing.
  std::vector<std::map<std::string, std::vector<std::string>>> allowed_topologies;
};

struct CsiNode {
  ObjectMeta metadata;                          // named like the node
  std::map<std::string, int32_t> driver_limit;  // drivers with allocatable.count
};

struct CsiDriver {
  ObjectMeta metadata;
  bool storage_capacity = false;
};

struct CsiStorageCapacity {
  ObjectMeta metadata;
  std::string storage_class_name;
  std::optional<LabelSelector> node_topology;  // absent: reaches no node
  std::string capacity;
  std::string maximum_volume_size;
};

struct VolumeAttachment {
  ObjectMeta metadata;
  std::string attacher;
  std::string node_name;
  std::string persistent_volume_name;
};

struct Service {
  ObjectMeta metadata;
  StringMap selector;
};

struct ReplicationController {
  ObjectMeta metadata;
  StringMap selector;
};

struct ReplicaSet {
  ObjectMeta metadata;
  std::optional<LabelSelector> selector;
};

struct StatefulSet {
  ObjectMeta metadata;
  std::optional<LabelSelector> selector;
};

struct Job {
  ObjectMeta metadata;
  std::string pod_replacement_policy;  // TerminatingOrFailed or Failed
  // Its podFailurePolicy does not count disrupted pods: its first rule on DisruptionTarget ignores them.
  bool ignores_disruption = false;
  int64_t backoff_limit = 6;             // the API's default
  bool backoff_limit_per_index = false;  // such a limit may be 0
  int64_t failed = 0;                    // status
};

}  // namespace dra::api
