// Manifest: the objects of a file that a user is about to apply, as far as they concern devices.
//
// Pods, and kinds that create pods from a template (Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, CronJob,
// ReplicationController), pod groups (scheduling.k8s.io/v1alpha2, scheduling.x-k8s.io/v1alpha1), claims, claim
// templates and device classes; Lists are expanded. Of other kinds, the pods that pod_templates.h finds in them; those
// without are skipped and named. An object with generateName alone is named "prefix*". Bounds: 16 MiB, 1,000 documents,
// and those of pkg/yaml. Pure.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/state/objects.h"
#include "pkg/protocol/topology.h"

namespace dra::inspect {

inline constexpr size_t kMaxManifest = size_t{16} << 20;
inline constexpr size_t kMaxDocuments = 1000;

// Pods of one kind: all copies are equal except for their names.
struct Workload {
  std::string kind;  // "Deployment"
  std::string name;
  api::Pod pod;
  uint32_t replicas = 1;
  std::string group;                 // the pod group that its pods name, in their namespace; empty: none
  bool has_volumes = false;          // uses PersistentVolumeClaims
  bool makes_volume_claims = false;  // a StatefulSet's volumeClaimTemplates
  std::string part;                  // of an object with several templates: "workers"
  // "deployment/web", "jobset/train (workers)"
  std::string text() const { return to_lower(kind) + "/" + name + (part.empty() ? "" : " (" + part + ")"); }
};

// Pods that start together or not at all.
struct PodGroup {
  std::string ns, name;
  uint32_t min_count = 1;   // members that must fit at once
  bool has_claims = false;  // spec.resourceClaims: claims of the group itself, which are not judged
  api::Rare<api::UnknownFields> unknown{};
  protocol::TopologyWish topology{};
  api::StringMap annotations{};
};

struct Manifest {
  std::vector<Workload> workloads;
  std::vector<PodGroup> groups;
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  std::vector<std::shared_ptr<const api::ResourceClaimTemplate>> templates;
  std::vector<std::shared_ptr<const api::DeviceClass>> classes;
  std::vector<std::shared_ptr<const api::PersistentVolumeClaim>> volume_claims;
  std::vector<std::string> skipped;  // "Service web"
  // Objects that cannot be read, by their number in the file, from 0: the error begins with "document 3".
  std::map<size_t, Error> broken;
};

// Objects without a namespace get `ns`. Errors: the file is no YAML, is too large, or none of its objects can be read;
// they name the field.
Result<Manifest> read_manifest(std::string_view text, const std::string& ns);

// The documents of a file in order, with Lists expanded. For all verbs with -f.
Result<std::vector<nlohmann::json>> read_documents(std::string_view text);

}  // namespace dra::inspect
