// GroupCounter: what terms have in common, and devices with one value each. Lists: group_flow.cc.
#include "pkg/allocator/groups/group_counter.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace dra::allocator {

GroupCounter::Answer GroupCounter::can_form(std::span<const GroupTerm> terms, uint64_t groups, uint64_t limit) {
  if (groups == 0) return Answer::kYes;
  for (const GroupTerm& term : terms)
    if (term.taken.size() + term.taken_without_value + std::min<uint64_t>(term.more, term.free.size()) <
        groups * term.number)
      return Answer::kNo;
  if (!lay_out(terms) || !enough_devices(terms, groups)) return Answer::kNo;
  if (rivals_) limit_by_rivals(terms);
  uint64_t sum = 0;
  for (const uint32_t cap : cap_) sum += cap;
  if (sum < groups) return Answer::kNo;
  return lists_ ? form_of_lists(terms, groups, limit) : form_of_single_values(terms, groups);
}

std::optional<uint32_t> GroupCounter::most(std::span<const GroupTerm> terms, uint32_t at_most, uint64_t limit) {
  if (terms.empty() || !lay_out(terms)) return 0;
  if (rivals_) limit_by_rivals(terms);
  uint64_t sum = 0;
  for (const uint32_t cap : cap_) sum += cap;
  const auto bound = static_cast<uint32_t>(std::min<uint64_t>(sum, at_most));
  if (!lists_) return bound;
  std::vector<GroupTerm> open(terms.begin(), terms.end());
  for (GroupTerm& term : open) term.more = term.free.size();
  uint32_t low = 0, high = bound;  // `low` groups are possible, more than `high` are not
  const uint64_t end = work_ + limit;
  while (low < high) {
    if (work_ >= end) return std::nullopt;
    const uint32_t middle = (low + high + 1) / 2;
    const Answer answer = can_form(open, middle, end - work_);
    if (answer == Answer::kUnknown) return std::nullopt;
    answer == Answer::kYes ? low = middle : high = middle - 1;
  }
  return low;
}

// False: the terms have no value in common.
bool GroupCounter::lay_out(std::span<const GroupTerm> terms) {
  find_common_values(terms);
  if (common_.empty()) return false;
  add_devices(terms);
  const uint32_t values = value_count();
  taken_.assign(terms.size() * values, 0);
  free_.assign(terms.size() * values, 0);
  in_play_taken_.assign(terms.size(), 0);
  in_play_free_.assign(terms.size(), 0);
  lists_ = false;
  for (const Device& device : devices_) {
    lists_ = lists_ || device.count > 1;
    ++(device.taken ? in_play_taken_ : in_play_free_)[device.term];
    for (uint32_t i = 0; i < device.count; ++i)
      ++(device.taken ? taken_ : free_)[device.term * values + device_values_[device.first + i]];
  }
  cap_.assign(values, UINT32_MAX);
  for (uint32_t t = 0; t < terms.size(); ++t)
    for (uint32_t v = 0; v < values; ++v)
      cap_[v] = std::min(cap_[v], (taken_[t * values + v] + free_[t * values + v]) / terms[t].number);
  work_ += 2 * device_values_.size() + 3 * taken_.size();
  return true;
}

void GroupCounter::find_common_values(std::span<const GroupTerm> terms) {
  for (const uint32_t v : common_) index_[v] = 0;
  common_.clear();
  touched_.clear();
  const uint32_t all = (1u << terms.size()) - 1;
  for (uint32_t t = 0; t < terms.size(); ++t) {
    for (const std::vector<GroupDevice>* list : {&terms[t].taken, &terms[t].free})
      for (const GroupDevice& device : *list) {
        for (const uint32_t* v = device.begin; v != device.end; ++v) {
          if (*v >= seen_.size()) {
            seen_.resize(*v + 1, 0);
            index_.resize(*v + 1, 0);
          }
          if (seen_[*v] == 0) touched_.push_back(*v);
          seen_[*v] |= 1u << t;
        }
        work_ += static_cast<uint64_t>(device.end - device.begin);
      }
  }
  for (const uint32_t v : touched_) {
    if (seen_[v] == all) {
      common_.push_back(v);
      index_[v] = static_cast<uint32_t>(common_.size());
    }
    seen_[v] = 0;
  }
}

