// GangFleet: a cluster of nodes with GPUs in which groups of pods arrive, wait, are placed together and depart.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/gang/gang.h"
#include "pkg/inventory/inventory.h"
#include "pkg/placement/decision.h"

namespace dra::conformance {

struct FleetNode {
  std::string name;
  api::StringMap labels;
  int64_t cpu_milli = 0;
  int64_t memory_mib = 0;
  int gpus = 0;
  std::string model;
};

// Members of a group that are alike.
struct FleetMembers {
  std::string name;
  int count = 1;
  int gpus = 0;
  std::vector<std::string> models;  // any of them; empty: all
  int64_t cpu_milli = 0;
  int64_t memory_mib = 0;
};

struct FleetGroup {
  std::string name;
  std::vector<FleetMembers> members;
  uint32_t min_count = 0;
  gang::Topology topology;
};

class GangFleet {
 public:
  explicit GangFleet(allocator::Strategy strategy);

  void add_node(const FleetNode& node);
  // If the answer is "found", the members are on their nodes from now on.
  gang::Decision place(const FleetGroup& group);
  void remove(const std::string& group);

  const std::string& pod_name(const std::string& group, size_t member) const;
  std::string node_name(inventory::NodeId node) const { return inventory_.node_name(node); }

 private:
  class PlacementNodes;
  struct Waiting {
    std::vector<std::shared_ptr<const api::Pod>> pods;
    gang::GangRequest request;
    std::vector<std::string> claims;  // uids
  };
  Waiting& waiting_of(const FleetGroup& group);

  placement::Cluster cluster_;
  inventory::Inventory inventory_{inventory::Features::all()};
  SeededRandom random_{1};
  allocator::Allocator allocator_;
  gang::Gangs gangs_;
  std::vector<inventory::NodeId> ids_;  // by placement's number of the node
  std::map<std::string, Waiting> groups_;
  uint64_t changes_ = 0;
};

}  // namespace dra::conformance
