#include "pkg/allocator/search/packing.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace dra::allocator {

using inventory::Amount;
using inventory::CounterUse;
using inventory::Hash128;
using inventory::next_bit;
using inventory::Pool;
using inventory::Words;

namespace {

constexpr uint32_t kNoClass = UINT32_MAX;

uint64_t least_count(const PlanRequest& request) {
  uint64_t least = UINT64_MAX;
  for (const PlanAlternative& alternative : request.alternatives) least = std::min<uint64_t>(least, alternative.count);
  return least;
}

// Whether packing can count the request: every alternative takes devices exclusively.
bool countable(const PlanRequest& request) {
  return !request.alternatives.empty() &&
         std::none_of(request.alternatives.begin(), request.alternatives.end(),
                      [](const PlanAlternative& alternative) { return alternative.all || alternative.admin; });
}

}  // namespace

bool Packing::set_up(const Plan& plan, const CandidateMatrix& matrix) {
  matrix_ = &matrix;
  work_ = 0;
  answers_.clear();
  components_.clear();
  singles_.clear();
  find_classes(plan);
  find_demand(plan);
  Vector cap = 0;
  for (size_t c = 0; c < kMaxClasses; ++c)
    cap |= unit_vector(c) * std::min(demand_.empty() ? 0 : demand_[0][c], kMaxLane);
  // For a request with alternatives the demand is first their union and then one of them.
  for (const PlanRequest& request : plan.requests)
    if (request.prioritized)
      for (const PlanAlternative& alternative : request.alternatives)
        if (uint32_t c = slot_class_[alternative.slot]; c != kNoClass)
          cap = add_up_to(cap, unit_vector(c) * std::min<uint64_t>(alternative.count, kMaxLane), ~kLaneTops);
  Vector limit = 0;
  for (size_t c = 0; c < kMaxClasses; ++c) limit |= unit_vector(c) * kMaxLane;
  cap = lane_min(cap, limit);
  if (plan.shape != shape_ || states_.cap() != cap || states_.full()) {
    shape_ = plan.shape;
    states_.reset(cap);
  }
  find_components();
  return decides();
}

// A class for each filter from which a request counts devices, and one per request with alternatives: their union.
void Packing::find_classes(const Plan& plan) {
  members_.clear();
  live_classes_ = 0;
  slot_class_.assign(plan.filters.size(), kNoClass);
  for (const PlanRequest& request : plan.requests)
    for (const PlanAlternative& alternative : request.alternatives) {
      if (alternative.all || alternative.admin || slot_class_[alternative.slot] != kNoClass) continue;
      if (members_.size() == kMaxClasses) return;
      slot_class_[alternative.slot] = static_cast<uint32_t>(members_.size());
      live_classes_ |= 1u << members_.size();
      const uint64_t* candidates = matrix_->candidates(alternative.slot);
      members_.emplace_back(candidates, candidates + matrix_->words());
    }
}

void Packing::find_demand(const Plan& plan) {
  demand_.assign(plan.requests.size() + 1, {});
  for (size_t r = plan.requests.size(); r-- > 0;) {
    const PlanRequest& request = plan.requests[r];
    demand_[r] = demand_[r + 1];
    if (!countable(request)) continue;
    uint32_t c = slot_class_[request.alternatives[0].slot];
    if (request.alternatives.size() > 1) {
      c = kNoClass;
      if (members_.size() < kMaxClasses) {
        c = static_cast<uint32_t>(members_.size());
        live_classes_ |= 1u << c;
        Words all(matrix_->words(), 0);
        for (const PlanAlternative& alternative : request.alternatives)
          for (size_t w = 0; w < all.size(); ++w) all[w] |= matrix_->candidates(alternative.slot)[w];
        members_.push_back(std::move(all));
      }
    }
    if (c != kNoClass) demand_[r][c] += least_count(request);
  }
}

uint32_t Packing::classes_of(uint32_t local) const {
  uint32_t classes = 0;
  for (size_t c = 0; c < members_.size(); ++c)
    if (inventory::test_bit(members_[c].data(), local)) classes |= 1u << c;
  return classes;
}

