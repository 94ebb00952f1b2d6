// Search: the first solution in upstream's order, or proof that there is none.
//
// A depth-first search over requests, alternatives and devices in the documented order. Everything it skips is proven
// to contain no solution, so the first solution found is upstream's:
//  - once a constraint's value is fixed, enough candidates of every later request must have it;
//  - interchangeable devices (class_of) are tried once at each place; one with a rival among the candidates is not
//    interchangeable;
//  - a state proven dead (dead_) is not entered again;
//  - proofs (proofs.cc) refute the whole before much is tried;
//  - packing (packing.h) refutes a state whose demand cannot be met from the remaining counters;
//  - pairs (pairs.cc) refute a state whose devices cannot form the groups asked. They bound requests with pairs from
//  the
//    first device on, and sets of match constraints of one form that amount to pairs together with the shortcuts.
// Dead states, proofs, packing and classes are set up only after kQuickSteps steps: most requests end earlier.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/allocator/budget/meter.h"
#include "pkg/allocator/decision.h"
#include "pkg/allocator/groups/group_counter.h"
#include "pkg/allocator/plan/derived_columns.h"
#include "pkg/allocator/search/candidate_matrix.h"
#include "pkg/allocator/search/packing.h"
#include "pkg/allocator/search/refutations.h"
#include "pkg/allocator/search/value_match.h"
#include "pkg/base/error.h"

namespace dra::allocator {

struct Pick {
  uint32_t local = 0;
  uint32_t request = 0;
  uint32_t alternative = 0;
  const CapacityFit* fit = nullptr;  // for shared devices
};

class Search {
 public:
  enum class End : uint8_t { kFound, kNone, kBudget, kError };

  struct Terms {
    bool strict = false;
    uint64_t budget = 0;
    // Try to refute match constraints before the first step; pays off if most nodes do not fit.
    bool prove_first = false;
    // In: states proven dead by an earlier run for the same shape of claims on this unchanged node. Out, after kBudget:
    // those known now. Null: neither.
    DeadStates* dead = nullptr;
    // If set, the search calls it with every solution, in order, instead of stopping at the first, until it returns
    // true or nothing is left. No solution is skipped, so this may need many steps.
    std::function<bool(const Search&)> visit;
    // Assign exactly these picks of an earlier run of this plan: kFound if they are available, else kNone.
    const std::vector<Pick>* fixed = nullptr;
    const std::vector<uint32_t>* fixed_alternatives = nullptr;  // by request
    // What devices may take of their node; null: as much as they like. For plans that count it.
    const RoomOnNode* room = nullptr;
  };

  // All arguments must outlive this.
  Search(inventory::DeviceIndex& device_index, Selectors& selectors, Filters& filters, Columns& columns,
         DerivedColumnsCache& derived_columns, Meter& meter, DeferredFrees& frees)
      : matrix_(device_index, filters),
        device_index_(device_index),
        selectors_(selectors),
        filters_(filters),
        columns_(columns),
        derived_cache_(derived_columns),
        meter_(meter),
        deferred_frees_(frees) {}

  End run(const Plan& plan, inventory::NodeId node, const Terms& terms);

  // What candidates of the requests of this constraint, which must have a ValueList, offer on the node.
  ValueSupply supply(const Plan& plan, inventory::NodeId node, uint32_t constraint);

  const std::vector<Pick>& picks() const { return picks_; }
  const std::vector<uint32_t>& chosen() const { return chosen_; }  // alternative by request
  uint64_t steps() const { return steps_; }
  // After kBudget: the slice ended, not the budget.
  bool slice_ended() const { return slice_ended_; }
  // After kNone: what refuted the claims on this node; never empty. Valid until the next run.
  std::string proof() const;
  // After kNone: whether too few devices were left for a single request.
  bool too_few() const { return too_few_ != nullptr; }
  // Some device was not taken because there was no room on the node for what it takes: which resource. Empty: none.
  const std::string& short_of_room() const { return short_of_room_; }
  // After kFound: some device takes something of the node.
  bool takes_of_node() const {
    return std::any_of(taken_.begin(), taken_.end(), [](const TakenOfNode& one) { return one.amount > 0; });
  }
  const std::string& error() const { return error_; }
  const CandidateMatrix& matrix() const { return matrix_; }

