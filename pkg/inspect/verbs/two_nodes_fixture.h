// A small cluster for tests of verbs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pkg/base/timestamp.h"
#include "pkg/inspect/state/objects_fixture.h"
#include "pkg/inspect/verbs/doctor.h"
#include "pkg/inspect/verbs/whatif.h"

namespace dra::inspect {

// Two nodes with two GPUs each. Pod "run" of a ReplicaSet holds both GPUs of node a by its own claim.
struct TwoNodes {
  Objects objects;

  TwoNodes() {
    parse_rfc3339("2026-03-01T12:00:00Z", objects.taken);
    objects.server_version = "v1.36.2";
    objects.dra_versions = {"v1", "v1beta2"};
    objects.taint_rules_served = true;
    for (const char* name : {"a", "b"}) {
      auto node = named_object<api::Node>("", name);
      node->allocatable = {{"pods", "10"}, {"cpu", "8"}};
      objects.nodes[name] = node;
      auto slice = named_object<api::ResourceSlice>("", std::string(name) + "-gpus");
      slice->driver = "gpu.example.com";
      slice->pool = {name, 1, 1};
      slice->node_name = name;
      for (const char* device : {"gpu-0", "gpu-1"}) {
        slice->devices.emplace_back();
        slice->devices.back().name = device;
        slice->devices.back().attributes["model"] =
            std::string(name) == "a" ? std::string("A100") : std::string("H100");
      }
      objects.slices[slice->metadata.name] = slice;
    }
    auto device_class = named_object<api::DeviceClass>("", "gpu");
    device_class->selectors = {"device.driver == \"gpu.example.com\""};
    objects.classes["gpu"] = device_class;
    auto from = named_object<api::ResourceClaimTemplate>("ml", "two");
    from->spec = spec(2);
    objects.templates["ml/two"] = from;
    add_pod("run", "a", {"gpu-0", "gpu-1"});
  }

  static api::ResourceClaimSpec spec(int64_t count) {
    api::DeviceRequest request;
    request.name = "r";
    request.exactly.emplace().device_class_name = "gpu";
    request.exactly->count = count;
    return {{request}, {}, {}};
  }

  // A pod of ReplicaSet "set-1" with a claim from the template "two", on a node with devices or waiting.
  void add_pod(const std::string& name, const std::string& node, const std::vector<std::string>& devices) {
    auto pod = named_object<api::Pod>("ml", name);
    pod->metadata.owner_references = {{"apps/v1", "ReplicaSet", "set-1", "uid-set", true}};
    pod->node_name = node;
    pod->phase = node.empty() ? "Pending" : "Running";
    pod->resource_claims.push_back({"g", std::nullopt, "two"});
    pod->resource_claim_statuses.push_back({"g", name + "-g"});
    auto claim = named_object<api::ResourceClaim>("ml", name + "-g");
    claim->metadata.owner_references = {{"v1", "Pod", name, pod->metadata.uid, true}};
    claim->spec = spec(2);
    if (!devices.empty()) {
      auto& allocation = claim->status.allocation.emplace();
      for (const std::string& device : devices) allocation.results.push_back({"r", "gpu.example.com", node, device});
      allocation.node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {node}}}}}};
      claim->status.reserved_for.push_back({"", "pods", name, pod->metadata.uid});
    }
    objects.pods[pod->metadata.key()] = pod;
    objects.claim_by_uid[claim->metadata.uid] = claim;
    objects.claims[claim->metadata.key()] = claim;
  }

  std::vector<std::string> after(const Change& change) const {
    const auto fates = whatif(objects, change, {}, "ml");
    if (!fates) return {fates.error().message()};
    std::vector<std::string> texts;
    for (const PodFate& fate : *fates)
      texts.push_back(fate.pod + " " + std::string(fate_name(fate.fate)) + " " + fate.before + ">" + fate.after);
    return texts;
  }
};

// The findings of one check, or "fine" or "unknown".
inline std::string diagnosed(const Objects& objects, const std::string& check) {
  const State state(objects, {});
  std::string text;
  for (const Diagnosis& one : diagnose(state))
    if (one.check == check)
      text += (text.empty() ? "" : "; ") + (one.health == Health::kFine      ? std::string("fine")
                                            : one.health == Health::kUnknown ? std::string("unknown")
                                                                             : one.finding);
  return text;
}

}  // namespace dra::inspect
