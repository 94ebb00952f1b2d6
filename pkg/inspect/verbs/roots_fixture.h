// A server for tests of pairs: 8 GPUs and 8 NICs, GPU i and NIC i on root i.
#pragma once

#include <memory>
#include <string>

#include "pkg/inspect/state/drivers_fixture.h"

namespace dra::inspect {

// Node a, whose NICs 6 and 7 sit on root 0, and claims of namespace ml.
struct OneServer {
  Objects objects = objects_with_node("a");

  OneServer() {
    add_driver("gpu", 8);
    add_driver("nic", 6);
  }

  // A class and 8 devices; from `own` on they are on root 0.
  void add_driver(const std::string& name, int own) {
    const auto slice = add_class_and_slice(objects, name, name + ".example.com", "a");
    for (int i = 0; i < 8; ++i)
      add_device(*slice, name + "-" + std::to_string(i)).attributes["resource.kubernetes.io/pcieRoot"] =
          "pci0000:" + std::to_string(i < own ? i : 0) + "0";
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
