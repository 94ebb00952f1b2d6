#include "pkg/inspect/verbs/share_checks.h"

#include <map>
#include <set>

#include "pkg/base/strings.h"
#include "pkg/inspect/answer/answer.h"
#include "pkg/inventory/device_index.h"

namespace dra::inspect {
namespace {

constexpr const char* kSharingPage = "docs/user/sharing.md";

// The capacities of a shared device that each claim takes whole.
std::vector<std::string> taken_whole(const api::Device& device) {
  std::vector<std::string> names;
  for (const auto& [name, capacity] : device.capacity)
    if (!capacity.request_policy) names.push_back(name);
  return names;
}

}  // namespace

std::vector<ShareFinding> share_findings(const State& state) {
  std::vector<ShareFinding> out;
  for (const auto& [name, device_class] : state.objects.classes)
    if (std::string wrong = state.inventory.device_index().shares().why_unreadable(name); !wrong.empty())
      out.push_back({std::move(wrong), std::string("write it as ") + kSharingPage + " has it"});
  struct Whole {
    size_t devices = 0;
    std::set<std::string> nodes;
  };
  std::map<std::pair<std::string, std::string>, Whole> by_driver;  // and the capacities
  for (const auto& [name, slice] : state.objects.slices)
    for (const api::Device& device : slice->devices) {
      const std::vector<std::string> names =
          device.allow_multiple_allocations ? taken_whole(device) : std::vector<std::string>();
      if (names.empty()) continue;
      Whole& whole = by_driver[{slice->driver, join(names, ", ")}];
      ++whole.devices;
      whole.nodes.insert(slice->node_name.empty() ? device.node_name : slice->node_name);
    }
  for (const auto& [key, whole] : by_driver)
    out.push_back({"driver " + key.first + " publishes " + counted(whole.devices, "device") + " on " +
                       counted(whole.nodes.size(), "node") +
                       " that may be shared (allowMultipleAllocations), but gives no request policy to " + key.second +
                       ": each claim takes all of it, so nobody shares them",
                   "the driver made it so: let it publish a request policy with a default below the whole, or switch "
                   "off what adds these capacities (NVIDIA's DynamicMIG beside ConsumableShares: " +
                       std::string(kSharingPage) + ")"});
  return out;
}

}  // namespace dra::inspect
