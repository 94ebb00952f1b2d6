// decode<T>() for Pod and its parts.
#include <algorithm>
#include <iterator>
#include <limits>

#include "pkg/api/decode/decode_entry.h"
#include "pkg/api/pod_bounds.h"
#include "pkg/api/quantity.h"
#include "pkg/api/release.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"
#include "pkg/base/utf8.h"

namespace dra::api {
namespace detail {
namespace {

bool read_container_claim(const WireValue& v, ContainerClaim& out, Trouble& t) {
  return expect_object(v, t) && field(v, "name", out.name, t) && field(v, "request", out.request, t);
}

bool read_host_port(const WireValue& v, std::vector<HostPort>& out, Trouble& t) {
  int64_t port = 0;
  if (!expect_object(v, t) || !field(v, "hostPort", port, t)) return false;
  if (port < 0 || port > std::numeric_limits<uint16_t>::max()) {
    t.out_of_range("the port " + std::to_string(port));
    return t.in_member("hostPort");
  }
  if (port == 0) return true;
  HostPort& read = out.emplace_back();
  read.port = static_cast<uint16_t>(port);
  return field(v, "protocol", read.protocol, t) && field(v, "hostIP", read.ip, t);
}

bool read_host_ports(const WireValue& list, std::vector<HostPort>& out, Trouble& t) {
  if (list.kind() != WireValue::Kind::kArray) return t.wrong_type(list, "an array");
  size_t index = 0;
  return list.each_element([&](const WireValue& port) {
    if (!port.is_null() && !read_host_port(port, out, t)) return t.in_element(index);
    ++index;
    return true;
  });
}

void cut_image(std::string& image) {
  if (image.size() <= kMaxImageText) return;
  image.resize(kMaxImageText);
  image.shrink_to_fit();
}

}  // namespace

bool read(const WireValue& v, Container& out, Trouble& t) {
  if (!expect_object(v, t) || !field(v, "name", out.name, t) || !field(v, "image", out.image, t)) return false;
  cut_image(out.image);
  return section(v, "resources", t,
                 [&](const WireValue& r) {
                   return quantities(r, "requests", out.requests, t) && quantities(r, "limits", out.limits, t) &&
                          field_with(r, "claims", t, [&](const WireValue& list) {
                            return read_list(list, out.claims, t, read_container_claim);
                          });
                 }) &&
         field(v, "restartPolicy", out.restart_policy, t) &&
         field_with(v, "ports", t, [&](const WireValue& list) { return read_host_ports(list, out.host_ports, t); });
}

namespace {

bool read_pod_toleration(const WireValue& v, Toleration& out, Trouble& t) {
  return expect_object(v, t) && field(v, "key", out.key, t) && field(v, "operator", out.op, t) &&
         field(v, "value", out.value, t) && field(v, "effect", out.effect, t) &&
         field(v, "tolerationSeconds", out.toleration_seconds, t);
}

bool read_preferred_term(const WireValue& v, PreferredSchedulingTerm& out, Trouble& t) {
  return expect_object(v, t) && field(v, "weight", out.weight, t) && field(v, "preference", out.preference, t);
}

bool read_node_affinity(const WireValue& v, NodeAffinity& out, Trouble& t) {
  return expect_object(v, t) && field(v, "requiredDuringSchedulingIgnoredDuringExecution", out.required, t) &&
         field_with(v, "preferredDuringSchedulingIgnoredDuringExecution", t,
                    [&](const WireValue& list) { return read_list(list, out.preferred, t, read_preferred_term); });
}

bool read_pod_affinity_term(const WireValue& v, PodAffinityTerm& out, Trouble& t) {
  return expect_object(v, t) && field(v, "labelSelector", out.label_selector, t) &&
         field(v, "namespaces", out.namespaces, t) && field(v, "namespaceSelector", out.namespace_selector, t) &&
         field(v, "topologyKey", out.topology_key, t);
}

bool read_weighted_affinity_term(const WireValue& v, WeightedPodAffinityTerm& out, Trouble& t) {
  return expect_object(v, t) && field(v, "weight", out.weight, t) &&
         field_with(v, "podAffinityTerm", t,
                    [&](const WireValue& term) { return read_pod_affinity_term(term, out.term, t); });
}

bool read_pod_affinity(const WireValue& v, PodAffinity& out, Trouble& t) {
  return field_with(v, "requiredDuringSchedulingIgnoredDuringExecution", t,
                    [&](const WireValue& list) { return read_list(list, out.required, t, read_pod_affinity_term); }) &&
         field_with(v, "preferredDuringSchedulingIgnoredDuringExecution", t, [&](const WireValue& list) {
           return read_list(list, out.preferred, t, read_weighted_affinity_term);
         });
}

bool read_affinity(const WireValue& v, Pod& out, Trouble& t) {
  return field_with(v, "nodeAffinity", t,
                    [&](const WireValue& n) { return read_node_affinity(n, out.node_affinity.emplace(), t); }) &&
         section(v, "podAffinity", t, [&](const WireValue& a) { return read_pod_affinity(a, out.pod_affinity, t); }) &&
         section(v, "podAntiAffinity", t,
                 [&](const WireValue& a) { return read_pod_affinity(a, out.pod_anti_affinity, t); });
}

bool read_spread_constraint(const WireValue& v, TopologySpreadConstraint& out, Trouble& t) {
  return expect_object(v, t) && field(v, "maxSkew", out.max_skew, t) && field(v, "topologyKey", out.topology_key, t) &&
         field(v, "whenUnsatisfiable", out.when_unsatisfiable, t) && field(v, "labelSelector", out.label_selector, t) &&
         field(v, "minDomains", out.min_domains, t) && field(v, "nodeAffinityPolicy", out.node_affinity_policy, t) &&
         field(v, "nodeTaintsPolicy", out.node_taints_policy, t) && field(v, "matchLabelKeys", out.match_label_keys, t);
}

bool read_rbd(const WireValue& v, InlineDisk& out, Trouble& t) {
  std::string pool, image;
  if (!field(v, "pool", pool, t) || !field(v, "image", image, t)) return false;
  out.id = pool + "/" + image;
  return field(v, "monitors", out.monitors, t);
}

bool read_inline_disk(const WireValue& v, PodVolume& out, Trouble& t) {
  const auto disk = [&](const char* member, InlineDisk::Kind kind, const char* id) {
    return section(v, member, t, [&](const WireValue& source) {
      InlineDisk& read = out.disk.emplace();
      read.kind = kind;
      if (!field(source, "readOnly", read.read_only, t)) return false;
      return id ? field(source, id, read.id, t) : read_rbd(source, read, t);
    });
  };
  return disk("gcePersistentDisk", InlineDisk::Kind::kGcePersistentDisk, "pdName") &&
         disk("awsElasticBlockStore", InlineDisk::Kind::kAwsElasticBlockStore, "volumeID") &&
         disk("iscsi", InlineDisk::Kind::kIscsi, "iqn") && disk("rbd", InlineDisk::Kind::kRbd, nullptr);
}

bool read_volume(const WireValue& v, PodVolume& out, Trouble& t) {
  const auto read_image = [&](const WireValue& image) {
    if (!field(image, "reference", out.image, t)) return false;
    cut_image(out.image);
    return true;
  };
  return expect_object(v, t) && field(v, "name", out.name, t) &&
         section(v, "persistentVolumeClaim", t,
                 [&](const WireValue& claim) { return field(claim, "claimName", out.claim_name, t); }) &&
         section(v, "ephemeral", t,
                 [&](const WireValue&) {
                   out.ephemeral = true;
                   return true;
                 }) &&
         section(v, "image", t, read_image) && read_inline_disk(v, out, t);
}

bool read_volumes(const WireValue& list, std::vector<PodVolume>& out, bool& has_host_path, Trouble& t) {
  const auto read_one = [&](const WireValue& v, PodVolume& volume, Trouble& trouble) {
    if (!read_volume(v, volume, trouble)) return false;
    has_host_path = has_host_path || has_member(v, "hostPath");
    return true;
  };
  if (!read_list(list, out, t, read_one)) return false;
  std::erase_if(out, [](const PodVolume& volume) {
    return volume.claim_name.empty() && !volume.ephemeral && volume.image.empty() && !volume.disk;
  });
  out.shrink_to_fit();
  return true;
}

bool read_gate(const WireValue& v, std::string& out, Trouble& t) {
  return expect_object(v, t) && field(v, "name", out, t);
}

bool read_pod_claim(const WireValue& v, PodResourceClaim& out, Trouble& t) {
  return expect_object(v, t) && field(v, "name", out.name, t) &&
         field(v, "resourceClaimName", out.resource_claim_name, t) &&
         field(v, "resourceClaimTemplateName", out.resource_claim_template_name, t);
}

bool read_pod_claim_status(const WireValue& v, PodResourceClaimStatus& out, Trouble& t) {
  return expect_object(v, t) && field(v, "name", out.name, t) &&
         field(v, "resourceClaimName", out.resource_claim_name, t);
}

bool read_mapping(const WireValue& v, ContainerExtendedResourceRequest& out, Trouble& t) {
  return expect_object(v, t) && field(v, "containerName", out.container_name, t) &&
         field(v, "resourceName", out.resource_name, t) && field(v, "requestName", out.request_name, t);
}

bool read_extended_status(const WireValue& v, PodExtendedResourceClaimStatus& out, Trouble& t) {
  return expect_object(v, t) && field(v, "resourceClaimName", out.resource_claim_name, t) &&
         field_with(v, "requestMappings", t,
                    [&](const WireValue& list) { return read_list(list, out.request_mappings, t, read_mapping); });
}

bool read_preemption_policy(const WireValue& v, Pod& out, Trouble& t) {
  std::string policy;
  const bool readable = field(v, "preemptionPolicy", policy, t);
  out.never_preempts = policy == "Never";
  return readable;
}

bool read_start(const WireValue& v, Pod& out, Trouble& t) {
  std::string text;
  if (!field(v, "startTime", text, t)) return false;
  Timestamp time;
  if (parse_rfc3339(text, time)) out.started = time.seconds();
  return true;
}

bool read_pod_spec(const WireValue& v, Pod& out, Trouble& t) {
  return field(v, "nodeName", out.node_name, t) && field(v, "schedulerName", out.scheduler_name, t) &&
         field(v, "restartPolicy", out.restart_policy, t) && field(v, "nodeSelector", out.node_selector, t) &&
         section(v, "affinity", t, [&](const WireValue& a) { return read_affinity(a, out, t); }) &&
         field_with(
             v, "topologySpreadConstraints", t,
             [&](const WireValue& list) { return read_list(list, out.topology_spread, t, read_spread_constraint); }) &&
         field_with(v, "volumes", t,
                    [&](const WireValue& list) { return read_volumes(list, out.volumes, out.has_host_path, t); }) &&
         field_with(
             v, "tolerations", t,
             [&](const WireValue& list) { return read_list(list, out.tolerations.edit(), t, read_pod_toleration); }) &&
         field_with(v, "schedulingGates", t,
                    [&](const WireValue& list) { return read_list(list, out.scheduling_gates, t, read_gate); }) &&
         field_with(
             v, "resourceClaims", t,
             [&](const WireValue& list) { return read_list(list, out.resource_claims.edit(), t, read_pod_claim); }) &&
         field(v, "containers", out.containers.edit(), t) &&
         field_with(v, "initContainers", t,
                    [&](const WireValue& list) { return read(list, out.init_containers.edit(), t); }) &&
         quantities(v, "overhead", out.overhead, t) &&
         section(v, "resources", t,
                 [&](const WireValue& r) {
                   return field_with(r, "requests", t, [&](const WireValue& map) {
                     return read_quantity_map(map, out.pod_requests.emplace(), t);
                   });
                 }) &&
         field(v, "priority", out.priority, t) && read_preemption_policy(v, out, t) &&
         field(v, "priorityClassName", out.priority_class_name, t) &&
         section(v, "schedulingGroup", t,
                 [&](const WireValue& group) { return field(group, "podGroupName", out.pod_group_name, t); }) &&
         field(v, "terminationGracePeriodSeconds", out.termination_grace_period_seconds, t) &&
         field(v, "activeDeadlineSeconds", out.active_deadline_seconds, t);
}

// Leaves `out` empty where the status has no `resources`.
bool read_resized(const WireValue& v, Rare<ResizedResources>& out, Trouble& t) {
  return section(v, "resources", t, [&](const WireValue& r) {
    ResizedResources& read = out.emplace();
    return quantities(r, "requests", read.in_force, t) && quantities(v, "allocatedResources", read.allocated, t);
  });
}

bool differs(const ResizedResources& status, const ResourceList& spec) {
  return status.in_force != spec || (!status.allocated.empty() && status.allocated != spec);
}

// Each element that is not null.
template <class F>
bool each_object(const WireValue& list, Trouble& t, F&& read_one) {
  if (list.kind() != WireValue::Kind::kArray) return t.wrong_type(list, "an array");
  size_t index = 0;
  return list.each_element([&](const WireValue& one) {
    if (!one.is_null() && !read_one(one)) return t.in_element(index);
    ++index;
    return true;
  });
}

std::string cut_health_text(std::string text) {
  if (text.size() > kMaxHealthText) text.resize(utf8_prefix(text, kMaxHealthText).size());
  return text;
}

// One resource of one entry of allocatedResourcesStatus. `name` is the entry's: "claim:ENTRY" or "claim:ENTRY/REQUEST".
bool read_health(const WireValue& v, const std::string& name, Pod& out, Trouble& t) {
  constexpr std::string_view kOfClaim = "claim:";
  std::string health;
  if (!expect_object(v, t) || !field(v, "health", health, t)) return false;
  if (health != "Unhealthy" || !name.starts_with(kOfClaim) || out.unhealthy_devices.size() >= kMaxUnhealthyDevices)
    return true;
  UnhealthyDevice device;
  const size_t slash = std::min(name.find('/'), name.size());
  device.entry = name.substr(kOfClaim.size(), slash - kOfClaim.size());
  if (std::none_of(out.resource_claims.begin(), out.resource_claims.end(),
                   [&](const PodResourceClaim& claim) { return claim.name == device.entry; }))
    return true;
  if (slash < name.size()) device.request = cut_health_text(name.substr(slash + 1));
  if (!field(v, "resourceID", device.id, t) || !field(v, "message", device.message, t)) return false;
  device.id = cut_health_text(std::move(device.id));
  device.message = cut_health_text(std::move(device.message));
  const auto known = [&](const UnhealthyDevice& other) {
    return other.entry == device.entry && other.request == device.request && other.id == device.id;
  };
  if (std::none_of(out.unhealthy_devices.begin(), out.unhealthy_devices.end(), known))
    out.unhealthy_devices.push_back(std::move(device));
  return true;
}

bool read_resource_status(const WireValue& v, Pod& out, Trouble& t) {
  std::string name;
  return expect_object(v, t) && field(v, "name", name, t) && field_with(v, "resources", t, [&](const WireValue& list) {
           return each_object(list, t, [&](const WireValue& one) { return read_health(one, name, out, t); });
         });
}

// Keeps the resources that differ from the spec of the container with that name, and the unhealthy devices.
bool read_container_statuses(const WireValue& list, const std::vector<Container>& containers, Pod& out, Trouble& t) {
  if (list.kind() != WireValue::Kind::kArray) return t.wrong_type(list, "an array");
  size_t index = 0;
  return list.each_element([&](const WireValue& status) {
    std::string name;
    Rare<ResizedResources> resources;
    if (!status.is_null() && (!field(status, "name", name, t) || !read_resized(status, resources, t) ||
                              !field_with(status, "allocatedResourcesStatus", t, [&](const WireValue& health) {
                                return each_object(
                                    health, t, [&](const WireValue& one) { return read_resource_status(one, out, t); });
                              })))
      return t.in_element(index);
    const auto spec = std::find_if(containers.begin(), containers.end(), [&](const auto& c) { return c.name == name; });
    if (resources && spec != containers.end() && differs(*resources, spec->requests))
      out.resized_containers.push_back({name, std::move(*resources)});
    ++index;
    return true;
  });
}

// Call after the spec was read.
bool read_container_and_pod_resources(const WireValue& v, Pod& out, Trouble& t) {
  if (!field_with(v, "containerStatuses", t,
                  [&](const WireValue& list) { return read_container_statuses(list, out.containers, out, t); }) ||
      !field_with(v, "initContainerStatuses", t,
                  [&](const WireValue& list) { return read_container_statuses(list, out.init_containers, out, t); }))
    return false;
  if (!out.pod_requests) return true;
  if (!read_resized(v, out.resized, t)) return false;
  if (out.resized && !differs(*out.resized, *out.pod_requests)) out.resized.reset();
  return true;
}

// Every message of a kubelet that does not admit a pod begins like this; the reasons are an open set.
bool read_refusal(const WireValue& v, Pod& out, Trouble& t) {
  if (out.phase != "Failed") return true;
  KubeletRefusal refusal;
  if (!field(v, "reason", refusal.reason, t) || !field(v, "message", refusal.message, t)) return false;
  if (refusal.message.starts_with("Pod was rejected")) out.refusal = std::move(refusal);
  return true;
}

// A sum with more digits than a quantity can have exceeds every node, and so does the larger operand.
Quantity saturating_sum(const Quantity& a, const Quantity& b) {
  const Result<Quantity> both = a.add(b);
  return both ? *both : std::max(a, b);
}

void add_amount(ResourceList& sum, const std::string& name, const std::string& text, size_t times) {
  std::string& total = sum[name];
  const Result<Quantity> one = Quantity::parse(text), before = Quantity::parse(total.empty() ? "0" : total);
  if (!one || !before) return;  // no API server stores it
  Quantity both = *before, doubled = *one;
  for (; times > 0; times /= 2) {
    if (times % 2 == 1) both = saturating_sum(both, doubled);
    if (times > 1) doubled = saturating_sum(doubled, doubled);
  }
  total = both.to_string();
}

// `mapping` and `overhead` of an entry: lists of a resource's name and amounts.
bool read_amounts(const WireValue& list, size_t containers, ResourceList& sum, Trouble& t) {
  return each_object(list, t, [&](const WireValue& one) {
    std::string name, amount, per_pod, per_container;
    const auto text = [&](std::string_view member, std::string& out) {
      return field_with(one, member, t, [&](const WireValue& q) { return read_quantity(q, out, t); });
    };
    if (!expect_object(one, t) || !field(one, "name", name, t) || !text("quantity", amount) ||
        !text("perPod", per_pod) || !text("perContainer", per_container))
      return false;
    if (!amount.empty()) add_amount(sum, name, amount, 1);
    if (!per_pod.empty()) add_amount(sum, name, per_pod, 1);
    if (!per_container.empty()) add_amount(sum, name, per_container, containers);
    return true;
  });
}

// An entry of either list, in any of its forms (ClaimTakes).
bool read_claim_takes(const WireValue& v, ClaimTakes& out, Trouble& t) {
  std::vector<std::string> containers;
  if (!expect_object(v, t) || !field(v, "resourceClaimName", out.claim, t) ||
      !section(v, "source", t, [&](const WireValue& source) { return field(source, "name", out.claim, t); }) ||
      !field(v, "containers", containers, t) || !quantities(v, "resources", out.resources, t))
    return false;
  for (const char* list : {"mapping", "overhead"})
    if (!field_with(v, list, t,
                    [&](const WireValue& l) { return read_amounts(l, containers.size(), out.resources, t); }))
      return false;
  return true;
}

bool read_claims_take(const WireValue& v, Pod& out, Trouble& t) {
  for (const char* member : {"nodeAllocatableResourceClaimStatuses", "additionalNodeAllocatableResources"}) {
    std::vector<ClaimTakes> read;
    if (!field_with(v, member, t, [&](const WireValue& list) { return read_list(list, read, t, read_claim_takes); }))
      return false;
    if (read.empty()) continue;
    if (!out.claims_take) out.claims_take.emplace();
    std::move(read.begin(), read.end(), std::back_inserter(*out.claims_take));
  }
  // Numbers that the table lacks say how much, too: then the reflector reads JSON, which has their names.
  if (!out.claims_take || v.unknown_number().empty()) return true;
  t.out_of_range(v.unknown_number());
  return t.in_member("nodeAllocatableResourceClaimStatuses");
}

bool read_pod_status(const WireValue& v, Pod& out, Trouble& t) {
  return field(v, "phase", out.phase, t) && read_refusal(v, out, t) && read_start(v, out, t) &&
         field(v, "nominatedNodeName", out.nominated_node_name, t) && field(v, "conditions", out.conditions, t) &&
         field_with(v, "resourceClaimStatuses", t,
                    [&](const WireValue& list) {
                      return read_list(list, out.resource_claim_statuses, t, read_pod_claim_status);
                    }) &&
         field_with(v, "extendedResourceClaimStatus", t,
                    [&](const WireValue& s) {
                      return read_extended_status(s, out.extended_resource_claim_status.emplace(), t);
                    }) &&
         read_claims_take(v, out, t) && read_container_and_pod_resources(v, out, t);
}

}  // namespace

bool read(const WireValue& v, Pod& out, Trouble& t) {
  const bool readable =
      expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kKept, t) &&
      section(v, "spec", t, [&](const WireValue& spec) { return read_pod_spec(spec, out, t); }) &&
      section(v, "status", t, [&](const WireValue& status) { return read_pod_status(status, out, t); });
  release(out.metadata.finalizers);  // nothing here reads a pod's
  drop_beyond_bounds(out);
  return readable;
}

}  // namespace detail

DRA_DECODE_KIND(Pod)
DRA_DECODE_PROTOBUF(Pod)
DRA_DECODE_PART(Container)

}  // namespace dra::api
