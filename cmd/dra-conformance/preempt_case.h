// A case of `preempt` or `defrag`: a small cluster with running and pending pods, read from a line of a file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/base/random.h"
#include "pkg/inventory/inventory.h"
#include "pkg/placement/cluster.h"
#include "pkg/preempt/preempt.h"
#include "test/oracle/world.h"

namespace dra::conformance {

struct PreemptExpectation {
  std::string verdict;
  std::vector<double> key;
  bool fixed = false;
  std::vector<std::string> pods;  // victims or moves
  std::map<std::string, std::string> placements;
};

class PreemptCase {
 public:
  // Throws what is wrong with the line.
  explicit PreemptCase(const std::string& line);
  PreemptCase(const PreemptCase&) = delete;
  PreemptCase& operator=(const PreemptCase&) = delete;

  std::string id;
  bool moves = false;     // "defrag"
  oracle::World objects;  // nodes, classes, slices, claims
  PreemptExpectation expect;
  std::unique_ptr<preempt::World> world;

 private:
  std::unique_ptr<inventory::Inventory> inventory_;
  placement::Cluster cluster_;
  SeededRandom random_{1};
  std::unique_ptr<allocator::Allocator> allocator_;
};

}  // namespace dra::conformance
