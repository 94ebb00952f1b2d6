#include "pkg/inventory/device_values.h"

#include <algorithm>

#include "pkg/inventory/value_code.h"

namespace dra::inventory {

std::optional<std::vector<std::string>> device_values(const DeviceIndex& device_index, std::string_view driver,
                                                      std::string_view pool, std::string_view device,
                                                      std::string_view attribute, NodeId node) {
  const Pool* found = device_index.find_pool(driver, pool);
  const StrId name = device_index.strings().find(device);
  if (found == nullptr || name == kNoStr) return std::nullopt;
  const Words* here = nullptr;  // those of the node; null: all
  if (device_index.knows(node))
    for (const Segment& segment : device_index.view(node).segments)
      if (device_index.pool(segment.pool) == found && !segment.mask.empty()) here = &segment.mask;
  uint32_t number = kNone;
  found->for_each_named(name, [&](uint32_t one) {
    if (here == nullptr || test_bit(here->data(), one)) number = std::min(number, one);
  });
  if (number == kNone) return std::nullopt;
  const StrId key = device_index.strings().find(attribute);
  const StrId value = key == kNoStr ? kNoStr : found->attribute(number, key);
  std::vector<std::string> codes;
  if (value == kNoStr) return codes;
  const std::string_view code = device_index.strings().text(value);
  if (!device_index.features().list_attributes && !code.empty() && code[0] == 'l') return codes;
  for (const std::string_view element : value_elements(code)) codes.emplace_back(element);
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

std::optional<std::vector<std::string>> device_values(const DeviceIndex& device_index,
                                                      const api::AllocationResult& allocation,
                                                      const api::DeviceRequestAllocationResult& device,
                                                      std::string_view attribute) {
  return device_values(device_index, device.driver, device.pool, device.device, attribute,
                       node_of(device_index, allocation));
}

NodeId node_of(const DeviceIndex& device_index, const api::AllocationResult& allocation) {
  const std::string* name = api::only_node(allocation);
  return name == nullptr ? kNone : device_index.find_node(*name);
}

}  // namespace dra::inventory
