// decode<T>() for the kinds of core.h and the parts of meta.h.
#include <limits>

#include "pkg/api/decode_entry.h"
#include "pkg/base/strings.h"

namespace dra::api {
namespace detail {

std::string item_key(const JsonValue& item) {
  JsonValue metadata, value;
  std::string_view name, ns;
  if (!item.find("metadata", metadata) || !metadata.find("name", value) || !value.get(name) || name.empty()) return {};
  if (!metadata.find("namespace", value) || !value.get(ns) || ns.empty()) return std::string(name);
  return std::string(ns) + "/" + std::string(name);
}

bool read_list_meta(const JsonValue& list, ListMeta& out, Trouble& trouble) {
  return section(list, "metadata", trouble, [&](const JsonValue& v) {
    return field(v, "resourceVersion", out.resource_version, trouble) &&
           field(v, "continue", out.continue_token, trouble) &&
           field(v, "remainingItemCount", out.remaining_item_count, trouble);
  });
}

namespace {

bool quantities(const JsonValue& v, std::string_view name, ResourceList& out, Trouble& t) {
  return field_with(v, name, t, [&](const JsonValue& map) { return read_quantity_map(map, out, t); });
}

bool read_container_claim(const JsonValue& v, ContainerClaim& out, Trouble& t) {
  return expect_object(v, t) && field(v, "name", out.name, t) && field(v, "request", out.request, t);
}

bool read_host_port(const JsonValue& v, std::vector<uint16_t>& out, Trouble& t) {
  int64_t port = 0;
  if (!expect_object(v, t) || !field(v, "hostPort", port, t)) return false;
  if (port < 0 || port > std::numeric_limits<uint16_t>::max()) {
    t.out_of_range("the port " + std::to_string(port));
    return t.in_member("hostPort");
  }
  if (port != 0) out.push_back(static_cast<uint16_t>(port));
  return true;
}

bool read_host_ports(const JsonValue& list, std::vector<uint16_t>& out, Trouble& t) {
  if (list.kind() != JsonValue::Kind::kArray) return t.wrong_type(list, "an array");
  size_t index = 0;
  return list.each_element([&](const JsonValue& port) {
    if (!port.is_null() && !read_host_port(port, out, t)) return t.in_element(index);
    ++index;
    return true;
  });
}

}  // namespace

bool read(const JsonValue& v, Container& out, Trouble& t) {
  return expect_object(v, t) && field(v, "name", out.name, t) &&
         section(v, "resources", t,
                 [&](const JsonValue& r) {
                   return quantities(r, "requests", out.requests, t) && quantities(r, "limits", out.limits, t) &&
                          field_with(r, "claims", t, [&](const JsonValue& list) {
                            return read_list(list, out.claims, t, read_container_claim);
                          });
                 }) &&
         field(v, "restartPolicy", out.restart_policy, t) &&
         field_with(v, "ports", t, [&](const JsonValue& list) { return read_host_ports(list, out.host_ports, t); });
}

namespace {

bool read_pod_toleration(const JsonValue& v, Toleration& out, Trouble& t) {
  return expect_object(v, t) && field(v, "key", out.key, t) && field(v, "operator", out.op, t) &&
         field(v, "value", out.value, t) && field(v, "effect", out.effect, t) &&
         field(v, "tolerationSeconds", out.toleration_seconds, t);
}

bool read_preferred_term(const JsonValue& v, PreferredSchedulingTerm& out, Trouble& t) {
  return expect_object(v, t) && field(v, "weight", out.weight, t) && field(v, "preference", out.preference, t);
}

bool read_node_affinity(const JsonValue& v, NodeAffinity& out, Trouble& t) {
  return expect_object(v, t) && field(v, "requiredDuringSchedulingIgnoredDuringExecution", out.required, t) &&
         field_with(v, "preferredDuringSchedulingIgnoredDuringExecution", t,
                    [&](const JsonValue& list) { return read_list(list, out.preferred, t, read_preferred_term); });
}

bool read_gate(const JsonValue& v, std::string& out, Trouble& t) {
  return expect_object(v, t) && field(v, "name", out, t);
}

bool read_pod_claim(const JsonValue& v, PodResourceClaim& out, Trouble& t) {
  return expect_object(v, t) && field(v, "name", out.name, t) &&
         field(v, "resourceClaimName", out.resource_claim_name, t) &&
         field(v, "resourceClaimTemplateName", out.resource_claim_template_name, t);
}

bool read_pod_claim_status(const JsonValue& v, PodResourceClaimStatus& out, Trouble& t) {
  return expect_object(v, t) && field(v, "name", out.name, t) &&
         field(v, "resourceClaimName", out.resource_claim_name, t);
}

bool read_mapping(const JsonValue& v, ContainerExtendedResourceRequest& out, Trouble& t) {
  return expect_object(v, t) && field(v, "containerName", out.container_name, t) &&
         field(v, "resourceName", out.resource_name, t) && field(v, "requestName", out.request_name, t);
}

bool read_extended_status(const JsonValue& v, PodExtendedResourceClaimStatus& out, Trouble& t) {
  return expect_object(v, t) && field(v, "resourceClaimName", out.resource_claim_name, t) &&
         field_with(v, "requestMappings", t,
                    [&](const JsonValue& list) { return read_list(list, out.request_mappings, t, read_mapping); });
}

bool read_pod_spec(const JsonValue& v, Pod& out, Trouble& t) {
  return field(v, "nodeName", out.node_name, t) && field(v, "schedulerName", out.scheduler_name, t) &&
         field(v, "restartPolicy", out.restart_policy, t) && field(v, "nodeSelector", out.node_selector, t) &&
         section(v, "affinity", t,
                 [&](const JsonValue& a) {
                   return field_with(a, "nodeAffinity", t, [&](const JsonValue& n) {
                     return read_node_affinity(n, out.node_affinity.emplace(), t);
                   });
                 }) &&
         field_with(v, "tolerations", t,
                    [&](const JsonValue& list) { return read_list(list, out.tolerations, t, read_pod_toleration); }) &&
         field_with(v, "schedulingGates", t,
                    [&](const JsonValue& list) { return read_list(list, out.scheduling_gates, t, read_gate); }) &&
         field_with(v, "resourceClaims", t,
                    [&](const JsonValue& list) { return read_list(list, out.resource_claims, t, read_pod_claim); }) &&
         field(v, "containers", out.containers, t) && field(v, "initContainers", out.init_containers, t) &&
         quantities(v, "overhead", out.overhead, t) &&
         section(v, "resources", t,
                 [&](const JsonValue& r) {
                   return field_with(r, "requests", t, [&](const JsonValue& map) {
                     return read_quantity_map(map, out.pod_requests.emplace(), t);
                   });
                 }) &&
         field(v, "priority", out.priority, t) && field(v, "priorityClassName", out.priority_class_name, t) &&
         field(v, "terminationGracePeriodSeconds", out.termination_grace_period_seconds, t) &&
         field(v, "activeDeadlineSeconds", out.active_deadline_seconds, t);
}

bool read_pod_status(const JsonValue& v, Pod& out, Trouble& t) {
  return field(v, "phase", out.phase, t) && field(v, "nominatedNodeName", out.nominated_node_name, t) &&
         field(v, "conditions", out.conditions, t) &&
         field_with(v, "resourceClaimStatuses", t,
                    [&](const JsonValue& list) {
                      return read_list(list, out.resource_claim_statuses, t, read_pod_claim_status);
                    }) &&
         field_with(v, "extendedResourceClaimStatus", t, [&](const JsonValue& s) {
           return read_extended_status(s, out.extended_resource_claim_status.emplace(), t);
         });
}

bool read_node_taint(const JsonValue& v, Taint& out, Trouble& t) {
  return expect_object(v, t) && field(v, "key", out.key, t) && field(v, "value", out.value, t) &&
         field(v, "effect", out.effect, t) && field(v, "timeAdded", out.time_added, t);
}

}  // namespace

bool read(const JsonValue& v, Pod& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
         section(v, "spec", t, [&](const JsonValue& spec) { return read_pod_spec(spec, out, t); }) &&
         section(v, "status", t, [&](const JsonValue& status) { return read_pod_status(status, out, t); });
}

bool read(const JsonValue& v, Node& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kKept, t) &&
         section(v, "spec", t,
                 [&](const JsonValue& spec) {
                   return field(spec, "unschedulable", out.unschedulable, t) &&
                          field_with(spec, "taints", t, [&](const JsonValue& list) {
                            return read_list(list, out.taints, t, read_node_taint);
                          });
                 }) &&
         section(v, "status", t, [&](const JsonValue& status) {
           return quantities(status, "capacity", out.capacity, t) &&
                  quantities(status, "allocatable", out.allocatable, t) &&
                  field(status, "conditions", out.conditions, t);
         });
}

bool read(const JsonValue& v, Namespace& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kKept, t) &&
         section(v, "status", t, [&](const JsonValue& status) { return field(status, "phase", out.phase, t); });
}

bool read(const JsonValue& v, Lease& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kKept, t) &&
         section(v, "spec", t, [&](const JsonValue& spec) {
           return field(spec, "holderIdentity", out.holder_identity, t) &&
                  field(spec, "leaseDurationSeconds", out.lease_duration_seconds, t) &&
                  field(spec, "acquireTime", out.acquire_time, t) && field(spec, "renewTime", out.renew_time, t) &&
                  field(spec, "leaseTransitions", out.lease_transitions, t);
         });
}

}  // namespace detail

DRA_DECODE_KIND(Pod)
DRA_DECODE_KIND(Node)
DRA_DECODE_KIND(Namespace)
DRA_DECODE_KIND(Lease)
DRA_DECODE_PART(Container)
DRA_DECODE_PART(ObjectMeta)
DRA_DECODE_PART(LabelSelector)
DRA_DECODE_PART(NodeSelector)
DRA_DECODE_PART(NodeSelectorTerm)

}  // namespace dra::api
