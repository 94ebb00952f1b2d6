// Build: a World made from a model, with everything that it refers to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/base/random.h"
#include "pkg/inventory/inventory.h"
#include "pkg/placement/cluster.h"
#include "pkg/preempt/testing/model.h"
#include "pkg/preempt/world.h"

namespace dra::preempt::testing {

class Built {
 public:
  explicit Built(const Model& model);
  Built(const Built&) = delete;
  Built& operator=(const Built&) = delete;

  World& world() { return *world_; }
  inventory::Inventory& devices() { return inventory_; }
  placement::Cluster& cluster() { return cluster_; }
  // "ns/p3" and "ns/c3" are pod and claim 3, "n1" is node 1.
  static int number_in(const std::string& name);
  std::vector<int> devices_of(const api::AllocationResult& allocation) const;
  // What the world is made of; pods and claims are in it.
  const std::vector<std::shared_ptr<const api::Node>>& nodes() const { return nodes_; }
  const std::vector<api::DeviceClass>& classes() const { return classes_; }
  const std::vector<api::ResourceSlice>& slices() const { return slices_; }

 private:
  void add_classes();
  void add_slices();
  void add_claims();
  void add_pods();
  void add_rest();
  std::string shape_of(const ModelPod& pod) const;
  api::AllocationResult allocation_of(const ModelClaim& claim, const std::vector<int>& devices) const;

  const Model model_;
  std::vector<std::shared_ptr<const api::Node>> nodes_;
  std::vector<api::DeviceClass> classes_;
  std::vector<api::ResourceSlice> slices_;
  inventory::Inventory inventory_{inventory::Features::all()};
  placement::Cluster cluster_;
  SeededRandom random_{1};
  allocator::Allocator allocator_{inventory_, {}, random_};
  std::unique_ptr<World> world_;
};

}  // namespace dra::preempt::testing
