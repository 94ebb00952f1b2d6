// Search: assigns one device to a request, with all checks, and undoes it.
#include <algorithm>

#include "pkg/allocator/search/search.h"

namespace dra::allocator {

using inventory::Amount;
using inventory::CounterUse;
using inventory::Pool;

Search::SharedUse* Search::shared_use(uint32_t local) {
  for (SharedUse& use : shared_)
    if (use.local == local) return &use;
  return nullptr;
}

bool Search::fits_shared(const Pool& pool, uint32_t device, uint32_t local, const CapacityFit& fit) {
  const inventory::CapacityShape& shape = pool.shape(device);
  const std::vector<Amount>* held = pool.shared(device);
  const SharedUse* ours = shared_use(local);
  for (size_t i = 0; i < shape.entries.size(); ++i) {
    Amount sum = fit.amounts[i] + (held != nullptr ? (*held)[i] : 0);
    if (ours != nullptr && !ours->sums.empty()) sum += ours->sums[i];
    if (sum > shape.entries[i].amount) return false;
  }
  return true;
}

uint64_t Search::terms_mark(const PlanRequest& request, const PlanAlternative& alternative, const Pool& pool) const {
  if (strict_ || !device_index_.shares().concerns(pool.driver_text, plan_->apart)) return 0;
  inventory::Hash128 mark;
  mark.add(uint64_t{request.claim} << 32 | alternative.filter);
  return mark.a | 1;
}

bool Search::may_share(const PlanRequest& request, const PlanAlternative& alternative, const Pool& pool,
                       uint32_t device, uint32_t local, const CapacityFit& fit) {
  const inventory::Shares& shares = device_index_.shares();
  const bool never = shares.never_twice(pool.driver_text, plan_->apart);
  std::vector<inventory::ShareTaker> takers;
  if (const auto& ask = filters_.get(alternative.filter).ask) takers.push_back({ask.get(), &fit.amounts});
  for (const Pick& pick : picks_) {
    if (pick.local != local) continue;
    const PlanRequest& other = plan_->requests[pick.request];
    if (never && other.claim == request.claim) {
      if (!plan_->apart) twice_ = pool.driver_text;
      return false;
    }
    const PlanAlternative& theirs = other.alternatives[pick.alternative];
    if (const auto& ask = filters_.get(theirs.filter).ask; ask && !theirs.admin && !alternative.admin)
      takers.push_back({ask.get(), &pick.fit->amounts});
  }
  return takers.size() < 2 || shares.admits(pool, device, takers, nullptr);
}

bool Search::fits_counters(const MatrixSegment& segment, uint32_t device) {
  const Pool& pool = *segment.pool;
  for (const CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use) {
    const inventory::Counter& counter = pool.counters()[use->counter];
    if (counter.total - counter.consumed - charged_[segment.first_counter + use->counter] < use->amount) return false;
  }
  return true;
}

void Search::charge(const MatrixSegment& segment, uint32_t device, bool on) {
  const Pool& pool = *segment.pool;
  for (const CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use)
    charged_[segment.first_counter + use->counter] += on ? use->amount : -use->amount;
}

bool Search::assign(uint32_t r, uint32_t a, uint32_t local) {
  const PlanRequest& request = plan_->requests[r];
  const PlanAlternative& alternative = request.alternatives[a];
  const MatrixSegment& segment = matrix_.segment_of(local);
  const Pool& pool = *segment.pool;
  uint32_t device = matrix_.device_of(segment, local);
  bool shareable = pool.shareable(device);
  if (alternative.admin && !shareable) {
    for (const Pick& pick : picks_)
      if (pick.local == local && plan_->requests[pick.request].claim == request.claim) return false;
  } else if (!alternative.admin && !shareable && inventory::test_bit(assigned_.data(), local)) {
    return false;
  }
  const bool excludes = !ignores_rivals(alternative);
  if (excludes && inventory::test_bit(excluded_.data(), local)) return false;
  const CapacityFit* fit = nullptr;
  if (shareable) {
    fit = &filters_.fit(filters_.get(alternative.filter), pool.shape(device));
    if (!fits_shared(pool, device, local, *fit)) return false;
  }
  const SharedUse* ours = shareable ? shared_use(local) : nullptr;
  if (ours != nullptr && !strict_ && !may_share(request, alternative, pool, device, local, *fit)) return false;
  bool counts = pool.uses_begin(device) != pool.uses_end(device) &&
                !(shareable && (inventory::test_bit(pool.charged(), device) || (ours != nullptr && ours->picks > 0)));
  if (counts && !fits_counters(segment, device)) return false;
  const bool grouped = counts && pool.any_groups();
  if (grouped && !fits_groups(segment, device)) return false;
  const bool takes = plan_->counts_takes && pool.takes(device) != nullptr;
  if (takes && !fits_room(pool, device, fit)) return false;
  size_t placed = 0;
  if (!alternative.constraints.empty())
    for (size_t i = picks_.size(); i > 0 && picks_[i - 1].request == r; --i) ++placed;
  for (size_t i = 0; i < alternative.constraints.size(); ++i) {
    bool changed = false;
    bool good = add_to_constraint(alternative.constraints[i], &alternative, local, &changed);
    if (!good && strict_ && alternative.all && !request.prioritized && all_error_.empty())
      all_error_ = "request \"" + alternative.name + "\": a constraint prevents getting all devices";
    bool kept = good;
    if (good && changed && !naive_ &&
        !look_ahead(alternative.constraints[i], r, a, static_cast<uint32_t>(placed) + 1, local))
      good = false;
    if (good) continue;
    for (size_t j = i + (kept ? 1 : 0); j > 0; --j)
      remove_from_constraint(alternative.constraints[j - 1], &alternative, local);
    return false;
  }
  if (counts) charge(segment, device, true);
  if (grouped) charge_groups(segment, device);
  if (takes) charge_room(pool, device, fit, 1);
  if (shareable) {
    SharedUse* use = shared_use(local);
    if (use == nullptr) use = &shared_.emplace_back(SharedUse{local, 0, {}, 0});
    use->sums.resize(fit->amounts.size(), 0);
    for (size_t i = 0; i < fit->amounts.size(); ++i) use->sums[i] += fit->amounts[i];
    ++use->picks;
    use->terms += terms_mark(request, alternative, pool);
  } else {
    inventory::set_bit(assigned_.data(), local);
  }
  if (excludes) exclude_rivals(local, true);
  picks_.push_back({local, r, a, fit});
  if (pairs_) pair_state_ += pair_mark(r, local);
  return true;
}

void Search::undo_pick() {
  Pick pick = picks_.back();
  picks_.pop_back();
  if (pairs_) pair_state_ -= pair_mark(pick.request, pick.local);
  const PlanAlternative& alternative = plan_->requests[pick.request].alternatives[pick.alternative];
  if (!ignores_rivals(alternative)) exclude_rivals(pick.local, false);
  const MatrixSegment& segment = matrix_.segment_of(pick.local);
  const Pool& pool = *segment.pool;
  uint32_t device = matrix_.device_of(segment, pick.local);
  for (size_t i = alternative.constraints.size(); i > 0; --i)
    remove_from_constraint(alternative.constraints[i - 1], &alternative, pick.local);
  if (plan_->counts_takes && pool.takes(device) != nullptr) charge_room(pool, device, pick.fit, -1);
  bool last = true;
  if (pick.fit != nullptr) {
    SharedUse* use = shared_use(pick.local);
    for (size_t i = 0; i < pick.fit->amounts.size(); ++i) use->sums[i] -= pick.fit->amounts[i];
    use->terms -= terms_mark(plan_->requests[pick.request], alternative, pool);
    last = --use->picks == 0;
    if (last) {
      *use = std::move(shared_.back());
      shared_.pop_back();
    }
    last = last && !inventory::test_bit(pool.charged(), device);
  } else {
    // With admin access two claims of one decision can pick the same device.
    bool still = plan_->any_admin && std::any_of(picks_.begin(), picks_.end(),
                                                 [&](const Pick& other) { return other.local == pick.local; });
    if (!still) inventory::clear_bit(assigned_.data(), pick.local);
  }
  if (!last || pool.uses_begin(device) == pool.uses_end(device)) return;
  charge(segment, device, false);
  if (pool.any_groups()) release_groups(segment, device);
}

bool Search::add_to_constraint(uint32_t constraint, const PlanAlternative* by, uint32_t local, bool* changed) {
  const PlanConstraint& spec = plan_->constraints[constraint];
  if (spec.list != nullptr) return value_match_[constraint].add(local);
  const Column& column = column_for(constraint, by);
  if (!derived_.empty() && !joins_derived(constraint, by, local)) return false;
  if (column.missing(local)) return false;
  const uint32_t* begin = column.begin(local);
  const uint32_t* end = column.end(local);
  if (spec.distinct) {
    std::vector<uint8_t>& used = used_values_[constraint];
    for (const uint32_t* v = begin; v != end; ++v)
      if (used[*v] != 0) return false;
    for (const uint32_t* v = begin; v != end; ++v) used[*v] = 1;
    if (!derived_.empty()) count_distinct(constraint, by, local, 1);
    return true;
  }
  MatchState& state = match_[constraint];
  if (state.members > 0 && state.values == 1) {  // the usual case
    if (std::find(begin, end, state.single) == end) return false;
    ++state.members;
    saved_.push_back({constraint, {}});  // only the count changed
    return true;
  }
  MatchState next;
  next.members = state.members + 1;
  if (state.members == 0) {
    next.many.assign(begin, end);
  } else {
    std::set_intersection(state.many.begin(), state.many.end(), begin, end, std::back_inserter(next.many));
  }
  if (next.many.empty()) return false;
  next.values = static_cast<uint32_t>(next.many.size());
  *changed = state.members == 0 || next.values != state.values;
  if (next.values == 1) {
    next.single = next.many[0];
    next.many.clear();
  }
  saved_.push_back({constraint, std::move(state)});
  saved_.back().state.members |= 0x80000000u;  // a whole state, not just a count
  state = std::move(next);
  return true;
}

void Search::remove_from_constraint(uint32_t constraint, const PlanAlternative* by, uint32_t local) {
  const PlanConstraint& spec = plan_->constraints[constraint];
  if (spec.list != nullptr) return value_match_[constraint].remove(local);
  if (spec.distinct) {
    const Column& column = column_for(constraint, by);
    for (const uint32_t* v = column.begin(local); v != column.end(local); ++v) used_values_[constraint][*v] = 0;
    if (!derived_.empty()) count_distinct(constraint, by, local, -1);
    return;
  }
  SavedMatch& saved = saved_.back();
  if (saved.state.members & 0x80000000u) {
    match_[constraint] = std::move(saved.state);
    match_[constraint].members &= 0x7fffffffu;
  } else {
    --match_[constraint].members;
  }
  saved_.pop_back();
}

// Candidates of an alternative, from `from` on, that have one of the constraint's remaining values.
size_t Search::count_with(const PlanAlternative& alternative, const Column& column, const MatchState& state,
                          uint32_t from) const {
  const uint64_t* candidates = pool_of_choice(alternative);
  size_t count = 0;
  for (size_t w = from >> 6; w < matrix_.words(); ++w) {
    uint64_t with = 0;
    if (state.values == 1) {
      with = column.with[state.single][w];
    } else {
      for (uint32_t v : state.many) with |= column.with[v][w];
    }
    with &= candidates[w];
    if (!alternative.admin) with &= ~assigned_[w];
    if (w == from >> 6) with &= ~uint64_t{0} << (from & 63);
    count += static_cast<size_t>(std::popcount(with));
  }
  return count;
}

// After a constraint's values shrank: can every later request still get enough devices with one of them?
bool Search::look_ahead(uint32_t constraint, uint32_t r, uint32_t a, uint32_t placed, uint32_t local) {
  const PlanConstraint& spec = plan_->constraints[constraint];
  const PlanAlternative& current = plan_->requests[r].alternatives[a];
  const Column& own = column_for(constraint, &current);
  if (own.with.empty()) return true;
  const MatchState& state = match_[constraint];
  if (!current.all && current.count > placed && count_with(current, own, state, local + 1) < current.count - placed)
    return false;
  for (uint32_t later : spec.requests) {
    if (later <= r) continue;
    bool possible = false;
    for (const PlanAlternative& alternative : plan_->requests[later].alternatives) {
      bool bound = std::find(alternative.constraints.begin(), alternative.constraints.end(), constraint) !=
                   alternative.constraints.end();
      size_t want = alternative.all ? 1 : alternative.count;
      if (!bound || (alternative.all && alternative.admin) ||
          count_with(alternative, column_for(constraint, &alternative), state, 0) >= want) {
        possible = true;
        break;
      }
    }
    if (!possible) return false;
  }
  return true;
}

}  // namespace dra::allocator
