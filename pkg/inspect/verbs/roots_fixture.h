// A server for tests of pairs: 8 GPUs and 8 NICs, GPU i and NIC i on root i.
#pragma once

#include <memory>
#include <string>

#include "pkg/base/timestamp.h"
#include "pkg/inspect/state/objects.h"
#include "pkg/inspect/state/objects_fixture.h"

namespace dra::inspect {

// Node a, whose NICs 6 and 7 sit on root 0, and claims of namespace ml.
struct OneServer {
  Objects objects;

  OneServer() {
    parse_rfc3339("2026-03-01T12:00:00Z", objects.taken);
    objects.server_version = "v1.36.2";
    objects.dra_versions = {"v1"};
    auto node = named_object<api::Node>("", "a");
    node->allocatable = {{"pods", "10"}, {"cpu", "8"}};
    objects.nodes["a"] = node;
    add_driver("gpu", 8);
    add_driver("nic", 6);
  }

  // A class and 8 devices; from `own` on they are on root 0.
  void add_driver(const std::string& name, int own) {
    auto device_class = named_object<api::DeviceClass>("", name);
    device_class->selectors = {"device.driver == '" + name + ".example.com'"};
    objects.classes[name] = device_class;
    auto slice = named_object<api::ResourceSlice>("", "a-" + name);
    slice->driver = name + ".example.com";
    slice->pool = {"a", 1, 1};
    slice->node_name = "a";
    for (int i = 0; i < 8; ++i) {
      slice->devices.emplace_back();
      slice->devices.back().name = name + "-" + std::to_string(i);
      slice->devices.back().attributes["resource.kubernetes.io/pcieRoot"] =
          "pci0000:" + std::to_string(i < own ? i : 0) + "0";
    }
    objects.slices[slice->metadata.name] = slice;
  }

  static std::shared_ptr<api::ResourceClaim> claim(const std::string& name, int64_t gpus, int64_t nics,
                                                   const std::string& pairs) {
    auto claim = named_object<api::ResourceClaim>("ml", name);
    for (const auto& [request, count] : {std::pair{"gpu", gpus}, {"nic", nics}}) {
      if (count == 0) continue;
      claim->spec.requests.emplace_back();
      claim->spec.requests.back().name = request;
      claim->spec.requests.back().exactly.emplace();
      claim->spec.requests.back().exactly->device_class_name = request;
      claim->spec.requests.back().exactly->count = count;
    }
    if (!pairs.empty()) claim->metadata.annotations["dra-controller-manager/pairs"] = pairs;
    return claim;
  }
};

}  // namespace dra::inspect
