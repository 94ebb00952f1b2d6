// Refutations: what searches that found no devices learned about nodes, per shape of claims.
//
// Kept per shape of claims (everything about them that decides feasibility) until anything on the node changes:
//  - refuted nodes, so that a fleet in which many nodes look
//    possible to summaries is searched once, not for every waiting
//    claim;
//  - undecided nodes, which come last in the next attempt, so that hard nodes do not starve an easy one;
//  - the search that a slice or budget ended, with the states it proved dead, so that it continues, not restarts;
//  - the cost of the current attempt, and its budget.
// Bounded by kMaxShapes, kMaxShapeBytes and kMaxDeadStates; the least recently used goes first.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "pkg/allocator/budget/deferred_frees.h"
#include "pkg/inventory/device_index.h"
#include "pkg/inventory/hash128.h"

namespace dra::allocator {

// States of one search, by hash, that have no solution.
using DeadStates = std::unordered_set<inventory::Hash128, inventory::Hash128Hash>;
inline constexpr size_t kMaxDeadStates = 200'000;  // of all kept searches, about 10 MiB

class Refutations {
 public:
  class NodeSet {
   public:
    bool contains(inventory::NodeId node) const {
      return (node >> 6) < words_.size() && inventory::test_bit(words_.data(), node);
    }
    void add(inventory::NodeId node) {
      if ((node >> 6) >= words_.size()) words_.resize((node >> 6) + 1, 0);
      inventory::set_bit(words_.data(), node);
    }
    void remove(inventory::NodeId node) {
      if ((node >> 6) < words_.size()) inventory::clear_bit(words_.data(), node);
    }
    void clear() { words_.clear(); }

   private:
    inventory::Words words_;
  };

  struct Nodes {
    NodeSet refuted;
    NodeSet undecided;
    // The search to continue.
    inventory::NodeId begun = inventory::kNone;
    uint64_t begun_steps = 0;
    DeadStates dead;
    // The current attempt: search steps, all steps, and slices so far; a budget of 0 means that of the options.
    uint64_t spent = 0;
    uint64_t work = 0;
    uint32_t slices = 0;
    uint64_t budget = 0;

    // The claims are decided, or the attempt is over.
    void end_attempt(uint64_t next_budget) {
      spent = work = slices = 0;
      budget = next_budget;
    }

   private:
    friend class Refutations;
    uint64_t seen_ = 0;   // position in the change log
    uint64_t moves_ = 0;  // DeviceIndex::moves_version
    uint64_t last_used_ = 0;
  };

  // Both must outlive this.
  Refutations(const inventory::DeviceIndex& device_index, DeferredFrees& frees)
      : device_index_(device_index), deferred_frees_(frees) {}

  // The current knowledge. The reference is valid until the next call.
  Nodes& of(const std::string& shape);
  // Makes the kept search start over.
  void forget_begun(Nodes& nodes);
  void clear();
  void trim();

 private:
  static constexpr size_t kMaxShapes = 256;
  static constexpr size_t kMaxShapeBytes = 4u << 20;  // of the shapes' texts

  std::unordered_map<std::string, Nodes>::iterator oldest();
  void drop_oldest();

  const inventory::DeviceIndex& device_index_;
  DeferredFrees& deferred_frees_;
  std::unordered_map<std::string, Nodes> shapes_;
  uint64_t clock_ = 0;
};

}  // namespace dra::allocator