 private:
  static constexpr uint64_t kQuickSteps = 48;
  // Behind the values of a distinct constraint: its members, and whether one stands alone (derived attributes).
  static constexpr uint32_t kDistinctCounts = 2;

  struct MatchState {
    uint32_t members = 0;
    uint32_t values = 0;         // number of values left
    uint32_t single = 0;         // the value if one is left
    std::vector<uint32_t> many;  // sorted, if more are left

    void clear() {
      members = values = single = 0;
      many.clear();
    }
  };
  struct SavedMatch {
    uint32_t constraint;
    MatchState state;
  };
  struct SharedUse {
    uint32_t local;
    uint32_t picks = 0;
    std::vector<inventory::Amount> sums;
    uint64_t terms = 0;  // of the picks: a sum over their filters and claims; 0 where no rule looks at them
  };

  // search.cc
  bool begin(const Plan& plan, inventory::NodeId node, const Terms& terms);
  bool add_anchors();
  End find(const Terms& terms);
  // Counts one step; false: the budget or the slice is used up.
  bool step() { return ++steps_ < next_look_ || look(); }
  bool look();
  void set_up_shortcuts();
  bool counts_suffice();
  bool assign_fixed(const Terms& terms);
  bool request(uint32_t r);
  bool alternative(uint32_t r, uint32_t a);
  bool place_all(uint32_t r, uint32_t a);
  bool place_one(uint32_t r, uint32_t a, uint32_t placed, uint32_t from);
  bool stopped() const { return out_of_budget_ || refuted_ || !error_.empty(); }
  const uint64_t* pool_of_choice(const PlanAlternative& alternative) const {
    return alternative.admin ? matrix_.usable(alternative.slot) : matrix_.candidates(alternative.slot);
  }

  // device_assignment.cc: assigns one device to a request, and undoes it
  bool assign(uint32_t r, uint32_t a, uint32_t local);
  void undo_pick();
  // `by`: the alternative that takes the device; null: an anchor.
  bool add_to_constraint(uint32_t constraint, const PlanAlternative* by, uint32_t local, bool* changed);
  void remove_from_constraint(uint32_t constraint, const PlanAlternative* by, uint32_t local);
  bool fits_shared(const inventory::Pool& pool, uint32_t device, uint32_t local, const CapacityFit& fit);
  bool fits_counters(const MatrixSegment& segment, uint32_t device);
  void charge(const MatrixSegment& segment, uint32_t device, bool on);
  SharedUse* shared_use(uint32_t local);
  // Whether the alternative may have the device beside what this decision gave of it (pkg/inventory/shares.h).
  bool may_share(const PlanRequest& request, const PlanAlternative& alternative, const inventory::Pool& pool,
                 uint32_t device, uint32_t local, const CapacityFit& fit);
  // What a rule may look at of a share of this pool's devices; 0: nothing.
  uint64_t terms_mark(const PlanRequest& request, const PlanAlternative& alternative,
                      const inventory::Pool& pool) const;
  bool look_ahead(uint32_t constraint, uint32_t r, uint32_t a, uint32_t placed, uint32_t local);
  size_t count_with(const PlanAlternative& alternative, const Column& column, const MatchState& state,
                    uint32_t from) const;

  // rivals.cc: devices that are one piece of silicon under several names, of which a decision takes one
  void lay_out_rivals();
  // Whether the alternative neither excludes other names of its devices nor is excluded by them.
  bool ignores_rivals(const PlanAlternative& alternative) const {
    return !any_rivals_ || alternative.admin || alternative.shares_silicon;
  }
  std::span<const uint32_t> rivals_of(uint32_t local) const {
    return {rivals_.data() + first_rival_[local], rivals_.data() + first_rival_[local + 1]};
  }
  void exclude_rivals(uint32_t local, bool on);
  // It has a rival among these devices.
  bool has_rival_in(uint32_t local, const inventory::Words& devices) const;

