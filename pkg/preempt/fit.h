// Fit: whether pods fit together in an arranged scene, and where. The question goes to pkg/gang, which answers exactly.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pkg/gang/gang.h"
#include "pkg/placement/decision.h"
#include "pkg/preempt/stage.h"
#include "pkg/preempt/world.h"

namespace dra::preempt {

struct Found {
  std::map<std::string, std::string> placements;             // pod -> node
  std::map<std::string, api::AllocationResult> allocations;  // claim -> what it gets
};

enum class Fits : uint8_t { kYes, kNo, kUnknown };

class FitNodes;

class Fit {
 public:
  Fit(World& world, Stage& stage, uint64_t check_steps);

  // Enough of the pending pods, and all of `moved`, fit with the scene as arranged. `moved` pods must have left in it.
  // `loosely`: claims of moved pods that pods beside them hold do not matter. `only`: the pending pods go to this node.
  struct Question {
    std::vector<uint32_t> moved;
    bool loosely = false;
    std::optional<inventory::NodeId> only;
  };
  Fits fits(const Question& question, Found* found = nullptr);
  // How many of the pending pods must be placed together.
  size_t needed() const { return needed_; }
  const placement::Charge& charge_of(uint32_t pod) { return needs_of(pod).needs->charge(); }
  // The claims of a pending pod that have no allocation.
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims_to_allocate(uint32_t pod) const;
  // By node of the list: it is unknown, or refuses the pod by its own rules (labels, taints, cordon), whoever leaves.
  std::vector<bool> refused_for_good(uint32_t pod, std::span<const inventory::NodeId> nodes);
  // The pending pod may go there, as arranged, apart from devices.
  bool takes(uint32_t pod, const std::string& node);
  // Counts it as a pod of the node, until it is taken back.
  void put(uint32_t pod, const std::string& node);
  void take_back(uint32_t pod);
  uint64_t checks() const { return checks_; }

 private:
  friend class FitNodes;
  struct Needs {
    std::shared_ptr<const api::Pod> pod;  // without a node
    std::optional<placement::PodNeeds> needs;
  };
  const Needs& needs_of(uint32_t pod);
  std::shared_ptr<const api::ResourceClaim> blank(uint32_t claim);
  std::optional<gang::Member> member_of(uint32_t pod, const Question& question);
  Fits ask(const std::vector<uint32_t>& pods, size_t min_count, const Question& question, Found* found);
  Fits ask_for_one(uint32_t pod, const Question& question, FitNodes& nodes, Found* found);
  bool can_be_used(const std::vector<std::shared_ptr<const api::ResourceClaim>>& claims, inventory::NodeId node) const;
  Fits each_choice(const std::vector<uint32_t>& chosen, size_t from, const Question& question, Found* found);

  World& world_;
  Stage& stage_;
  const uint64_t check_steps_;
  gang::Gangs gangs_;
  size_t needed_ = 0;
  std::vector<Needs> needs_;                                      // by pod
  std::vector<std::shared_ptr<const api::ResourceClaim>> blank_;  // by claim: without its allocation
  uint64_t checks_ = 0;
};

// How many of the pending pods must be placed together: a group's minimum less its running members.
size_t needed_together(const World& world, const std::vector<uint32_t>& pending);

}  // namespace dra::preempt
