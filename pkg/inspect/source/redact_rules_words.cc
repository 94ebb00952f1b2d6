// The words that are nobody's: the API's, and this project's.
#include <set>

#include "pkg/inspect/source/redact_rules.h"

namespace dra::inspect {

bool is_api_word(std::string_view text) {
  static const std::set<std::string_view> kWords{
      "", "True", "False", "Unknown", "true", "false",
      // operators, effects, modes
      "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "NoSchedule", "NoExecute", "PreferNoSchedule",
      "None", "ExactCount", "All", "FromClass", "FromClaim", "DoNotSchedule", "ScheduleAnyway", "Honor", "Ignore",
      "Always", "Never", "OnFailure", "TCP", "UDP", "SCTP", "Update", "Apply", "FieldsV1", "first-fit", "best-fit",
      "pack", "spread", "NodePrepareResources", "NodeUnprepareResources", "*",
      // phases, health and reasons that decisions and answers read
      "Pending", "Running", "Succeeded", "Failed", "Active", "Terminating", "Healthy", "Unhealthy", "Unschedulable",
      "SchedulingGated", "Infeasible", "Deferred", "Allocated", "RequestsFail", "DeletionByDeviceTaintManager",
      "NoEffect", "Completed", "WaitsForApproval", "PodsPendingEviction", "NotStarted", "NodePorts",
      // policies that decide about evictions
      "PreemptLowerPriority", "AlwaysAllow", "IfHealthyBudget", "TerminatingOrFailed", "never",
      // scopes of quotas
      "BestEffort", "NotBestEffort", "NotTerminating", "PriorityClass", "CrossNamespacePodAffinity",
      // kinds, groups and versions
      "Pod", "PodGroup", "Node", "ResourceClaim", "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job",
      "CronJob", "Workload", "ReplicationController", "v1", "apps/v1", "batch/v1", "resource.k8s.io/v1",
      "resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1alpha3", "scheduling.k8s.io/v1alpha1",
      "scheduling.k8s.io/v1alpha2", "scheduling.k8s.io/v1beta1", "scheduling.x-k8s.io/v1alpha1", "pods", "podgroups",
      "scheduling.k8s.io", "status", "binding", "ephemeralcontainers", "resize",
      // what the manager says on its Lease
      "observe", "gate", "bind", "on", "off", "labels", "all-claims"};
  return kWords.contains(text);
}

bool is_known_key(std::string_view key) {
  static const std::set<std::string_view> kKeys{
      "metadata.name", "kubernetes.io/metadata.name", "kubernetes.io/hostname", "kubernetes.io/arch",
      "kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/os", "topology.kubernetes.io/zone",
      "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone",
      "failure-domain.beta.kubernetes.io/region", "node.kubernetes.io/instance-type", "node.kubernetes.io/not-ready",
      "node.kubernetes.io/unreachable", "node.kubernetes.io/unschedulable", "node.kubernetes.io/memory-pressure",
      "node.kubernetes.io/disk-pressure", "node.kubernetes.io/pid-pressure", "node.kubernetes.io/network-unavailable",
      "node.kubernetes.io/out-of-service", "node.cloudprovider.kubernetes.io/uninitialized",
      "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master", "pod-template-hash", "controller-uid",
      "job-name", "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid",
      "batch.kubernetes.io/job-completion-index", "apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name",
      "scheduling.x-k8s.io/pod-group", "resource.kubernetes.io/delete-protection",
      "resource.kubernetes.io/pod-claim-name", "resource.kubernetes.io/extended-resource-claim",
      "batch.kubernetes.io/job-tracking", "kubernetes.io/config.mirror", "app.kubernetes.io/name",
      // types of conditions
      "PodScheduled", "Ready", "Initialized", "ContainersReady", "DisruptionTarget", "PodResizePending",
      "PodResizeInProgress", "PodReadyToStartContainers", "MemoryPressure", "DiskPressure", "PIDPressure",
      "NetworkUnavailable", "EvictionInProgress",
      // managers of fields, schedulers, priorities
      "kube-scheduler", "kube-controller-manager", "kubelet", "kubectl-dra", "dra-controller-manager",
      "dra-controller-manager-allocation", "dra-controller-manager-eviction", "dra-controller-manager-extended",
      "dra-controller-manager-Allocated", "dra-controller-manager-PodScheduled",
      "dra-controller-manager-EvictionInProgress", "ancient-changes", "default-scheduler", "system-node-critical",
      "system-cluster-critical", "0.0.0.0", "::", "127.0.0.1"};
  return kKeys.contains(key) || key.starts_with("dra-controller-manager/");
}

}  // namespace dra::inspect