  // device_groups.cc: compatibility groups of devices on one counter set
  struct GroupsOfSet {
    uint32_t segment;  // its first word
    inventory::StrId set;
    inventory::GroupState state;  // of the devices in use and those of this decision
  };
  bool fits_groups(const MatrixSegment& segment, uint32_t device) const;
  void charge_groups(const MatrixSegment& segment, uint32_t device);
  void release_groups(const MatrixSegment& segment, uint32_t device);
  const inventory::GroupState* groups_on(const MatrixSegment& segment, inventory::StrId set) const;
  void append_groups(const MatrixSegment& segment, uint32_t device, std::string& key) const;
  void add_groups(inventory::Hash128& state) const;

  // node_room.cc: what the devices take of their node
  struct TakenOfNode {
    std::string resource;
    inventory::Amount room, amount = 0;
  };
  bool fits_room(const inventory::Pool& pool, uint32_t device, const CapacityFit* fit);
  void charge_room(const inventory::Pool& pool, uint32_t device, const CapacityFit* fit, int sign);
  static void append_takes(const inventory::Pool& pool, uint32_t device, std::string& key);
  void add_room(inventory::Hash128& state) const;
  TakenOfNode& taken_of(const std::string& resource);

  // derived_attributes.cc: constraints whose attribute an expression of a request replaces
  bool lay_out_derived();
  bool derived_may_fail() const;
  const Column& column_for(uint32_t constraint, const PlanAlternative* by) const {
    if (derived_.empty()) return *plan_columns_[plan_->constraints[constraint].column];
    return derived_column(constraint, by);
  }
  const Column& derived_column(uint32_t constraint, const PlanAlternative* by) const;
  static uint32_t derived_number(uint32_t constraint, const PlanAlternative* by);
  // False: an error, or the device cannot join those that the constraint has.
  bool joins_derived(uint32_t constraint, const PlanAlternative* by, uint32_t local);
  void append_derived(uint32_t local, std::string& key) const;
  void count_distinct(uint32_t constraint, const PlanAlternative* by, uint32_t local, int more);

  // proofs.cc
  void set_up_proofs();
  bool prove_packing();
  // True if there is no solution below this state: `placed` devices of the alternative are assigned.
  bool cannot_pack(uint32_t r, const PlanAlternative& alternative, uint32_t placed);
  bool prove_constraints();
  bool prove_counts();
  bool prove_implied_pairs();
  uint64_t most_devices(const inventory::Words& mask, const std::vector<uint32_t>& requests) const;
  void refute(std::string proof);

  // value_lists.cc: constraints with a ValueList
  void begin_lists();
  bool prove_lists();  // false if refuted
  bool lists_complete() const;

  // pairs.cc
  // The state that is judged: the alternatives of the first `chosen` requests are chosen, the last of these takes no
  // device before `from`, and the others of them have all of theirs.
  struct PairPlace {
    uint32_t chosen = 0;
    uint32_t from = 0;
  };
  void begin_pairs();
  uint32_t find_allocated(const Anchor& device) const;
  uint64_t pair_mark(uint32_t r, uint32_t local) const;
  bool taken_by(uint32_t r, const PairPlace& at, uint32_t number, uint64_t& least, uint64_t& most) const;
  void add_free(uint32_t r, const PairPlace& at, uint32_t fixed, uint32_t value);
  void narrow_to(uint32_t constraint, uint32_t value);
  bool has_share(const PlanPairTerm& term, const PairPlace& at, const inventory::Pool& pool, uint32_t device,
                 uint32_t local);
  bool fill_pair_term(const PlanPairs& entry, const PlanPairTerm& term, const PairPlace& at, uint32_t fixed,
                      uint32_t value, size_t first_allocated, GroupTerm& out);
  bool pair_possible(const PlanPairs& entry, const PairPlace& at, uint32_t fixed, uint32_t value, uint64_t limit,
                     bool* unknown);
  bool touches(const PlanConstraint& spec, const PlanPairs& entry) const;
  bool cannot_pair(const PairPlace& at);
  bool prove_pairs();
  bool pairs_hold();

  // dead_states.cc: classes of interchangeable devices, dead states
  void set_up_dead_states();
  uint64_t shared_state(uint32_t local) const;
  // Devices of equal kind are interchangeable now.
  uint64_t kind_of(uint32_t local) const {
    return (static_cast<uint64_t>(class_of_[local]) << 32) ^ shared_state(local);
  }
  inventory::Hash128 state_key(uint32_t r, uint32_t a, uint32_t placed, uint32_t from) const;

