#include "pkg/allocator/search/search.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace dra::allocator {

using inventory::count_bits;
using inventory::next_bit;
using inventory::test_bit;

// False: the slice ended before the devices were laid out.
bool Search::begin(const Plan& plan, inventory::NodeId node, const Terms& terms) {
  plan_ = &plan;
  strict_ = terms.strict;
  budget_ = terms.budget;
  visit_ = terms.visit ? &terms.visit : nullptr;
  steps_ = metered_ = 0;
  next_look_ = 1;
  out_of_budget_ = slice_ended_ = refuted_ = keeps_dead_states_ = packs_ = false;
  too_few_ = nullptr;
  proof_.clear();
  twice_.clear();
  error_.clear();
  all_error_.clear();
  if (!matrix_.lay_out(plan, node)) return false;
  naive_ = strict_ && (matrix_.any_failed() || (plan.any_all && !plan.constraints.empty()));
  plan_columns_.clear();
  for (const PlanColumn& one : plan.columns) plan_columns_.push_back(&columns_.get(matrix_.view(), one.key, one.which));
  derived_.clear();
  if (plan.any_derived && !lay_out_derived()) return false;
  naive_ = naive_ || derived_may_fail();
  picks_.clear();
  lay_out_rivals();
  group_states_.clear();
  saved_groups_.clear();
  shared_.clear();
  room_ = terms.room;
  taken_.clear();
  short_of_room_.clear();
  saved_.clear();
  chosen_.assign(plan.requests.size(), 0);
  results_.assign(plan.claims.size(), 0);
  assigned_.assign(matrix_.words(), 0);
  charged_.assign(matrix_.counters(), 0);
  if (!plan.constraints.empty()) {
    match_.resize(plan.constraints.size());
    for (MatchState& match : match_) match.clear();
    used_values_.resize(plan.constraints.size());
    for (size_t c = 0; c < plan.constraints.size(); ++c)
      if (plan.constraints[c].distinct) used_values_[c].assign(column_for(c, nullptr).values + kDistinctCounts, 0);
  }
  anchors_agree_ = plan.ties.empty() || add_anchors();
  if (!plan.lists.empty()) begin_lists();
  pairs_ = bounds_pairs_ = !plan.pair_rules.empty();
  bounds_constraints_ = false;
  if (pairs_) begin_pairs();
  return true;
}

// Adds the anchors as members of their constraint before the search. False: one is not visible from this node, or they
// do not agree with each other.
bool Search::add_anchors() {
  for (uint32_t c = 0; c < plan_->constraints.size(); ++c) {
    const PlanConstraint& spec = plan_->constraints[c];
    if (spec.anchors == nullptr) continue;
    for (const Anchor& anchor : *spec.anchors) {
      const auto segment = std::find_if(matrix_.segments().begin(), matrix_.segments().end(), [&](const auto& one) {
        return one.pool->driver_text == anchor.driver && one.pool->name_text == anchor.pool;
      });
      if (segment == matrix_.segments().end()) return false;
      const inventory::StrId name = device_index_.strings().find(anchor.device);
      const uint32_t device = name == inventory::kNoStr ? inventory::kNone : matrix_.find_here(*segment, name);
      bool changed = false;
      if (device == inventory::kNone || !add_to_constraint(c, nullptr, segment->first_word * 64 + device, &changed))
        return false;
    }
  }
  return true;
}

Search::End Search::run(const Plan& plan, inventory::NodeId node, const Terms& terms) {
  End end = End::kBudget;
  if (begin(plan, node, terms)) {
    end = find(terms);
    // Laying out a node costs time for each filter and column, too.
    const size_t layout_steps =
        matrix_.words() * plan.filters.size() / 8 + plan.filters.size() / 4 + plan.columns.size();
    meter_.charge(1 + layout_steps + steps_ - metered_);
  } else {
    slice_ended_ = true;
  }
  return end;
}

bool Search::assign_fixed(const Terms& terms) {
  chosen_ = *terms.fixed_alternatives;
  for (const Pick& pick : *terms.fixed) {
    if (!inventory::test_bit(pool_of_choice(plan_->requests[pick.request].alternatives[pick.alternative]), pick.local))
      return false;
    if (!assign(pick.request, pick.alternative, pick.local)) return false;
  }
  return true;
}

