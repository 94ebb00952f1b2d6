// Stage: the inventory and the cluster as they would be if some pods had left and some promises were kept. Arranged by
// difference, so that two similar scenes cost little; restored by the destructor.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pkg/preempt/world.h"

namespace dra::preempt {

struct Scene {
  bool left = false;               // terminating pods have left, and claims on their way are released
  std::vector<uint32_t> gone;      // pods, sorted; beside those that terminate
  std::vector<uint32_t> promises;  // that are kept, sorted
};

class Stage {
 public:
  explicit Stage(World& world);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void arrange(const Scene& scene);
  // As arranged: the claim is allocated in the world, but free.
  bool is_free(uint32_t claim) const { return freed_[claim]; }
  // The claim is freed if exactly these pods, beside those that terminate, have left.
  bool frees(uint32_t claim, const std::vector<uint32_t>& gone) const;
  // The pods of the world that are in its reservedFor and have a node.
  std::span<const uint32_t> consumers(uint32_t claim) const { return consumers_.of(claim); }
  // The allocated claims in whose reservedFor the pod is.
  std::span<const uint32_t> held_by(uint32_t pod) const { return holds_.of(pod); }
  const std::vector<uint32_t>& terminating() const { return terminating_; }
  // By pod: it holds what other nodes than its own could use, or shares a claim with a pod of another node.
  std::vector<bool> reaches_further() const;
  // Some claim is released without a pod that leaves.
  bool releases() const { return !released_.empty(); }
  // Grows with every change.
  uint64_t version() const { return version_; }

  static std::string uid_of_promise(uint32_t promise, const std::string& name);

 private:
  void leave(uint32_t pod);
  void come_back(uint32_t pod);
  void settle(uint32_t claim);
  void keep(uint32_t promise);
  void drop(uint32_t promise);

  // Many short lists in one piece of memory.
  struct Lists {
    std::vector<uint32_t> begins, items;  // `begins` has one more than there are lists
    std::span<const uint32_t> of(uint32_t list) const {
      return {items.data() + begins[list], items.data() + begins[list + 1]};
    }
    // The same pairs by item.
    Lists turned(size_t items_known) const;
  };

  World& world_;
  Lists consumers_;                         // by claim: pods of the world that are in its reservedFor
  Lists holds_;                             // by pod: claims
  std::vector<uint32_t> still_there_;       // by claim: entries of reservedFor that have not left
  std::vector<bool> can_be_freed_, freed_;  // by claim
  std::vector<uint32_t> terminating_;
  std::vector<uint32_t> released_;  // claims on their way whose pods are gone
  bool left_ = false;
  std::vector<uint32_t> gone_;  // those that terminate included
  std::vector<uint32_t> promises_;
  uint64_t version_ = 1;
};

}  // namespace dra::preempt