// Joins devices that use the same counter, across counter sets.
void Packing::find_components() {
  std::vector<uint32_t> parent(matrix_->counters());
  std::iota(parent.begin(), parent.end(), 0);
  auto root = [&parent](uint32_t c) {
    while (parent[c] != c) c = parent[c] = parent[parent[c]];
    return c;
  };
  Words any(matrix_->words(), 0);
  for (const Words& members : members_)
    for (size_t w = 0; w < any.size(); ++w) any[w] |= members[w];
  std::vector<uint32_t> counted;
  for (size_t at = next_bit(any.data(), any.size(), 0); at != SIZE_MAX; at = next_bit(any.data(), any.size(), at + 1)) {
    auto local = static_cast<uint32_t>(at);
    const MatrixSegment& segment = matrix_->segment_of(local);
    const Pool& pool = *segment.pool;
    const uint32_t device = matrix_->device_of(segment, local);
    if (pool.shareable(device)) {
      live_classes_ &= ~classes_of(local);  // one device may serve any number of requests
      continue;
    }
    const CounterUse* use = pool.uses_begin(device);
    if (use == pool.uses_end(device)) {
      const uint32_t classes = classes_of(local);
      auto same =
          std::find_if(singles_.begin(), singles_.end(), [&](const Singles& s) { return s.classes == classes; });
      if (same == singles_.end()) same = singles_.insert(same, {classes, Words(any.size(), 0)});
      inventory::set_bit(same->devices.data(), at);
      continue;
    }
    counted.push_back(local);
    for (const CounterUse* other = use + 1; other != pool.uses_end(device); ++other)
      parent[root(segment.first_counter + other->counter)] = root(segment.first_counter + use->counter);
  }
  if (counted.size() > kMaxDevices) {
    live_classes_ = 0;
    return;
  }
  std::map<uint32_t, std::vector<uint32_t>> groups;
  for (uint32_t local : counted) {
    const MatrixSegment& segment = matrix_->segment_of(local);
    const CounterUse* use = segment.pool->uses_begin(matrix_->device_of(segment, local));
    groups[root(segment.first_counter + use->counter)].push_back(local);
  }
  for (const auto& [counter, devices] : groups) add_component(devices);
}

void Packing::add_component(const std::vector<uint32_t>& devices) {
  Component added;
  added.first_word = devices.front() >> 6;
  const size_t words = (devices.back() >> 6) - added.first_word + 1;
  std::vector<ComponentStates::Kind> kinds;
  for (uint32_t local : devices) {
    const MatrixSegment& segment = matrix_->segment_of(local);
    const uint32_t device = matrix_->device_of(segment, local);
    ComponentStates::Kind kind;
    kind.classes = classes_of(local);
    for (const CounterUse* use = segment.pool->uses_begin(device); use != segment.pool->uses_end(device); ++use) {
      const uint32_t counter = segment.first_counter + use->counter;
      auto at = std::find(added.counters.begin(), added.counters.end(), counter);
      if (at == added.counters.end()) at = added.counters.insert(at, counter);
      kind.uses.emplace_back(static_cast<uint32_t>(at - added.counters.begin()), use->amount);
    }
    auto same = std::find_if(kinds.begin(), kinds.end(), [&](const ComponentStates::Kind& k) {
      return k.classes == kind.classes && k.uses == kind.uses;
    });
    if (same == kinds.end()) {
      if (kinds.size() == kMaxKinds) {  // classes that could be served here are not counted at all
        for (uint32_t other : devices) live_classes_ &= ~classes_of(other);
        return;
      }
      same = kinds.insert(same, std::move(kind));
      added.devices.emplace_back(words, 0);
    }
    inventory::set_bit(added.devices[static_cast<size_t>(same - kinds.begin())].data(), local - added.first_word * 64);
  }
  added.make = states_.intern_make(std::move(kinds), static_cast<uint32_t>(added.counters.size()));
  components_.push_back(std::move(added));
}

