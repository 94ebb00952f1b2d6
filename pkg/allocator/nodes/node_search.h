// NodeSearch: finds nodes on which the claims fit, without a search on nodes that summaries or earlier searches
// refute.
//
// Nodes are tried in the given order; those that an earlier attempt left undecided come last. Each gets a share of the
// attempt's remaining budget. To weigh alternatives (firstAvailable), it compares up to kScoredNodes nodes that fit,
// and ranks those with earlier alternatives first.
//
// One thread. It owns none of its collaborators; they belong to the allocator.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "pkg/allocator/decision.h"
#include "pkg/allocator/nodes/node_index.h"
#include "pkg/allocator/plan/plan.h"
#include "pkg/allocator/search/refutations.h"
#include "pkg/allocator/search/search.h"
#include "pkg/base/random.h"

namespace dra::allocator {

class NodeSearch {
 public:
  // Like kube-scheduler's percentageOfNodesToScore: how many nodes that fit are compared.
  static constexpr size_t kScoredNodes = 64;

  NodeSearch(inventory::DeviceIndex& device_index, const Options& options, NodeIndex& index, Refutations& refutations,
             Search& search, Meter& meter, Random& random)
      : device_index_(device_index),
        options_(options),
        index_(index),
        refutations_(refutations),
        search_(search),
        meter_(meter),
        random_(random) {}

  FoundNodes find(const Plan& plan, const Request& request, std::span<const NodeId> order, size_t limit);
  void decide(const Plan& plan, NodeId node, const Search::Terms& terms, Decision& decision);
  // See Allocator::solutions() and Allocator::fit_counts(); false: the slice ended. In node_fits.cc.
  void solutions(const Plan& plan, NodeId node, uint64_t budget, size_t skip, size_t limit, Solutions& out);
  bool count_fits(const Plan& plan, std::span<const NodeId> order, FitCounts& fits);

 private:
  // The least a node must have: candidates of one filter, or of one of several (alternatives).
  struct Need {
    NodeCounts* counts;
    uint64_t devices;
  };
  struct Bound {
    std::vector<Need> any_of;
    bool sum = false;  // of several requests: a shared device may serve more than one
  };
  enum class Within : uint8_t { kYes, kNo, kSliceEnded };
  enum class Go : uint8_t { kOn, kStop };

  bool make_bounds(const Plan& plan);
  Within within_bounds(NodeId node);
  bool bound_fits(NodeCounts& counts, uint64_t wanted, std::span<const NodeId> order, std::vector<uint32_t>& by_node,
                  uint64_t& total, bool& shareable);
  Go visit_all(std::span<const NodeId> order, bool undecided);
  Go visit(NodeId node, uint64_t share);
  Go conclude(NodeId node, Decision decision);
  bool enough() const { return found_.decisions.size() >= wanted_ || perfect_ >= limit_; }
  void finish();

  inventory::DeviceIndex& device_index_;
  const Options& options_;
  NodeIndex& index_;
  Refutations& refutations_;
  Search& search_;
  Meter& meter_;
  Random& random_;
  std::vector<Bound> bounds_;
  uint64_t needs_checked_ = 0;

  // state of one call
  const Plan* plan_ = nullptr;
  Refutations::Nodes* known_ = nullptr;
  FoundNodes found_;
  uint64_t budget_ = 0;
  uint64_t used_before_ = 0;  // Meter::used() at the start
  const RoomOnNode* room_ = nullptr;
  size_t limit_ = 0;
  size_t wanted_ = 0;   // nodes to choose from
  size_t perfect_ = 0;  // found nodes that nothing can beat
  int best_score_ = 0;
  bool weighs_ = false;
  bool undecided_ = false;
  bool slice_ended_ = false;
};

}  // namespace dra::allocator
