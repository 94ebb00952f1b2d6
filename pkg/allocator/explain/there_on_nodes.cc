#include "pkg/allocator/explain/there_on_nodes.h"

#include <algorithm>
#include <vector>

namespace dra::allocator {
namespace {

constexpr uint32_t kEnough = UINT32_MAX;
constexpr size_t kTriedFirst = 4;

enum class Counts : uint8_t { kNot, kAsThere, kAsUnknown };

Counts counts_as(Cause cause) {
  switch (cause) {
    case Cause::kWrongNode:
    case Cause::kClassSelector:
    case Cause::kRequestSelector:
    case Cause::kEvaluationError:
      return Counts::kNot;
    case Cause::kPoolIncomplete:
    case Cause::kPoolInvalid:
    case Cause::kUnknownField:
      return Counts::kAsUnknown;
    default:
      return Counts::kAsThere;
  }
}

class There {
 public:
  There(const DeviceCounts& device_counts, const inventory::DeviceIndex& device_index)
      : device_counts_(device_counts), device_index_(device_index) {
    meaning_.reserve(device_counts.groups().size());
    for (const DeviceCounts::Group& group : device_counts.groups()) meaning_.push_back(counts_as(group.cause.cause));
  }

  // For one pool; kEnough: unknown.
  uint32_t in_pool(inventory::PoolId id) const {
    uint32_t there = 0;
    for (const auto& [group, devices] : device_counts_.pools()[id].counts) {
      if (meaning_[group] == Counts::kAsUnknown) return kEnough;
      if (meaning_[group] == Counts::kAsThere) there += devices;
    }
    return there;
  }

  bool has_enough(inventory::NodeId node, uint32_t enough) const {
    uint32_t sum = 0;
    for (const inventory::Segment& segment : device_index_.view(node).segments) {
      const uint32_t there = segment.pool < device_counts_.pools().size() ? in_pool(segment.pool) : 0;
      if (there == kEnough || (sum += there) >= enough) return true;
    }
    return false;
  }

 private:
  const DeviceCounts& device_counts_;
  const inventory::DeviceIndex& device_index_;
  std::vector<Counts> meaning_;
};

}  // namespace

uint32_t most_there_on_a_node(const DeviceCounts& device_counts, const inventory::DeviceIndex& device_index,
                              uint32_t enough, std::span<const inventory::NodeId> passed,
                              const std::function<bool(inventory::NodeId)>& passes) {
  const There there(device_counts, device_index);
  // Most fleets are uniform, so that the first node answers.
  for (const inventory::NodeId node : passed.first(std::min<size_t>(passed.size(), kTriedFirst)))
    if (device_index.knows(node) && there.has_enough(node, enough)) return kEnough;
  std::vector<uint32_t> on_node;
  uint32_t most = 0, shared = 0;
  for (inventory::PoolId id = 0; id < device_counts.pools().size(); ++id) {
    const uint32_t in_pool = there.in_pool(id);
    const inventory::NodeId node = device_counts.pools()[id].node;
    if (in_pool == 0 || (node != inventory::kNone && !passes(node))) continue;
    if (in_pool == kEnough) return kEnough;
    if (node == inventory::kNone) {
      shared += in_pool;
    } else {
      if (on_node.size() <= node) on_node.resize(device_index.node_slots(), 0);
      most = std::max(most, on_node[node] += in_pool);
    }
    if (most + shared >= enough) return kEnough;
  }
  return most + shared;
}

}  // namespace dra::allocator
