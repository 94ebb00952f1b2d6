// Packing: can the remaining devices be assigned together, as far as counters and numbers of devices decide it?
//
// Devices of partitionable hardware compete for counters (a GPU's memory slices), so whether a mix of requests fits is
// a packing problem. A depth-first search over devices meets its dead ends late, and the same ones again and again.
// This class answers for a whole search state at once:
//
//   if (packing.set_up(plan, matrix))                                      // once, if the search takes long
//     if (!packing.possible({r + 1, &alternative, 2}, assigned, charged)) ... // no solution below this state
//
// How: candidates that share counters form a component (a GPU with its partitions); each filter of the plan is a
// demand class. ComponentStates lists what each component can still provide, as vectors by class. A depth-first search
// over components then looks for one vector of each whose sum, with the devices that need no counters, covers the
// demand.
//
// "Not possible" is a proof. The question is a relaxation (constraints, admin access, shared devices and mode All are
// ignored; alternatives count as their union), so "possible" guarantees nothing, except if none of these occurs: then
// it is exact, and the search never backtracks. Bounded by kMaxWork and the limits of ComponentStates; beyond them the
// answer is "possible".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pkg/allocator/plan/plan.h"
#include "pkg/allocator/search/candidate_matrix.h"
#include "pkg/allocator/search/component_states.h"
#include "pkg/inventory/hash128.h"

namespace dra::allocator {

class Packing {
 public:
  static constexpr size_t kMaxKinds = 128;       // per component; the classes of larger ones are ignored
  static constexpr size_t kMaxDevices = 4096;    // with counters, per node; beyond, packing does not decide
  static constexpr uint64_t kMaxWork = 100'000;  // per question, some 20 ns each
  static constexpr size_t kMaxAnswers = 50'000;

  // Prepares for the plan on the node of the matrix. False: packing cannot decide anything here.
  bool set_up(const Plan& plan, const CandidateMatrix& matrix);

  // The demand of all requests from `first` on, plus `count` devices of `current`.
  struct Wanted {
    uint32_t first = 0;
    const PlanAlternative* current = nullptr;
    uint64_t count = 0;
  };
  bool possible(const Wanted& wanted, const inventory::Words& assigned, const std::vector<inventory::Amount>& charged);

  // In search steps, since set_up.
  uint64_t work() const { return work_ / 8; }

 private:
  struct Component {
    uint32_t make = 0;
    std::vector<uint32_t> counters;         // of the matrix
    std::vector<inventory::Words> devices;  // by kind, from first_word on
    uint32_t first_word = 0;
  };
  // Devices that need no counters, of equal classes.
  struct Singles {
    uint32_t classes = 0;
    inventory::Words devices;
  };
  // A component in the cover search, and the maximum that it and all later levels, singles included, provide.
  struct Level {
    const ComponentStates::State* state = nullptr;
    Vector most = 0;
    uint64_t heaviest = 0;
  };

  void find_classes(const Plan& plan);
  void find_demand(const Plan& plan);
  void find_components();
  void add_component(const std::vector<uint32_t>& devices);
  uint32_t classes_of(uint32_t local) const;
  bool decides() const;
  Vector demand_of(const Wanted& wanted) const;
  uint32_t state_of(const Component& component, const inventory::Words& assigned,
                    const std::vector<inventory::Amount>& charged);
  bool lay_levels(Vector wanted);
  uint64_t weight_of(Vector v) const;
  bool cover(size_t level, Vector wanted);
  bool singles_cover(Vector wanted) const;

  const CandidateMatrix* matrix_ = nullptr;
  uint64_t work_ = 0;

  std::vector<inventory::Words> members_;                  // candidates by class
  uint32_t live_classes_ = 0;                              // one bit per class: those that packing can decide
  std::vector<uint32_t> slot_class_;                       // by filter slot of the plan
  std::vector<std::array<uint64_t, kMaxClasses>> demand_;  // by request: its own and later demand, by class

  std::string shape_;  // of the plan whose components states_ contains
  ComponentStates states_;
  std::vector<Component> components_;
  std::vector<Singles> singles_;

  // state of one question
  std::vector<uint32_t> now_;  // states of the components
  std::vector<Level> levels_;
  std::vector<std::pair<uint32_t, uint64_t>> singles_left_;  // classes, devices
  std::array<uint64_t, kMaxClasses> weights_{};
  std::unordered_set<inventory::Hash128, inventory::Hash128Hash> failed_;
  uint64_t work_limit_ = 0;

  std::unordered_map<inventory::Hash128, bool, inventory::Hash128Hash> answers_;
};

}  // namespace dra::allocator
