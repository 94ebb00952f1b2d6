#include <gtest/gtest.h>

#include "pkg/verdict/verdict_fixture.h"

namespace dra::verdict {

namespace {

constexpr const char* kHost = "kubernetes.io/hostname";

std::string node_name(size_t i) {
  return "n" + std::to_string(i);
}

}  // namespace

std::shared_ptr<const api::ResourceClaim> VerdictWorld::claim(const std::string& name, const std::string& of_class,
                                                              int devices) {
  auto made = std::make_shared<api::ResourceClaim>();
  made->metadata.name = name;
  made->metadata.ns = "ns";
  made->metadata.uid = "uid-" + name;
  api::DeviceRequest& request = made->spec.requests.emplace_back();
  request.name = of_class == "nic" ? "nic" : request_name;
  request.exactly.emplace();
  request.exactly->device_class_name = of_class;
  request.exactly->count = devices;
  if (all) request.exactly->allocation_mode = "All";
  if (of_class == "nic") return made;
  request.exactly->selectors = selectors;
  request.exactly->capacity_requests = capacity;
  if (match) made->spec.constraints.push_back({{}, *match, std::nullopt});
  return made;
}

Facts VerdictWorld::facts() {
  NameOfHolder names;
  if (name_holders)
    names = [](std::string_view uid) {
      Holder holder;
      const std::string number(uid.substr(1));
      holder.claim = "other/h" + number;
      holder.pods = {"other/p" + number};
      return holder;
    };
  return {cluster, inventory, allocator, names, placement::Volumes::kChecked};
}

Verdict VerdictWorld::judge() {
  make_nodes();
  make_slices();
  make_pods();
  hold_devices();
  ask();
  return verdict::judge(facts(), question);
}

void VerdictWorld::make_nodes() {
  for (size_t i = 0; i < nodes.size(); ++i) {
    auto node = std::make_shared<api::Node>();
    node->metadata.name = node_name(i);
    node->metadata.labels = {{kHost, node_name(i)}};
    node->allocatable = {
        {"cpu", nodes[i].cpu}, {"memory", "64Gi"}, {"ephemeral-storage", "10Gi"}, {"pods", nodes[i].pods}};
    node->unschedulable = nodes[i].unschedulable;
    if (nodes[i].deleting) node->metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
    if (node_taint) node->taints.push_back(*node_taint);
    inventory.apply_node(node->metadata.name, node->metadata.labels);
    cluster.set_node(std::move(node));
  }
}

// On each node a pod of another namespace, with what keeps our pod away.
void VerdictWorld::make_pods() {
  for (size_t i = 0; i < nodes.size(); ++i) {
    api::Pod other;
    other.metadata.name = other.metadata.uid = "on-" + node_name(i);
    other.metadata.ns = "ns";
    other.metadata.labels = {{"app", "x"}};
    api::Container& container = other.containers.emplace_back();
    if (host_port != 0) container.host_ports.push_back({static_cast<uint16_t>(host_port), "TCP", ""});
    cluster.set_pod(other, node_name(i), false);
  }
}

void VerdictWorld::make_slices() {
  for (size_t i = 0; i < nodes.size(); ++i) {
    api::ResourceSlice slice;
    slice.metadata.name = "gpus-" + node_name(i);
    slice.driver = "gpu.example.com";
    slice.pool = {node_name(i), 7, incomplete ? 3 : cut ? 2 : 1};
    slice.node_name = node_name(i);
    for (int d = 0; d < nodes[i].devices; ++d) {
      api::Device& device = slice.devices.emplace_back();
      device.name = "gpu-" + std::to_string(invalid ? 0 : d);
      device.attributes["productName"] = std::string("A100");
      device.attributes["serial"] = node_name(i) + "-" + std::to_string(d);
      device.capacity["memory"].value = "80Gi";
      device.allow_multiple_allocations = multiple;
      if (device_taint) device.taints.push_back(*device_taint);
      if (cut) device.consumes_counters.push_back({"set-" + std::to_string(d), {{"memory", "80Gi"}}});
    }
    api::ResourceSlice counters = slice;
    if (cut) {
      counters.metadata.name = "counters-" + node_name(i);
      counters.devices.clear();
      for (int d = 0; d < nodes[i].devices; ++d) {
        counters.shared_counters.push_back({"set-" + std::to_string(d), {{"memory", "80Gi"}}});
        api::Device& part = slice.devices.emplace_back();
        part.name = "part-" + std::to_string(d);
        part.attributes["productName"] = std::string("part");
        part.consumes_counters.push_back({"set-" + std::to_string(d), {{"memory", "40Gi"}}});
      }
      inventory.apply_slice(counters);
    }
    inventory.apply_slice(slice);
    api::ResourceSlice nics;
    nics.metadata.name = "nics-" + node_name(i);
    nics.driver = "nic.example.com";
    nics.pool = {node_name(i), 1, 1};
    nics.node_name = node_name(i);
    nics.devices.emplace_back().name = "nic-0";
    inventory.apply_slice(nics);
  }
  api::DeviceClass gpu;
  gpu.metadata.name = "gpu";
  gpu.selectors = class_selectors;
  if (cut) gpu.selectors.push_back("device.attributes[\"gpu.example.com\"].productName == \"A100\"");
  inventory.apply_class(gpu);
  api::DeviceClass nic;
  nic.metadata.name = "nic";
  nic.selectors = {"device.driver == \"nic.example.com\""};
  inventory.apply_class(nic);
}

void VerdictWorld::hold_devices() {
  int number = 0;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (int d = 0; d < (held || cut ? nodes[i].devices : nodes[i].held); ++d) {
      auto holder = std::make_shared<api::ResourceClaim>();
      holder->metadata.name = "h" + std::to_string(number);
      holder->metadata.ns = "other";
      holder->metadata.uid = "h" + std::to_string(number++);
      api::AllocationResult& allocation = holder->status.allocation.emplace();
      api::DeviceRequestAllocationResult& result = allocation.results.emplace_back();
      result.driver = "gpu.example.com";
      result.pool = node_name(i);
      result.device = (cut ? "part-" : "gpu-") + std::to_string(d);
      inventory.apply_claim(*holder);
      holders.push_back(std::move(holder));
    }
}

void VerdictWorld::ask() {
  pod.metadata.name = "p";
  pod.metadata.ns = "ns";
  pod.metadata.uid = "p-uid";
  pod.metadata.labels = {{"app", "x"}};
  api::Container& container = pod.containers.emplace_back();
  container.requests["cpu"] = cpu;
  if (!other_resource.empty()) container.requests[other_resource] = "1";
  if (host_port != 0) container.host_ports.push_back({static_cast<uint16_t>(host_port), "TCP", ""});
  pod.node_selector = node_selector;
  if (avoids_itself) {
    api::PodAffinityTerm term;
    term.label_selector.emplace();
    term.label_selector->match_labels = {{"app", "x"}};
    term.topology_key = kHost;
    pod.pod_anti_affinity.required.push_back(term);
  }
  if (spreads) {
    api::TopologySpreadConstraint& spread = pod.topology_spread.emplace_back();
    spread.max_skew = 1;
    spread.topology_key = "no-such-label";
    spread.when_unsatisfiable = "DoNotSchedule";
    spread.label_selector.emplace();
    spread.label_selector->match_labels = {{"app", "x"}};
  }
  if (!volume_claim.empty()) {
    api::PodVolume& volume = pod.volumes.emplace_back();
    volume.name = "data";
    volume.claim_name = volume_claim;
  }
  question.pod = &pod;
  question.claims.push_back(claim("c", device_class, count));
  question.entries.push_back("gpus");
  for (const auto& more : claims) question.claims.push_back(more);
  if (!pinned) return;
  auto sibling = std::make_shared<api::ResourceClaim>(*claim("sibling", "nic", 1));
  sibling->status.allocation.emplace();
  sibling->status.allocation->node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {"gone"}}}}}};
  question.claims.push_back(std::move(sibling));
}

