// A node, and drivers with a class and a slice there, for this package's tests.
#pragma once

#include <memory>
#include <string>

#include "pkg/base/timestamp.h"
#include "pkg/inspect/state/objects.h"
#include "pkg/inspect/state/objects_fixture.h"

namespace dra::inspect {

// Read at noon of 2026-03-01 from a server of 1.36.2, with one node.
inline Objects objects_with_node(const std::string& name) {
  Objects objects;
  parse_rfc3339("2026-03-01T12:00:00Z", objects.taken);
  objects.server_version = "v1.36.2";
  objects.dra_versions = {"v1"};
  auto node = named_object<api::Node>("", name);
  node->allocatable = {{"pods", "10"}, {"cpu", "8"}};
  objects.nodes[name] = node;
  return objects;
}

// A class of all devices of the driver, and its slice on the node, to which the caller adds devices.
inline std::shared_ptr<api::ResourceSlice> add_class_and_slice(Objects& objects, const std::string& class_name,
                                                               const std::string& driver, const std::string& node) {
  auto device_class = named_object<api::DeviceClass>("", class_name);
  device_class->selectors = {"device.driver == '" + driver + "'"};
  objects.classes[class_name] = device_class;
  auto slice = named_object<api::ResourceSlice>("", class_name + "-" + node);
  slice->driver = driver;
  slice->pool = {node, 1, 1};
  slice->node_name = node;
  objects.slices[slice->metadata.name] = slice;
  return slice;
}

inline api::Device& add_device(api::ResourceSlice& slice, const std::string& name) {
  slice.devices.emplace_back();
  slice.devices.back().name = name;
  return slice.devices.back();
}

}  // namespace dra::inspect