  CandidateMatrix matrix_;
  inventory::DeviceIndex& device_index_;
  Selectors& selectors_;
  Filters& filters_;
  Columns& columns_;
  DerivedColumnsCache& derived_cache_;
  Meter& meter_;
  DeferredFrees& deferred_frees_;

  const Plan* plan_ = nullptr;
  bool strict_ = false;
  bool any_rivals_ = false;  // some devices of the node are one piece of silicon
  bool naive_ = false;       // upstream might meet an error that counts: no short cuts
  uint64_t budget_ = 0;
  const std::function<bool(const Search&)>* visit_ = nullptr;
  uint64_t steps_ = 0;
  uint64_t metered_ = 0;    // part of steps_ already charged to the meter
  uint64_t next_look_ = 0;  // when to check budget and meter
  bool out_of_budget_ = false;
  bool slice_ended_ = false;
  bool anchors_agree_ = true;
  bool lists_agree_ = true;
  bool refuted_ = false;
  const PlanRequest* too_few_ = nullptr;  // a request without enough candidates
  std::string proof_;
  std::string twice_;  // a driver that keeps two requests of one claim from one device, if it did
  std::string error_;
  std::string all_error_;  // strict: a constraint against mode All; an error unless there is a solution

  std::vector<const Column*> plan_columns_;
  std::vector<DerivedColumns*> derived_;  // by constraint; null: without; empty: all are
  std::vector<GroupsOfSet> group_states_;
  std::vector<std::pair<size_t, inventory::GroupState>> saved_groups_;  // place in group_states_, before
  std::vector<uint32_t> first_rival_, rivals_;                          // by device; its rivals
  std::vector<uint32_t> excluded_by_;                                   // by device: rivals that this decision assigned
  inventory::Words excluded_;                                           // those with some
  std::vector<Pick> picks_;
  std::vector<uint32_t> chosen_;
  std::vector<uint32_t> results_;                  // by claim
  inventory::Words assigned_;                      // unshareable devices that this decision assigned
  std::vector<MatchState> match_;                  // by constraint
  std::vector<std::vector<uint8_t>> used_values_;  // by distinct constraint, by value
  std::vector<SavedMatch> saved_;
  std::vector<ValueMatch> value_match_;     // by constraint; only of those with a ValueList
  std::vector<inventory::Amount> charged_;  // by counter of the matrix
  std::vector<SharedUse> shared_;
  const RoomOnNode* room_ = nullptr;
  std::vector<TakenOfNode> taken_;  // in the order in which devices needed it
  std::string short_of_room_;

  Packing packing_;
  bool packs_ = false;  // packing_ is set up and can decide something

  // dead_states.cc
  bool keeps_dead_states_ = false;
  std::vector<uint32_t> class_of_;
  std::vector<inventory::Words> future_;           // by request: candidates of it and later ones
  std::vector<std::vector<uint32_t>> last_user_;   // by request: counter -> 1 + last candidate that uses it
  std::vector<std::vector<uint8_t>> future_user_;  // by request: counter -> used by candidates of it or later ones
  DeadStates dead_;
  void add_dead(const inventory::Hash128& state);

  // pairs.cc
  bool pairs_ = false;         // the plan has rules about pairs
  bool bounds_pairs_ = false;  // bounds by pairs, or by constraints that imply some, are in use
  bool bounds_constraints_ = false;
  uint64_t pair_state_ = 0;  // sum over picks: the values of their entries
  GroupCounter group_counter_;
  std::vector<GroupTerm> pair_terms_;
  std::vector<uint32_t> allocated_;  // devices of allocated claims, entry by entry
  inventory::Words pair_mask_, pair_free_;
  uint64_t pair_work_ = 0;
  uint64_t pair_least_ = 0;   // devices that a term takes at least
  uint64_t pair_groups_ = 0;  // asked of the entry judged last
  const PlanPairs* refuted_pairs_ = nullptr;
};

}  // namespace dra::allocator
