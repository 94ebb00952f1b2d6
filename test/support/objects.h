// Objects for tests, with no more than every object has: a test sets what matters to it.
//
//   api::Pod pod = test::named<api::Pod>("p");                       // default/p with the uid p-uid
//   claim.spec.requests = {test::exactly("gpu", "gpu.example.com", 2)};
//   inventory.apply_slice(test::local_slice("drv", "n1", "gpu-", 2));  // devices gpu-0 and gpu-1 of pool n1
#pragma once

#include <string>

#include "pkg/api/resource.h"

namespace dra::test {

template <typename T>
T named(const std::string& name) {
  T made;
  made.metadata.ns = "default";
  made.metadata.name = name;
  made.metadata.uid = name + "-uid";
  return made;
}

inline api::DeviceRequest exactly(const std::string& name, const std::string& device_class, int64_t count = 1) {
  api::DeviceRequest request;
  request.name = name;
  request.exactly.emplace();
  request.exactly->device_class_name = device_class;
  request.exactly->allocation_mode = "ExactCount";
  request.exactly->count = count;
  return request;
}

// The only slice of the pool that is named as its node.
inline api::ResourceSlice local_slice(const std::string& driver, const std::string& node, const std::string& prefix,
                                      size_t devices) {
  api::ResourceSlice slice;
  slice.metadata.name = "slice-" + node;
  slice.driver = driver;
  slice.pool = {node, 1, 1};
  slice.node_name = node;
  for (size_t i = 0; i < devices; ++i) slice.devices.emplace_back().name = prefix + std::to_string(i);
  return slice;
}

}  // namespace dra::test
