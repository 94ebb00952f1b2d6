// Candidates: who may go or move, one by one, and which sets of them the rules of groups allow.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "pkg/preempt/world.h"

namespace dra::preempt {

// What an eviction is: a victim goes for good, a pod that moves is placed elsewhere.
enum class Kind : uint8_t { kVictims, kMoves };

inline constexpr std::string_view kDoNotMove = "dra-controller-manager/do-not-move";

// The lowest priority of the pods: that by which they may take the place of others.
int64_t priority_of(const World& world, const std::vector<uint32_t>& pods);

class Candidates {
 public:
  // For pods of this priority. `anybody`: false if one of them has preemptionPolicy Never.
  Candidates(const World& world, Kind kind, int64_t priority, bool anybody);

  // Those who may go, sorted.
  const std::vector<uint32_t>& all() const { return all_; }
  bool may_go(uint32_t pod) const { return may_go_[pod]; }
  // The smallest set that contains `pods`, which may go, and that the rules of groups allow; nothing: there is none.
  // Of a group either all running members leave, or so many that its minimum still runs.
  std::optional<std::vector<uint32_t>> closed(std::vector<uint32_t> pods) const;
  // `pods` may all go, and obey the rules of groups as they are.
  bool allowed(const std::vector<uint32_t>& pods) const;

 private:
  struct Members {
    std::vector<uint32_t> running;
    size_t surplus = 0;  // so many may leave without the others
    bool all_may_go = true;
  };
  const World& world_;
  std::vector<uint32_t> all_;
  std::vector<bool> may_go_;
  std::vector<Members> groups_;
};

}  // namespace dra::preempt
