// RailList: a rule about rails with the list of values that this search assumes. With the lists fixed, members restrict
// each other by devices alone, so the search knows no other rule: docs/design/groups.md, "Rails".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pkg/allocator/value_list.h"
#include "pkg/gang/request.h"
#include "pkg/gang/search/table.h"

namespace dra::gang {

struct RailList {
  uint32_t rule = 0;                 // index in GangRequest::rails
  bool any = false;                  // any value will do: the device only needs the attribute
  std::vector<std::string> entries;  // sorted; empty if `any`
  // The member that must have as many devices as there are entries; nothing: some member has anyway.
  std::optional<uint32_t> longest;
  bool operator==(const RailList&) const = default;
};

// What the list asks of `claims` (numbers in the table), which are decided together, for the member. `decided`: of a
// claim, null if it is open. Nothing: the list does not concern them.
std::optional<allocator::ValueList> list_for(
    const RailList& rail, const GangRequest& request, const Table& table, const inventory::DeviceIndex& device_index,
    uint32_t member, const std::vector<uint32_t>& claims,
    const std::function<const api::AllocationResult*(uint32_t claim)>& decided);

// The values of the devices that the result gives to this request, with all its alternatives.
void add_values_of(const api::AllocationResult& result, const std::string& request, const std::string& attribute,
                   const inventory::DeviceIndex& device_index, alignment::MemberRails& devices);

}  // namespace dra::gang