Search::End Search::find(const Terms& terms) {
  if (!error_.empty()) return End::kError;
  if (!anchors_agree_) {
    refute("the devices that are allocated already do not agree in the preferred attribute here");
    return End::kNone;
  }
  if (!plan_->lists.empty() && !lists_agree_) {
    refute("the devices that the pod has already do not fit the values of the group");
    return End::kNone;
  }
  if (terms.fixed != nullptr) return assign_fixed(terms) ? End::kFound : End::kNone;
  if (!counts_suffice()) return error_.empty() ? End::kNone : End::kError;
  if (!plan_->lists.empty() && !naive_ && !prove_lists()) return End::kNone;
  if (pairs_ && !prove_pairs()) return End::kNone;
  if (terms.prove_first && !naive_ && !prove_constraints()) return End::kNone;
  deferred_frees_.add(dead_, 1);
  if (terms.dead != nullptr && !terms.dead->empty() && !naive_) {
    dead_.swap(*terms.dead);
    set_up_shortcuts();
    if (refuted_) return End::kNone;
  }
  if (request(0)) return End::kFound;
  if (!error_.empty()) return End::kError;
  if (out_of_budget_ && !refuted_) {
    if (terms.dead != nullptr) dead_.swap(*terms.dead);
    return End::kBudget;
  }
  error_ = all_error_;
  if (!error_.empty()) return End::kError;
  if (proof_.empty() && !twice_.empty())
    proof_ = "driver " + twice_ + " refuses two requests of one claim on one shared device, so each needs its own " +
             "(--shared-device-requests " + twice_ + "=never)";
  if (proof_.empty()) proof_ = kExhausted;
  return End::kNone;
}

bool Search::look() {
  constexpr uint64_t kLookEvery = 64;
  meter_.charge(steps_ - metered_);
  metered_ = steps_;
  next_look_ = std::min(budget_ + 1, steps_ + kLookEvery);
  slice_ended_ = meter_.stopped() && steps_ > 1;  // a used-up slice still makes one step
  if (steps_ > budget_ || slice_ended_) out_of_budget_ = true;
  return !out_of_budget_;
}

void Search::set_up_shortcuts() {
  constexpr uint64_t kStepsPerWord = 16;  // visits every device
  meter_.charge(kStepsPerWord * matrix_.words());
  set_up_proofs();
  if (!refuted_) set_up_dead_states();
}

// Whether every request alone has enough candidates; in strict mode also makes upstream's checks before a search.
bool Search::counts_suffice() {
  for (const PlanRequest& request : plan_->requests) {
    bool possible = false;
    for (const PlanAlternative& alternative : request.alternatives) {
      if (alternative.all) {
        const bool excluded = device_index_.features().incomplete_pool_excludes_node;
        if (strict_ && ((matrix_.incomplete() != nullptr && !excluded) || matrix_.invalid() != nullptr)) {
          const inventory::Pool& pool = matrix_.incomplete() != nullptr ? *matrix_.incomplete() : *matrix_.invalid();
          error_ = "request " + quote(alternative.name) + " asks for all devices, but resource pool " +
                   pool.driver_text + "/" + pool.name_text + " is " +
                   (matrix_.incomplete() != nullptr ? "currently being updated" : "invalid");
          return false;
        }
        if (strict_ && matrix_.slot_failed(alternative.slot)) {
          error_ = "request " + quote(alternative.name) + ": a selector failed";
          return false;
        }
        bool pools_usable = matrix_.incomplete() == nullptr && matrix_.invalid() == nullptr;
        if (pools_usable && count_bits(matrix_.selectable(alternative.slot), matrix_.words()) > 0) possible = true;
        continue;
      }
      if (count_bits(pool_of_choice(alternative), matrix_.words()) >= alternative.count) possible = true;
    }
    if (!possible && !naive_) {
      too_few_ = &request;
      if (!strict_ || !plan_->any_all) return false;  // else a later request may be an error for upstream
    }
  }
  return too_few_ == nullptr;
}

std::string Search::proof() const {
  if (too_few_ == nullptr) return proof_;
  std::string text;
  for (const PlanAlternative& alternative : too_few_->alternatives) {
    if (!text.empty()) text += "; ";
    text += "request " + quote(alternative.name) + " wants ";
    if (alternative.all) {
      const inventory::Pool* blocked = matrix_.incomplete() != nullptr ? matrix_.incomplete() : matrix_.invalid();
      text += "all devices, ";
      text += blocked == nullptr
                  ? "of which there are none"
                  : "but a pool is " + std::string(matrix_.incomplete() != nullptr ? "incomplete" : "invalid");
    } else {
      text += std::to_string(alternative.count) + " devices, " +
              std::to_string(count_bits(pool_of_choice(alternative), matrix_.words())) + " are left for it";
    }
  }
  return text;
}

