// Refutations: on which nodes a search has already shown that claims of some shape do not fit.
//
// Kept per shape of claims (everything of them that decides feasibility) until anything on the node changes, so that a
// fleet in which many nodes look possible to summaries is searched once, not with every claim that waits.
#pragma once

#include <string>
#include <unordered_map>

#include "pkg/inventory/core.h"

namespace dra::allocator {

class Refutations {
 public:
  struct Nodes {
    uint64_t seen = 0;   // position in the change log
    uint64_t moves = 0;  // Core::moves_version
    inventory::Words refuted;

    bool contains(inventory::NodeId node) const {
      return (node >> 6) < refuted.size() && inventory::test_bit(refuted.data(), node);
    }
    void add(inventory::NodeId node) {
      if ((node >> 6) >= refuted.size()) refuted.resize((node >> 6) + 1, 0);
      inventory::set_bit(refuted.data(), node);
    }
  };

  explicit Refutations(const inventory::Core& core) : core_(core) {}

  // As of now. The reference is good until the next call.
  Nodes& of(const std::string& shape);
  void clear() { shapes_.clear(); }

 private:
  static constexpr size_t kMaxShapes = 256;

  const inventory::Core& core_;
  std::unordered_map<std::string, Nodes> shapes_;
};

}  // namespace dra::allocator