const std::vector<SeededCause>& seeded_causes() {
  const auto each = [](void (*change)(WorldNode&)) {
    return [change](VerdictWorld& world) {
      for (WorldNode& node : world.nodes) change(node);
    };
  };
  using W = VerdictWorld;
  static const std::vector<SeededCause> kCauses = {
      // Refusals of the pod or its claims as such.
      {"volume claim is missing", "persistentvolumeclaim \"data\" not found", 0, [](W& w) { w.volume_claim = "data"; },
       "refusal"},
      {"class is missing", "\"none\" does not exist", 0, [](W& w) { w.device_class = "none"; }, "class"},
      {"selector cannot be compiled", "selector #0", 0, [](W& w) { w.selectors = {"device.driver =="}; }, "selector"},
      {"more than a claim may have", "the limit of a claim is 32", 0, [](W& w) { w.count = 40; }, "count"},
      // What keeps the pod off every node, in kube-scheduler's order.
      {"nodes are deleted", "being deleted", 10, each([](WorldNode& n) { n.deleting = true; }), ""},
      {"cordon", "cordoned", 11, each([](WorldNode& n) { n.unschedulable = true; }), ""},
      {"node taint", "taint dedicated=ml:NoSchedule is not tolerated", 12,
       [](W& w) {
         w.node_taint = {"dedicated", "ml", "NoSchedule", ""};
       },
       ""},
      {"node selector", "does not match the pod's node selector zone=x", 13,
       [](W& w) {
         w.node_selector = {{"zone", "x"}};
       },
       ""},
      {"host port", "host port 8080/TCP is taken", 14, [](W& w) { w.host_port = 8080; }, ""},
      {"cpu", "asks 100 cpu, node has at most 8", 15, [](W& w) { w.cpu = "100"; }, "resources"},
      {"another resource", "asks 1 example.com/fpga, node has at most 0", 15,
       [](W& w) { w.other_resource = "example.com/fpga"; }, "resources"},
      {"pods", "runs as many pods as it can (1)", 15, each([](WorldNode& n) { n.pods = "1"; }), "resources"},
      {"spreading", "didn't match pod topology spread constraints", 16, [](W& w) { w.spreads = true; }, ""},
      {"anti-affinity", "didn't match pod anti-affinity rules", 17, [](W& w) { w.avoids_itself = true; }, ""},
      {"pinned elsewhere", "has devices elsewhere", 18, [](W& w) { w.pinned = true; }, ""},
      // Devices.
      {"no such driver", "no device has driver gpu.nvidia.com", 30,
       [](W& w) { w.class_selectors = {"device.driver == \"gpu.nvidia.com\""}; }, "class"},
      {"attribute misspelt", "attribute \"productname\": did you mean \"productName\"?", 30,
       [](W& w) { w.class_selectors = {"device.attributes[\"gpu.example.com\"].productname == \"A100\""}; }, "class"},
      {"incomplete pools", "in a pool that is being updated", 31, [](W& w) { w.incomplete = true; }, "pool"},
      {"invalid pools", "in a pool that is published wrongly", 31, [](W& w) { w.invalid = true; }, "pool"},
      {"selector refuses", "rejected by the request's selector", 32,
       [](W& w) { w.selectors = {"device.attributes[\"gpu.example.com\"].productName == \"H100\""}; }, "selector"},
      {"selector fails", "on which a selector fails", 32,
       [](W& w) { w.selectors = {"device.attributes[\"gpu.example.com\"].absent == 1"}; }, "selector"},
      {"device taint", "tainted (broken=yes:NoSchedule)", 34,
       [](W& w) {
         w.device_taint = {"broken", "yes", "NoSchedule", ""};
       },
       ""},
      {"capacity", "short of capacity (memory: asks 200Gi, device has 80Gi)", 35,
       [](W& w) {
         w.capacity = {{"memory", "200Gi"}};
       },
       ""},
      {"all held", "in use by claim", 36, [](W& w) { w.hold_all(); }, "held", "devices in use"},
      {"cut into partitions", "takes 80Gi memory of counter set set-0, 40Gi left of 80Gi", 36,
       [](W& w) { w.cut = true; }, "held"},
      {"constraint", "without a common value of gpu.example.com/serial", 37,
       [](W& w) {
         w.count = 2;
         w.match = "gpu.example.com/serial";
       },
       "count"},
      {"too few on one node", "no node has more than 2 of the 6 devices of class gpu", 33, [](W& w) { w.count = 5; },
       "count"},
  };
  return kCauses;
}

}  // namespace dra::verdict