bool Search::request(uint32_t r) {
  if (r == plan_->requests.size()) {
    if (pairs_ && !pairs_hold()) return false;
    if (!plan_->lists.empty() && !lists_complete()) return false;
    return visit_ == nullptr || (*visit_)(*this);
  }
  const PlanRequest& request = plan_->requests[r];
  for (uint32_t a = 0; a < request.alternatives.size(); ++a) {
    chosen_[r] = a;
    if (alternative(r, a)) return true;
    if (stopped()) return false;
  }
  return false;
}

bool Search::alternative(uint32_t r, uint32_t a) {
  const PlanAlternative& alternative = plan_->requests[r].alternatives[a];
  if (alternative.all) return place_all(r, a);
  if (results_[plan_->requests[r].claim] + alternative.count > api::kMaxAllocationResults) return false;
  return place_one(r, a, 0, 0);
}

// Mode All: every selectable device, in order; fails if one is unavailable.
bool Search::place_all(uint32_t r, uint32_t a) {
  const PlanAlternative& alternative = plan_->requests[r].alternatives[a];
  if (matrix_.incomplete() != nullptr || matrix_.invalid() != nullptr) return false;
  const uint64_t* wanted = matrix_.selectable(alternative.slot);
  const uint64_t* possible = pool_of_choice(alternative);
  uint32_t& results = results_[plan_->requests[r].claim];
  size_t count = count_bits(wanted, matrix_.words());
  if (count == 0 || results + count > api::kMaxAllocationResults) return false;
  size_t before = picks_.size();
  bool complete = true;
  for (size_t local = next_bit(wanted, matrix_.words(), 0); local != SIZE_MAX;
       local = next_bit(wanted, matrix_.words(), local + 1)) {
    if (!step() || stopped() || !test_bit(possible, local) || !assign(r, a, static_cast<uint32_t>(local))) {
      complete = false;
      break;
    }
  }
  results += static_cast<uint32_t>(picks_.size() - before);
  if (complete && bounds_pairs_ && cannot_pair({r + 1, 0})) complete = false;
  if (complete && request(r + 1)) return true;
  results -= static_cast<uint32_t>(picks_.size() - before);
  while (picks_.size() > before) undo_pick();
  return false;
}

bool Search::place_one(uint32_t r, uint32_t a, uint32_t placed, uint32_t from) {
  const PlanAlternative& alternative = plan_->requests[r].alternatives[a];
  if (placed == alternative.count) return request(r + 1);
  inventory::Hash128 key;
  bool keyed = keeps_dead_states_;
  if (keyed) {
    key = state_key(r, a, placed, from);
    if (dead_.contains(key)) return false;
  }
  const uint64_t* candidates = pool_of_choice(alternative);
  const uint64_t* failed = strict_ && matrix_.any_failed() ? matrix_.failed(alternative.slot) : nullptr;
  uint32_t& results = results_[plan_->requests[r].claim];
  std::vector<uint64_t> tried;  // classes (with their state) that failed here
  for (size_t next = from;; ++next) {
    size_t local = next_bit(candidates, matrix_.words(), next);
    if (failed != nullptr) {
      size_t bad = next_bit(failed, matrix_.words(), next);
      if (bad < local) {
        const MatrixSegment& segment = matrix_.segment_of(static_cast<uint32_t>(bad));
        bool used = test_bit(segment.pool->in_use(), bad - segment.first_word * 64);
        if (alternative.admin || !used) {
          error_ = "request " + quote(alternative.name) + ": a selector failed on a device of pool " +
                   segment.pool->driver_text + "/" + segment.pool->name_text;
          return false;
        }
        next = bad;
        continue;
      }
    }
    if (local == SIZE_MAX) break;
    next = local;
    auto device = static_cast<uint32_t>(local);
    if (!alternative.admin && test_bit(assigned_.data(), local)) continue;
    if (!step()) return false;
    if (keeps_dead_states_ && std::find(tried.begin(), tried.end(), kind_of(device)) != tried.end()) continue;
    if (assign(r, a, device)) {
      ++results;
      if (!cannot_pack(r, alternative, placed + 1) && !(bounds_pairs_ && cannot_pair({r + 1, device + 1})) &&
          place_one(r, a, placed + 1, device + 1))
        return true;
      --results;
      undo_pick();
      if (stopped()) return false;
      if (steps_ > kQuickSteps && !keeps_dead_states_ && !naive_ && visit_ == nullptr) {
        set_up_shortcuts();
        if (refuted_) return false;
      }
    } else if (!error_.empty()) {
      return false;
    }
    // set_up_dead_states() may have run deep below this device: look up its kind only now, after giving it back.
    if (keeps_dead_states_) tried.push_back(kind_of(device));
  }
  if (keyed) add_dead(key);
  return false;
}

}  // namespace dra::allocator
