// The kinds of core/v1, coordination/v1 and apps that this project reads, as structs: Pod, Node, Namespace, Lease.
//
// Same conventions as resource.h: plain values, quantities and times as wire text, optional where absence means
// something.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/meta.h"

namespace dra::api {

// Resource name -> quantity text.
using ResourceList = StringMap;

struct ContainerClaim {  // resources.claims[]
  std::string name;
  std::string request;
};

struct Container {
  std::string name;
  ResourceList requests;
  ResourceList limits;
  std::vector<ContainerClaim> claims;
  std::string restart_policy;        // init containers: "Always" makes a sidecar
  std::vector<uint16_t> host_ports;  // ports[].hostPort that are not 0
};

struct Toleration {
  std::string key;
  std::string op;
  std::string value;
  std::string effect;
  std::optional<int64_t> toleration_seconds;
};

struct PreferredSchedulingTerm {
  int32_t weight = 0;
  NodeSelectorTerm preference;
};

struct NodeAffinity {
  std::optional<NodeSelector> required;
  std::vector<PreferredSchedulingTerm> preferred;
};

struct PodResourceClaim {  // spec.resourceClaims[]
  std::string name;
  std::optional<std::string> resource_claim_name;
  std::optional<std::string> resource_claim_template_name;
};

struct PodResourceClaimStatus {  // status.resourceClaimStatuses[]
  std::string name;
  std::optional<std::string> resource_claim_name;  // unset: no claim is needed for this entry
  bool operator==(const PodResourceClaimStatus&) const = default;
};

struct ContainerExtendedResourceRequest {
  std::string container_name;
  std::string resource_name;
  std::string request_name;
};

struct PodExtendedResourceClaimStatus {
  std::string resource_claim_name;
  std::vector<ContainerExtendedResourceRequest> request_mappings;
};

struct Pod {
  ObjectMeta metadata;
  // spec
  std::string node_name;
  std::string scheduler_name;
  std::string restart_policy;
  StringMap node_selector;
  std::optional<NodeAffinity> node_affinity;
  std::vector<Toleration> tolerations;
  std::vector<std::string> scheduling_gates;
  std::vector<PodResourceClaim> resource_claims;
  std::vector<Container> containers;
  std::vector<Container> init_containers;
  ResourceList overhead;
  std::optional<ResourceList> pod_requests;  // spec.resources.requests (pod level)
  int32_t priority = 0;
  std::string priority_class_name;
  std::optional<int64_t> termination_grace_period_seconds;
  std::optional<int64_t> active_deadline_seconds;
  // status
  std::string phase;  // Pending, Running, Succeeded, Failed, Unknown
  std::string nominated_node_name;
  std::vector<Condition> conditions;
  std::vector<PodResourceClaimStatus> resource_claim_statuses;
  std::optional<PodExtendedResourceClaimStatus> extended_resource_claim_status;

  bool terminal() const { return phase == "Succeeded" || phase == "Failed"; }
  // No longer in need of its claims: finished, or deleted before it was bound to a node (as kube-controller-manager has
  // it).
  bool done() const { return terminal() || (metadata.deleting() && node_name.empty()); }
};

struct Taint {
  std::string key;
  std::string value;
  std::string effect;
  std::string time_added;
  bool operator==(const Taint&) const = default;
};

struct Node {
  ObjectMeta metadata;
  bool unschedulable = false;
  std::vector<Taint> taints;
  ResourceList capacity;
  ResourceList allocatable;
  std::vector<Condition> conditions;
};

struct Namespace {
  ObjectMeta metadata;
  std::string phase;
};

struct Lease {
  ObjectMeta metadata;
  std::string holder_identity;
  int32_t lease_duration_seconds = 0;
  std::string acquire_time;
  std::string renew_time;
  int32_t lease_transitions = 0;
};

}  // namespace dra::api
