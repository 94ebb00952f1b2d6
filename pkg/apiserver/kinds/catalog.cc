// The facts of every served kind: names, versions, subresources, and how its deletion and status behave.
#include "pkg/apiserver/kind.h"
#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/base/check.h"

namespace dra::apiserver {

namespace {

SubresourceInfo status_subresource(const std::string& kind) {
  return {"status", {}, kind, {"get", "patch", "update"}};
}

KindInfo simple_kind(const std::string& group, const std::string& version, const std::string& schema_package,
                     const std::string& kind, const std::string& plural, const std::string& singular, bool namespaced) {
  return kind_info({group, version}, schema_package, kind, plural, singular, namespaced);
}

KindInfo core_kind(const std::string& kind, const std::string& plural, const std::string& singular, bool namespaced) {
  return simple_kind("", "v1", "core/v1", kind, plural, singular, namespaced);
}

std::vector<std::string> proxy_verbs() {
  return {"create", "delete", "get", "patch", "update"};
}

KindInfo pods_info() {
  KindInfo i = core_kind("Pod", "pods", "pod", true);
  i.short_names = {"po"};
  i.categories = {"all"};
  i.has_status = true;
  i.has_generation = true;
  i.delete_returns_object = true;
  i.status_keeps_labels = false;
  i.status_keeps_finalizers = false;
  i.subresources = {{"attach", {}, "PodAttachOptions", {"create", "get"}},
                    {"binding", {}, "Binding", {"create"}},
                    {"ephemeralcontainers", {}, "Pod", {"get", "patch", "update"}},
                    {"eviction", {"policy", "v1"}, "Eviction", {"create"}},
                    {"exec", {}, "PodExecOptions", {"create", "get"}},
                    {"log", {}, "Pod", {"get"}},
                    {"portforward", {}, "PodPortForwardOptions", {"create", "get"}},
                    {"proxy", {}, "PodProxyOptions", proxy_verbs()},
                    {"resize", {}, "Pod", {"get", "patch", "update"}},
                    status_subresource("Pod")};
  return i;
}

KindInfo nodes_info() {
  KindInfo i = core_kind("Node", "nodes", "node", false);
  i.keeps_status_on_create = true;
  i.subresources = {{"proxy", {}, "NodeProxyOptions", proxy_verbs()}};
  i.short_names = {"no"};
  i.status_keeps_labels = false;
  i.status_keeps_finalizers = false;
  with_status(i);
  return i;
}

KindInfo namespaces_info() {
  KindInfo i = core_kind("Namespace", "namespaces", "namespace", false);
  i.short_names = {"ns"};
  i.name_rule = NameRule::kDnsLabel;
  i.verbs = {"create", "delete", "get", "list", "patch", "update", "watch"};
  i.subresources = {{"finalize", {}, "Namespace", {"update"}}};
  i.delete_returns_object = true;
  with_status(i);
  return i;
}

KindInfo events_info() {
  KindInfo i = core_kind("Event", "events", "event", true);
  i.short_names = {"ev"};
  i.allow_create_on_update = true;
  i.served.push_back({{"events.k8s.io", "v1"}, "events/v1", ""});
  return i;
}

KindInfo serviceaccounts_info() {
  KindInfo i = core_kind("ServiceAccount", "serviceaccounts", "serviceaccount", true);
  i.short_names = {"sa"};
  i.delete_returns_object = true;
  i.subresources = {{"token", {"authentication.k8s.io", "v1"}, "TokenRequest", {"create"}}};
  return i;
}

KindInfo services_info() {
  KindInfo i = core_kind("Service", "services", "service", true);
  i.subresources = {{"proxy", {}, "ServiceProxyOptions", proxy_verbs()}};
  i.short_names = {"svc"};
  i.categories = {"all"};
  i.name_rule = NameRule::kDnsLabel;
  i.delete_returns_object = true;
  with_status(i);
  return i;
}

KindInfo leases_info() {
  KindInfo i = simple_kind("coordination.k8s.io", "v1", "coordination/v1", "Lease", "leases", "lease", true);
  i.allow_create_on_update = true;
  i.allow_unconditional_update = false;
  return i;
}

KindInfo deployments_info() {
  KindInfo i = simple_kind("apps", "v1", "apps/v1", "Deployment", "deployments", "deployment", true);
  i.short_names = {"deploy"};
  i.categories = {"all"};
  i.has_generation = true;
  i.status_keeps_finalizers = false;
  i.subresources = {{"scale", {"autoscaling", "v1"}, "Scale", {"get", "patch", "update"}}};
  with_status(i);
  return i;
}

KindInfo replicasets_info() {
  KindInfo i = simple_kind("apps", "v1", "apps/v1", "ReplicaSet", "replicasets", "replicaset", true);
  i.short_names = {"rs"};
  i.categories = {"all"};
  i.has_generation = true;
  i.subresources = {{"scale", {"autoscaling", "v1"}, "Scale", {"get", "patch", "update"}}};
  with_status(i);
  return i;
}

// StatefulSet, DaemonSet and ReplicationController.
KindInfo pod_set_info(KindInfo i, const std::string& short_name, bool scales) {
  i.short_names = {short_name};
  i.categories = {"all"};
  i.has_generation = true;
  if (scales) i.subresources = {{"scale", {"autoscaling", "v1"}, "Scale", {"get", "patch", "update"}}};
  with_status(i);
  return i;
}

KindInfo resource_quotas_info() {
  KindInfo i = core_kind("ResourceQuota", "resourcequotas", "resourcequota", true);
  i.short_names = {"quota"};
  with_status(i);
  i.delete_returns_object = true;
  return i;
}

KindInfo jobs_info() {
  KindInfo i = simple_kind("batch", "v1", "batch/v1", "Job", "jobs", "job", true);
  i.categories = {"all"};
  i.has_generation = true;
  i.status_keeps_labels = false;
  i.status_keeps_finalizers = false;
  with_status(i);
  return i;
}

KindInfo priorityclasses_info() {
  KindInfo i = simple_kind("scheduling.k8s.io", "v1", "scheduling/v1", "PriorityClass", "priorityclasses",
                           "priorityclass", false);
  i.short_names = {"pc"};
  i.has_generation = true;
  return i;
}

KindInfo disruption_budgets_info() {
  KindInfo i = simple_kind("policy", "v1", "policy/v1", "PodDisruptionBudget", "poddisruptionbudgets",
                           "poddisruptionbudget", true);
  i.short_names = {"pdb"};
  i.has_generation = true;
  with_status(i);
  return i;
}

KindInfo rbac_kind(const std::string& kind, const std::string& plural, const std::string& singular, bool namespaced) {
  KindInfo i = simple_kind("rbac.authorization.k8s.io", "v1", "rbac/v1", kind, plural, singular, namespaced);
  i.name_rule = NameRule::kPathSegment;
  return i;
}

KindInfo resource_kind(const std::string& kind, const std::string& plural, const std::string& singular,
                       bool namespaced) {
  KindInfo i = simple_kind("resource.k8s.io", "v1", "resource/v1", kind, plural, singular, namespaced);
  auto old_version = [&](const std::string& version, const std::string& since, const std::string& until) {
    i.served.push_back({{"resource.k8s.io", version},
                        "resource/" + version,
                        "resource.k8s.io/" + version + " " + kind + " is deprecated in " + since +
                            "+, unavailable in " + until + "+"});
  };
  old_version("v1beta2", "v1.36", "v1.39");
  old_version("v1beta1", "v1.35", "v1.38");
  i.delete_returns_object = true;
  return i;
}

KindInfo taint_rules_info() {
  KindInfo i = simple_kind("resource.k8s.io", "v1beta2", "resource/v1beta2", "DeviceTaintRule", "devicetaintrules",
                           "devicetaintrule", false);
  i.served.push_back({{"resource.k8s.io", "v1alpha3"},
                      "resource/v1alpha3",
                      "resource.k8s.io/v1alpha3 DeviceTaintRule is deprecated in v1.36+, unavailable in v1.39+"});
  i.storage_version = "v1alpha3";
  i.has_generation = true;
  i.delete_returns_object = true;
  with_status(i);
  return i;
}

}  // namespace

KindInfo catalog_info(std::string_view group, std::string_view plural) {
  if (group.empty()) {
    if (plural == "pods") return pods_info();
    if (plural == "nodes") return nodes_info();
    if (plural == "namespaces") return namespaces_info();
    if (plural == "events") return events_info();
    if (plural == "serviceaccounts") return serviceaccounts_info();
    if (plural == "services") return services_info();
    if (plural == "resourcequotas") return resource_quotas_info();
    if (plural == "replicationcontrollers") {
      return pod_set_info(core_kind("ReplicationController", "replicationcontrollers", "replicationcontroller", true),
                          "rc", true);
    }
    if (plural == "secrets") return core_kind("Secret", "secrets", "secret", true);
    if (plural == "configmaps") {
      KindInfo i = core_kind("ConfigMap", "configmaps", "configmap", true);
      i.short_names = {"cm"};
      return i;
    }
  }
  if (group == "coordination.k8s.io" && plural == "leases") return leases_info();
  if (group == "apps" && plural == "deployments") return deployments_info();
  if (group == "apps" && plural == "replicasets") return replicasets_info();
  if (group == "apps" && plural == "statefulsets") {
    KindInfo i = simple_kind("apps", "v1", "apps/v1", "StatefulSet", "statefulsets", "statefulset", true);
    i.name_rule = NameRule::kDnsLabel;
    return pod_set_info(std::move(i), "sts", true);
  }
  if (group == "apps" && plural == "daemonsets") {
    return pod_set_info(simple_kind("apps", "v1", "apps/v1", "DaemonSet", "daemonsets", "daemonset", true), "ds",
                        false);
  }
  if (group == "batch" && plural == "jobs") return jobs_info();
  if (group == "scheduling.k8s.io" && plural == "priorityclasses") return priorityclasses_info();
  if (group == "policy" && plural == "poddisruptionbudgets") return disruption_budgets_info();
  if (group == "rbac.authorization.k8s.io") {
    if (plural == "roles") return rbac_kind("Role", "roles", "role", true);
    if (plural == "rolebindings") return rbac_kind("RoleBinding", "rolebindings", "rolebinding", true);
    if (plural == "clusterroles") return rbac_kind("ClusterRole", "clusterroles", "clusterrole", false);
    if (plural == "clusterrolebindings") {
      return rbac_kind("ClusterRoleBinding", "clusterrolebindings", "clusterrolebinding", false);
    }
  }
  if (group == "resource.k8s.io") {
    if (plural == "resourceclaims") {
      KindInfo i = resource_kind("ResourceClaim", "resourceclaims", "resourceclaim", true);
      with_status(i);
      return i;
    }
    if (plural == "devicetaintrules") return taint_rules_info();
    if (plural == "resourceclaimtemplates") {
      return resource_kind("ResourceClaimTemplate", "resourceclaimtemplates", "resourceclaimtemplate", true);
    }
    KindInfo i = plural == "deviceclasses" ? resource_kind("DeviceClass", "deviceclasses", "deviceclass", false)
                                           : resource_kind("ResourceSlice", "resourceslices", "resourceslice", false);
    i.has_generation = true;
    if (plural == "deviceclasses" || plural == "resourceslices") return i;
  }
  check_failed(__FILE__, __LINE__, "catalog_info: no such kind");
}

}  // namespace dra::apiserver
