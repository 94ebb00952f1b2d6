// Contest: runs this project's allocator on a world of the oracle.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/base/random.h"
#include "pkg/inventory/inventory.h"
#include "test/oracle/world.h"

namespace dra::allocharness {

// An inventory filled from a world, and an allocator over it. Not thread-safe.
class Contest {
 public:
  // An error names an unknown feature gate.
  static Result<std::unique_ptr<Contest>> make(const oracle::World& world, const allocator::Options& options = {});

  // Decides the claims on the first node of the world that fits.
  allocator::Decision decide();
  // Takes a device of the node (or of the world's first one) and releases it, so that the next decision cannot use
  // caches that depend on usage.
  void disturb(inventory::NodeId node);

  inventory::Inventory& inventory() { return inventory_; }
  allocator::Allocator& allocator() { return *allocator_; }
  const allocator::Request& request() const { return request_; }
  // By node: the drivers whose devices are the device plugin's, each with the first resource that makes it so.
  const std::map<std::string, std::map<std::string, std::string>>& plugins() const { return plugins_; }
  const std::vector<inventory::NodeId>& nodes() const { return nodes_; }

 private:
  explicit Contest(const inventory::Features& features) : inventory_(features), random_(1) {}
  void fill(const oracle::World& world);
  void hold(const oracle::World& world);
  void find_plugins(const oracle::World& world);

  inventory::Inventory inventory_;
  SeededRandom random_;
  std::unique_ptr<allocator::Allocator> allocator_;
  allocator::Request request_;
  std::vector<inventory::NodeId> nodes_;
  std::map<std::string, std::map<std::string, std::string>> plugins_;
  std::optional<inventory::NodeId> disturbed_node_;
  std::optional<api::AllocationResult> disturbance_;
};

}  // namespace dra::allocharness
