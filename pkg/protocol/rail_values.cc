#include "pkg/protocol/rail_values.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/inventory/device_values.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/rail_mark.h"

namespace dra::protocol {

void add_rail_values(const api::ResourceClaim& claim, const std::string& request, const std::string& attribute,
                     const inventory::DeviceIndex& device_index, alignment::MemberRails& out) {
  if (!claim.status.allocation) return;
  std::optional<RailsOfClaim> marked;  // read when needed
  const std::vector<api::DeviceRequestAllocationResult>& results = claim.status.allocation->results;
  for (size_t i = 0; i < results.size(); ++i) {
    const api::DeviceRequestAllocationResult& one = results[i];
    if (std::string_view(one.request).substr(0, one.request.find('/')) != request) continue;
    auto values = inventory::device_values(device_index, *claim.status.allocation, one, attribute);
    if (!values && !marked) marked = is_proven(claim) ? marked_rails(claim) : RailsOfClaim();
    out.push_back(values ? std::move(*values) : (*marked)[attribute][i]);
  }
}

}  // namespace dra::protocol
