#include "pkg/gang/levels.h"

#include "pkg/api/topology_level.h"
#include "pkg/inventory/bits.h"
#include "pkg/inventory/device_index.h"
#include "pkg/inventory/value_code.h"

namespace dra::gang {

std::optional<std::string> attribute_of_node(const inventory::Inventory& inventory, inventory::NodeId node,
                                             std::string_view key) {
  const inventory::DeviceIndex& device_index = inventory.device_index();
  const inventory::StrId attribute = device_index.strings().find(key.substr(api::kAttributeLevel.size()));
  if (attribute == inventory::kNoStr) return std::nullopt;
  inventory::StrId value = inventory::kNoStr;
  uint32_t looked = 0;
  for (const inventory::Segment& segment : device_index.view(node).segments) {
    const inventory::Pool& pool = *device_index.pool(segment.pool);
    for (size_t s = 0; s < pool.live().size(); ++s) {
      const inventory::SliceTable& slice = *pool.live()[s];
      for (uint32_t i = 0; i < slice.size(); ++i) {
        if (!segment.mask.empty() && !inventory::test_bit(segment.mask.data(), pool.first_of(s) + i)) continue;
        if (++looked > kMostDevicesOfALevel) return std::nullopt;
        const inventory::StrId has = slice.attribute(i, attribute);
        if (has == inventory::kNoStr || has == value) continue;
        if (value != inventory::kNoStr) return std::nullopt;
        value = has;
      }
    }
  }
  if (value == inventory::kNoStr) return std::nullopt;
  const std::string_view code = device_index.strings().text(value);
  // A list of one is its element.
  const std::vector<std::string_view> elements = inventory::value_elements(code);
  if (elements.size() != 1) return std::nullopt;
  return inventory::value_text(elements.front());
}

std::string words_of_level(const std::string& key) {
  if (key.starts_with(api::kAttributeLevel))
    return "one value of the device attribute " + key.substr(api::kAttributeLevel.size());
  return "the label " + key;
}

}  // namespace dra::gang
