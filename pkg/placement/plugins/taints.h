// TaintCounts: how many taints of a node a pod does not tolerate. Internal to pkg/placement.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/placement/cluster.h"

namespace dra::placement {

class TaintCounts {
 public:
  enum class Effects : uint8_t { kHard, kSoft };  // NoSchedule and NoExecute; PreferNoSchedule
  TaintCounts(const Cluster& cluster, const api::Pod& pod, Effects effects);
  int32_t untolerated(NodeIndex node);

 private:
  static constexpr int32_t kUnknown = -1;
  const Cluster& cluster_;
  const api::Pod& pod_;
  Effects effects_;
  std::vector<int32_t> by_set_;
};

}  // namespace dra::placement