void GroupCounter::add_devices(std::span<const GroupTerm> terms) {
  devices_.clear();
  device_values_.clear();
  rivals_ = false;
  std::vector<uint32_t> ids;
  for (uint32_t t = 0; t < terms.size(); ++t)
    for (const std::vector<GroupDevice>* list : {&terms[t].taken, &terms[t].free})
      for (const GroupDevice& device : *list) {
        Device added;
        added.term = t;
        added.taken = list == &terms[t].taken;
        added.id = added.taken ? kNoRival : device.id;
        added.first = static_cast<uint32_t>(device_values_.size());
        for (const uint32_t* v = device.begin; v != device.end; ++v)
          if (index_[*v] != 0) device_values_.push_back(index_[*v] - 1);
        added.count = static_cast<uint32_t>(device_values_.size()) - added.first;
        if (added.count == 0) continue;
        if (added.id != kNoRival) ids.push_back(added.id);
        devices_.push_back(added);
      }
  std::sort(ids.begin(), ids.end());
  rivals_ = std::adjacent_find(ids.begin(), ids.end()) != ids.end();
  work_ += 2 * devices_.size() + device_values_.size();
}

// Devices without a common value are in no group: those taken are beside one, and the others are useless.
bool GroupCounter::enough_devices(std::span<const GroupTerm> terms, uint64_t groups) const {
  for (uint32_t t = 0; t < terms.size(); ++t) {
    const uint64_t wanted = groups * terms[t].number;
    if (in_play_taken_[t] + std::min(terms[t].more, in_play_free_[t]) < wanted) return false;
  }
  return true;
}

// Lowers cap_ to what terms that compete for devices can have together. Exact for single values.
void GroupCounter::limit_by_rivals(std::span<const GroupTerm> terms) {
  struct Seat {
    uint32_t value, id, terms;
  };
  std::vector<Seat> seats;
  for (const Device& device : devices_)
    for (uint32_t i = 0; i < device.count && !device.taken; ++i)
      seats.push_back({device_values_[device.first + i], device.id, 1u << device.term});
  std::sort(seats.begin(), seats.end(),
            [](const Seat& a, const Seat& b) { return std::pair(a.value, a.id) < std::pair(b.value, b.id); });
  work_ += 16 * seats.size();
  std::vector<uint32_t> by_mask(size_t{1} << terms.size(), 0);  // devices by the terms that could take them
  for (size_t i = 0; i < seats.size();) {
    const uint32_t value = seats[i].value;
    std::fill(by_mask.begin(), by_mask.end(), 0);
    while (i < seats.size() && seats[i].value == value) {
      uint32_t mask = seats[i].terms;
      const uint32_t id = seats[i++].id;
      while (id != kNoRival && i < seats.size() && seats[i].value == value && seats[i].id == id)
        mask |= seats[i++].terms;
      ++by_mask[mask];
    }
    if (cap_[value] == 0) continue;
    // Devices whose terms are all in the set, by set.
    for (uint32_t t = 0; t < terms.size(); ++t)
      for (uint32_t set = 0; set < by_mask.size(); ++set)
        if ((set >> t & 1) != 0) by_mask[set] += by_mask[set ^ (1u << t)];
    work_ += by_mask.size() * terms.size();
    cap_[value] = least_cap(terms, value, by_mask);
  }
}