// Without counters and with one class, counting devices is enough.
bool Packing::decides() const {
  return live_classes_ != 0 && (!components_.empty() || (live_classes_ & (live_classes_ - 1)) != 0);
}

Vector Packing::demand_of(const Wanted& wanted) const {
  std::array<uint64_t, kMaxClasses> sum = demand_[wanted.first];
  if (wanted.current != nullptr && !wanted.current->all && !wanted.current->admin) {
    const uint32_t c = slot_class_[wanted.current->slot];
    if (c != kNoClass) sum[c] += wanted.count;
  }
  Vector demand = 0;
  for (size_t c = 0; c < kMaxClasses; ++c)
    if (live_classes_ >> c & 1) demand |= unit_vector(c) * std::min(sum[c], kMaxLane);
  return lane_min(demand, states_.cap());
}

uint32_t Packing::state_of(const Component& component, const Words& assigned, const std::vector<Amount>& charged) {
  std::vector<uint32_t> left;
  left.reserve(component.devices.size());
  for (const Words& devices : component.devices) {
    uint32_t count = 0;
    for (size_t w = 0; w < devices.size(); ++w)
      count += static_cast<uint32_t>(std::popcount(devices[w] & ~assigned[component.first_word + w]));
    left.push_back(count);
  }
  const MatrixSegment& segment = matrix_->segment_of(component.first_word * 64);
  std::vector<Amount> residual;
  residual.reserve(component.counters.size());
  for (uint32_t counter : component.counters) {
    const inventory::Counter& of_pool = segment.pool->counters()[counter - segment.first_counter];
    residual.push_back(of_pool.total - of_pool.consumed - charged[counter]);
  }
  return states_.intern_state(component.make, std::move(left), std::move(residual));
}

uint64_t Packing::weight_of(Vector v) const {
  uint64_t weight = 0;
  for (size_t c = 0; v != 0; ++c, v >>= 8) weight += (static_cast<uint64_t>(v) & 0xff) * weights_[c];
  return weight;
}

bool Packing::possible(const Wanted& wanted, const Words& assigned, const std::vector<Amount>& charged) {
  const Vector demand = demand_of(wanted);
  if (demand == 0) return true;
  now_.clear();
  for (const Component& component : components_) now_.push_back(state_of(component, assigned, charged));
  std::sort(now_.begin(), now_.end());
  work_ += 8 * (components_.size() + 1);
  Hash128 key;
  key.add(static_cast<uint64_t>(demand));
  key.add(static_cast<uint64_t>(demand >> 64));
  for (uint32_t state : now_) key.add(state);
  singles_left_.clear();
  for (const Singles& singles : singles_) {
    uint64_t left = 0;
    for (size_t w = 0; w < assigned.size(); ++w)
      left += static_cast<uint64_t>(std::popcount(singles.devices[w] & ~assigned[w]));
    singles_left_.emplace_back(singles.classes, left);
    key.add(left);
  }
  if (auto it = answers_.find(key); it != answers_.end()) return it->second;
  if (answers_.size() >= kMaxAnswers) answers_.clear();
  failed_.clear();
  work_limit_ = work_ + kMaxWork;
  const bool answer = !lay_levels(demand) || cover(0, demand);
  if (work_ <= work_limit_) answers_.emplace(key, answer);  // else the answer is unknown
  return answer;
}

