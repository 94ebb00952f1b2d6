// Lists of events for `packing` and `mig`: what both runners share.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/inventory/inventory.h"
#include "pkg/placement/decision.h"

namespace dra::conformance {

struct ListFlags {
  std::string in;
  std::string out;
  allocator::Strategy strategy = allocator::Strategy::kBestFit;
  bool moves = false;
  double total = 1;  // moved partitions are at most this share of the admitted ones
};
// Parses --in, --out and --strategy. Returns an exit code instead if there is nothing to run.
// `moves`: --moves and --total are taken, too.
std::optional<int> parse_list_flags(const std::vector<std::string>& arguments, const char* name, const char* summary,
                                    ListFlags& flags, bool moves = false);

// A cluster of nodes with devices, in which pods are decided one by one as the manager does it: placement filters the
// nodes, the allocator chooses one of them and its devices, and both count what was decided.
class Fleet {
 public:
  Fleet(const inventory::Features& features, allocator::Strategy strategy);

  void add_node(const std::string& name, int64_t cpu_milli, int64_t memory_mib);
  placement::Cluster& cluster() { return cluster_; }
  inventory::Inventory& devices() { return inventory_; }

  struct Placed {
    std::string node;
    api::AllocationResult devices;
  };
  // The claim may be null: the pod then wants CPU and memory only. Nothing: the pod fits nowhere.
  std::optional<Placed> place(const api::Pod& pod, std::shared_ptr<const api::ResourceClaim> claim);
  void remove(const std::string& pod_uid);
  // The caller's own decision, in place of that of place().
  void put(const api::Pod& pod, const std::string& node, const api::AllocationResult& devices);

  // The time of a decision that the caller made.
  void count(int64_t nanos) { nanos_.push_back(nanos); }
  // Of each decision, in nanoseconds: placement, allocator, and recording the decision.
  const std::vector<int64_t>& nanos() const { return nanos_; }
  int64_t percentile(double share) const;
  uint64_t undecided() const { return undecided_; }

 private:
  std::optional<Placed> decide(const api::Pod& pod, std::shared_ptr<const api::ResourceClaim> claim);

  placement::Cluster cluster_;
  inventory::Inventory inventory_;
  SeededRandom random_{1};
  allocator::Allocator allocator_;
  std::vector<inventory::NodeId> ids_;  // by placement's number of the node
  std::vector<int64_t> nanos_;
  uint64_t undecided_ = 0;
};

}  // namespace dra::conformance