// `within`: by set of terms, the devices that none but them could take. Those that one of a set could take must suffice
// for all of it.
uint32_t GroupCounter::least_cap(std::span<const GroupTerm> terms, uint32_t value,
                                 const std::vector<uint32_t>& within) {
  const auto all = static_cast<uint32_t>(within.size() - 1);
  const auto suffice = [&](uint32_t set, uint64_t groups) {
    uint64_t wanted = 0;
    for (uint32_t t = 0; t < terms.size(); ++t) {
      const uint64_t of_term = groups * terms[t].number, had = taken_[t * value_count() + value];
      if ((set >> t & 1) != 0 && of_term > had) wanted += of_term - had;
    }
    work_ += terms.size();
    return wanted <= within[all] - within[all ^ set];
  };
  uint32_t cap = cap_[value];
  for (uint32_t set = 1; set < within.size() && cap > 0; ++set) {
    if (std::popcount(set) < 2 || suffice(set, cap)) continue;
    uint32_t low = 0, high = cap - 1;  // `low` groups suffice, more than `high` do not
    while (low < high) {
      const uint32_t middle = (low + high + 1) / 2;
      suffice(set, middle) ? low = middle : high = middle - 1;
    }
    cap = low;
  }
  return cap;
}

GroupCounter::Answer GroupCounter::form_of_single_values(std::span<const GroupTerm> terms, uint64_t groups) const {
  const uint32_t values = value_count();
  // A term of which every device is in a group: each value has groups for those taken.
  std::vector<uint32_t> least(values, 0);
  const auto spare = [&](uint32_t t) {
    return terms[t].taken.size() + terms[t].taken_without_value + terms[t].more - groups * terms[t].number;
  };
  for (uint32_t t = 0; t < terms.size(); ++t) {
    if (spare(t) > 0) continue;
    if (in_play_taken_[t] != terms[t].taken.size() + terms[t].taken_without_value) return Answer::kNo;
    for (uint32_t v = 0; v < values; ++v)
      least[v] = std::max(least[v], (taken_[t * values + v] + terms[t].number - 1) / terms[t].number);
  }
  uint64_t sum = 0;
  for (uint32_t v = 0; v < values; ++v) {
    if (least[v] > cap_[v]) return Answer::kNo;
    sum += least[v];
  }
  if (sum > groups) return Answer::kNo;
  for (uint32_t t = 0; t < terms.size(); ++t)
    if (spare(t) > 0 && in_play_taken_[t] > 0 && !waste_suffices(terms[t], t, groups, least)) return Answer::kNo;
  return Answer::kYes;
}

// Of the taken devices of a term, those beside all groups must not be more than the term has to spare. The groups go
// where they serve most taken devices: first whole groups of them, then the largest remainders.
bool GroupCounter::waste_suffices(const GroupTerm& term, uint32_t t, uint64_t groups,
                                  const std::vector<uint32_t>& least) const {
  const uint32_t values = value_count();
  const uint64_t all = term.taken.size() + term.taken_without_value;
  const uint64_t spare = all + term.more - groups * term.number;
  if (all <= spare) return true;
  uint64_t served = 0, left = groups, whole = 0;
  std::vector<uint32_t> rests;
  for (uint32_t v = 0; v < values; ++v) {
    const uint64_t taken = taken_[t * values + v];
    const uint64_t by_least = std::min<uint64_t>(taken, uint64_t{least[v]} * term.number);
    served += by_least;
    left -= least[v];
    const uint64_t possible = cap_[v] - least[v];
    const uint64_t full = std::min((taken - by_least) / term.number, possible);
    whole += full;
    if (full < possible && (taken - by_least) % term.number > 0 && full == (taken - by_least) / term.number)
      rests.push_back(static_cast<uint32_t>((taken - by_least) % term.number));
  }
  const uint64_t full_used = std::min(whole, left);
  served += full_used * term.number;
  left -= full_used;
  std::sort(rests.begin(), rests.end(), std::greater<>());
  for (size_t i = 0; i < rests.size() && i < left; ++i) served += rests[i];
  return all - served <= spare;
}

}  // namespace dra::allocator