// False: a component is too complicated to decide.
bool Packing::lay_levels(Vector wanted) {
  levels_.clear();
  levels_.resize(now_.size() + 1);
  std::array<uint64_t, kMaxClasses> alone{};
  for (size_t i = 0; i < now_.size(); ++i) {
    levels_[i].state = states_.get(now_[i], work_, work_limit_);
    if (levels_[i].state == nullptr) return false;
    for (size_t c = 0; c < kMaxClasses; ++c) alone[c] = std::max(alone[c], lane_of(levels_[i].state->most, c));
  }
  // The fewer devices of a class a component can provide, the heavier each of them.
  for (size_t c = 0; c < kMaxClasses; ++c) weights_[c] = alone[c] == 0 ? 0 : 1'000'000 / alone[c];
  Level& last = levels_.back();
  for (const auto& [classes, left] : singles_left_) {
    uint64_t heaviest = 0;
    for (size_t c = 0; c < kMaxClasses; ++c) {
      if ((classes >> c & 1) == 0) continue;
      last.most = add_up_to(last.most, unit_vector(c) * std::min(left, kMaxLane), wanted);
      heaviest = std::max(heaviest, weights_[c]);
    }
    last.heaviest += left * heaviest;
  }
  for (size_t i = now_.size(); i-- > 0;) {
    uint64_t heaviest = 0;
    for (Vector v : levels_[i].state->vectors) heaviest = std::max(heaviest, weight_of(lane_min(v, wanted)));
    work_ += levels_[i].state->vectors.size();
    levels_[i].heaviest = levels_[i + 1].heaviest + heaviest;
    levels_[i].most = add_up_to(levels_[i + 1].most, levels_[i].state->most, wanted);
  }
  return true;
}

bool Packing::cover(size_t level, Vector wanted) {
  if (wanted == 0) return true;
  if (++work_ > work_limit_) return true;
  const Level& here = levels_[level];
  if (!covers(here.most, wanted) || weight_of(wanted) > here.heaviest) return false;
  if (here.state == nullptr) return singles_cover(wanted);
  Hash128 key;
  key.add(level);
  key.add(static_cast<uint64_t>(wanted));
  key.add(static_cast<uint64_t>(wanted >> 64));
  if (failed_.contains(key)) return false;
  // The heaviest first: dense choices leave more for the rest.
  std::vector<std::pair<uint64_t, Vector>> choices;
  choices.reserve(here.state->vectors.size());
  for (Vector v : here.state->vectors) {
    const Vector used = lane_min(v, wanted);
    choices.emplace_back(weight_of(used), used);
  }
  std::sort(choices.begin(), choices.end(), std::greater<>());
  work_ += choices.size();
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i > 0 && choices[i].second == choices[i - 1].second) continue;
    if (cover(level + 1, wanted - choices[i].second)) return true;
  }
  failed_.insert(key);
  return false;
}

// Assigns devices to classes: augmenting paths between classes and groups of equal devices (Hall's condition).
bool Packing::singles_cover(Vector wanted) const {
  std::vector<uint64_t> left;
  for (const auto& [classes, count] : singles_left_) left.push_back(count);
  std::vector<std::array<uint64_t, kMaxClasses>> given(left.size());
  for (auto& row : given) row.fill(0);
  for (size_t c = 0; c < kMaxClasses; ++c) {
    for (uint64_t more = lane_of(wanted, c); more > 0; --more) {
      // Breadth-first search from the class to a group with a device left; a class may take a device from another
      // class, which then searches on.
      std::vector<size_t> queue{c};
      std::array<std::pair<size_t, size_t>, kMaxClasses> from;  // class -> the class that wants its device, the group
      uint32_t seen = 1u << c;
      bool found = false;
      for (size_t q = 0; q < queue.size() && !found; ++q) {
        const size_t want = queue[q];
        for (size_t g = 0; g < left.size() && !found; ++g) {
          if ((singles_left_[g].first >> want & 1) == 0) continue;
          if (left[g] > 0) {
            --left[g];
            ++given[g][want];
            for (size_t at = want; at != c;) {
              const auto [taker, group] = from[at];
              --given[group][at];
              ++given[group][taker];
              at = taker;
            }
            found = true;
            break;
          }
          for (size_t other = 0; other < kMaxClasses; ++other) {
            if ((seen >> other & 1) != 0 || given[g][other] == 0) continue;
            seen |= 1u << other;
            from[other] = {want, g};
            queue.push_back(other);
          }
        }
      }
      if (!found) return false;
    }
  }
  return true;
}

}  // namespace dra::allocator
