#include "pkg/gang/search/rail_list.h"

#include <algorithm>

#include "pkg/inventory/device_index.h"
#include "pkg/inventory/device_values.h"

namespace dra::gang {

void add_values_of(const api::AllocationResult& result, const std::string& request, const std::string& attribute,
                   const inventory::DeviceIndex& device_index, alignment::MemberRails& devices) {
  for (const api::DeviceRequestAllocationResult& device : result.results) {
    const std::string_view name = std::string_view(device.request).substr(0, device.request.find('/'));
    if (name != request) continue;
    devices.push_back(
        inventory::device_values(device_index, result, device, attribute).value_or(alignment::DeviceRails()));
  }
}

std::optional<allocator::ValueList> list_for(
    const RailList& rail, const GangRequest& request, const Table& table, const inventory::DeviceIndex& device_index,
    uint32_t member, const std::vector<uint32_t>& claims,
    const std::function<const api::AllocationResult*(uint32_t claim)>& decided) {
  const RailRule& rule = request.rails[rail.rule];
  const RailRule::Of& of = rule.of[member];
  if (of.requests.empty()) return std::nullopt;
  allocator::ValueList list;
  bool complete = true;  // no other claim of the member is still open
  for (const auto& [claim, name] : of.requests) {
    const std::shared_ptr<const api::ResourceClaim>& object = request.members[member].claims[claim];
    if (object->status.allocation) continue;  // in `taken`
    for (const uint32_t number : table.claims_of[member]) {
      if (table.claims[number].object->metadata.uid != object->metadata.uid) continue;
      const auto at = std::find(claims.begin(), claims.end(), number);
      if (at != claims.end()) {
        list.requests.emplace_back(static_cast<uint32_t>(at - claims.begin()), name);
      } else if (const api::AllocationResult* result = decided(number)) {
        add_values_of(*result, name, rule.attribute, device_index, list.taken);
      } else {
        complete = false;
      }
      break;
    }
  }
  if (list.requests.empty()) return std::nullopt;
  list.taken.insert(list.taken.end(), of.taken.begin(), of.taken.end());
  list.attribute = rule.attribute;
  list.any = rail.any;
  list.entries = rail.entries;
  if (rail.longest == member && complete) list.least = static_cast<uint32_t>(rail.entries.size());
  return list;
}

}  // namespace dra::gang
