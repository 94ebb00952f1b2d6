// Joint counting: an upper bound on how many members of several kinds fit on nodes together.
//
//   JointCount count;
//   count.kinds = {{32, {3}}, {32, {2}}};        // 32 members that want 3 devices each, 32 that want 2
//   count.nodes = {{47, {1, 2}, {4}}};           // 47 nodes: one of the first kind or two of the second, 4 devices
//   most_together(count, 64) == 63
//
// For any weights w from 0 to 1, the members placed are at most the sum over the nodes of the heaviest set that fits,
// and of 1 - w for every member (linear programming duality). The weights are searched for, and the bound is exact for
// the weights found: integers only, no estimates. If a node could hold too many sets, there is no bound.
//
// What is counted may be anything that sets add up on a node: devices of a sort, CPU, memory, pods. More kinds than
// kMaxKinds are only counted in sum over all nodes.
//
// Pure; at most about 60 million additions, mostly far fewer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dra::gang {

struct JointCount {
  static constexpr size_t kMaxKinds = 6;
  static constexpr size_t kMaxWork = 8192;  // sets that different nodes could hold, times the square of the kinds

  struct Kind {
    uint32_t size = 0;
    std::vector<uint64_t> wants;  // of each thing that is counted
  };
  struct Nodes {
    uint32_t count = 0;          // number of such nodes
    std::vector<uint32_t> most;  // members by kind, if alone
    std::vector<uint64_t> has;   // of each thing that is counted
  };
  std::vector<Kind> kinds;
  std::vector<Nodes> nodes;
};

// An upper bound on the members that can be placed. A bound below `need` is enough; how far below does not matter.
uint64_t most_together(const JointCount& count, uint64_t need);

}  // namespace dra::gang
