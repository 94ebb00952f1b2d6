// GroupCounter: devices with lists of values.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "pkg/allocator/groups/group_counter.h"

namespace dra::allocator {

GroupCounter::Answer GroupCounter::form_of_lists(std::span<const GroupTerm> terms, uint64_t groups, uint64_t limit) {
  work_limit_ = work_ + limit;
  if (!flows_suffice(terms, groups)) return Answer::kNo;
  if (work_ > work_limit_) return Answer::kUnknown;
  const bool one_each = std::all_of(terms.begin(), terms.end(), [](const GroupTerm& one) { return one.number == 1; });
  if (terms.size() == 2 && one_each && !rivals_) return Answer::kYes;  // the flow is a matching
  make_nodes(terms);
  later_caps_.assign(value_count() + 1, 0);
  for (uint32_t v = value_count(); v-- > 0;) later_caps_[v] = later_caps_[v + 1] + cap_[v];
  return choose(terms, 0, groups);
}

// ---- flows between two terms

void GroupCounter::add_edge(uint32_t from, uint32_t to, uint32_t capacity) {
  edges_of_[from].push_back(static_cast<uint32_t>(edges_.size()));
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(static_cast<uint32_t>(edges_.size()));
  edges_.push_back({from, 0});
}

bool GroupCounter::find_levels(uint32_t from, uint32_t to) {
  work_ += level_.size();
  std::fill(level_.begin(), level_.end(), UINT32_MAX);
  std::vector<uint32_t> queue{from};
  level_[from] = 0;
  for (size_t i = 0; i < queue.size(); ++i)
    for (const uint32_t e : edges_of_[queue[i]]) {
      ++work_;
      if (edges_[e].left == 0 || level_[edges_[e].to] != UINT32_MAX) continue;
      level_[edges_[e].to] = level_[queue[i]] + 1;
      queue.push_back(edges_[e].to);
    }
  return level_[to] != UINT32_MAX;
}

// Recursion no deeper than the levels: at most the number of devices and values.
uint32_t GroupCounter::push(uint32_t from, uint32_t to, uint32_t most) {
  if (from == to) return most;
  for (uint32_t& i = next_edge_[from]; i < edges_of_[from].size(); ++i) {
    const uint32_t e = edges_of_[from][i];
    ++work_;
    if (edges_[e].left == 0 || level_[edges_[e].to] != level_[from] + 1) continue;
    const uint32_t pushed = push(edges_[e].to, to, std::min(most, edges_[e].left));
    if (pushed == 0) continue;
    edges_[e].left -= pushed;
    edges_[e ^ 1].left += pushed;
    return pushed;
  }
  return 0;
}

// From the devices of term `s` over values to those of term `t` (only taken ones, if so asked), in units of one group
// divided by the least common multiple of the terms' numbers. Stops at `enough`.
uint64_t GroupCounter::flow(std::span<const GroupTerm> terms, uint32_t s, uint32_t t, bool taken_of_t,
                            uint64_t enough) {
  const uint32_t whole = std::lcm(terms[s].number, terms[t].number);
  constexpr uint32_t kSource = 0, kSink = 1, kValues = 2;
  edges_.clear();
  for (auto& of : edges_of_) of.clear();
  edges_of_.resize(std::max<size_t>(edges_of_.size(), kValues + value_count() + devices_.size()));
  uint32_t node = kValues + value_count();
  for (const Device& device : devices_) {
    const bool from = device.term == s;
    if (!from && (device.term != t || (taken_of_t && !device.taken))) continue;
    const uint32_t capacity = whole / terms[device.term].number;
    from ? add_edge(kSource, node, capacity) : add_edge(node, kSink, capacity);
    for (uint32_t i = 0; i < device.count; ++i) {
      const uint32_t value = kValues + device_values_[device.first + i];
      from ? add_edge(node, value, capacity) : add_edge(value, node, capacity);
    }
    ++node;
  }
  level_.resize(edges_of_.size());
  work_ += 2 * edges_of_.size() + 4 * edges_.size();
  uint64_t sum = 0;
  while (sum < enough && find_levels(kSource, kSink)) {
    next_edge_.assign(edges_of_.size(), 0);
    while (const uint32_t pushed = push(kSource, kSink, UINT32_MAX)) sum += pushed;
  }
  return sum;
}

bool GroupCounter::flows_suffice(std::span<const GroupTerm> terms, uint64_t groups) {
  constexpr size_t kFew = 3;  // of more terms each is compared with the next one only
  for (uint32_t s = 0; s < terms.size(); ++s)
    for (uint32_t t = s + 1; t < terms.size(); ++t) {
      if (terms.size() > kFew && t != s + 1) continue;
      if (work_ > work_limit_) return true;  // unknown
      const uint64_t whole = std::lcm(terms[s].number, terms[t].number);
      if (flow(terms, s, t, false, groups * whole) < groups * whole) return false;
      // Of the free devices only so many follow: the others of the groups are taken ones.
      const auto of_taken = [&](uint32_t from, uint32_t to) {
        const uint64_t wanted = groups * terms[to].number;
        if (terms[to].more >= wanted || terms[to].free.empty()) return true;
        const uint64_t units = (wanted - terms[to].more) * (whole / terms[to].number);
        return flow(terms, from, to, true, units) >= units;
      };
      if (!of_taken(s, t) || !of_taken(t, s)) return false;
    }
  return true;
}

// ---- a number of groups for each value

void GroupCounter::make_nodes(std::span<const GroupTerm> terms) {
  node_taken_.clear();
  nodes_of_slot_.resize(terms.size() * value_count());
  for (auto& list : nodes_of_slot_) list.clear();
  need_.assign(nodes_of_slot_.size(), 0);
  have_.assign(nodes_of_slot_.size(), 0);
  std::unordered_map<uint32_t, uint32_t> shared;
  for (const Device& device : devices_) {
    auto number = static_cast<uint32_t>(node_taken_.size());
    if (device.id != kNoRival) number = shared.try_emplace(device.id, number).first->second;
    if (number == node_taken_.size()) node_taken_.push_back(device.taken);
    for (uint32_t i = 0; i < device.count; ++i)
      nodes_of_slot_[device.term * value_count() + device_values_[device.first + i]].push_back(number);
  }
  slot_of_node_.assign(node_taken_.size(), kNoRival);
  for (auto& list : nodes_of_slot_)  // the taken ones first
    std::stable_partition(list.begin(), list.end(), [&](uint32_t node) { return node_taken_[node]; });
  work_ += 16 * devices_.size() + 4 * device_values_.size() + 8 * nodes_of_slot_.size();
}

// `left` groups for this value and the later ones. Every number is tried, the largest first.
GroupCounter::Answer GroupCounter::choose(std::span<const GroupTerm> terms, uint32_t value, uint64_t left) {
  if (left == 0) return few_of_the_free(terms) ? Answer::kYes : Answer::kNo;
  if (later_caps_[value] < left) return Answer::kNo;
  if (work_ > work_limit_) return Answer::kUnknown;
  while (cap_[value] == 0) ++value;  // later_caps_ says that there is another one
  const std::vector<uint32_t> before = slot_of_node_;
  const uint64_t most = std::min<uint64_t>(cap_[value], left);
  // The largest number that the devices can serve beside the values before.
  uint64_t possible = 0;
  for (; possible < most; ++possible)
    if (!serve(terms, value)) break;
  for (uint64_t groups = possible + 1; groups-- > 0;) {
    slot_of_node_ = before;
    forget(terms, value);
    work_ += before.size();
    for (uint64_t i = 0; i < groups; ++i) serve(terms, value);
    if (const Answer answer = choose(terms, value + 1, left - groups); answer != Answer::kNo) return answer;
  }
  slot_of_node_ = before;
  forget(terms, value);
  return Answer::kNo;
}

// The value has no groups. Its slots alone count what serve() did for it.
void GroupCounter::forget(std::span<const GroupTerm> terms, uint32_t value) {
  for (uint32_t t = 0; t < terms.size(); ++t) {
    const uint32_t slot = t * value_count() + value;
    need_[slot] = have_[slot] = 0;
  }
}

// Assigns devices for one more group of the value. False: there are not enough.
bool GroupCounter::serve(std::span<const GroupTerm> terms, uint32_t value) {
  for (uint32_t t = 0; t < terms.size(); ++t) {
    const uint32_t slot = t * value_count() + value;
    need_[slot] += terms[t].number;
    while (have_[slot] < need_[slot])
      if (!augment(slot, false)) return false;
  }
  return true;
}

// One more device for the slot, along a path over slots that give up a device for another one.
bool GroupCounter::augment(uint32_t slot, bool taken_only) {
  struct Step {
    uint32_t slot, from, node;  // reached from the step `from`, which gets `node`
  };
  std::vector<Step> steps{{slot, 0, kNoRival}};
  std::vector<bool> reached(nodes_of_slot_.size(), false);
  reached[slot] = true;
  work_ += 16 + nodes_of_slot_.size() / 64;
  for (uint32_t at = 0; at < steps.size(); ++at)
    for (const uint32_t number : nodes_of_slot_[steps[at].slot]) {
      ++work_;
      if (taken_only && !node_taken_[number]) continue;
      if (const uint32_t serves = slot_of_node_[number]; serves != kNoRival) {
        if (reached[serves]) continue;
        reached[serves] = true;
        steps.push_back({serves, at, number});
        continue;
      }
      uint32_t given = number;
      for (uint32_t step = at;; step = steps[step].from) {
        slot_of_node_[given] = steps[step].slot;
        given = steps[step].node;
        if (step == 0) break;
      }
      ++have_[slot];
      return true;
    }
  return false;
}

// Whether the groups chosen, with as many taken devices as possible, need no more free devices than follow.
bool GroupCounter::few_of_the_free(std::span<const GroupTerm> terms) {
  if (std::all_of(terms.begin(), terms.end(),
                  [](const GroupTerm& one) { return one.taken.empty() || one.free.empty(); }))
    return true;
  const std::vector<uint32_t> before = slot_of_node_;
  const std::vector<uint64_t> have = have_;
  std::fill(slot_of_node_.begin(), slot_of_node_.end(), kNoRival);
  std::fill(have_.begin(), have_.end(), 0);
  work_ += before.size() + 2 * have.size();
  bool few = true;
  for (uint32_t t = 0; t < terms.size() && few; ++t) {
    uint64_t wanted = 0, taken = 0;
    for (uint32_t v = 0; v < value_count(); ++v) {
      const uint32_t slot = t * value_count() + v;
      wanted += need_[slot];
      while (have_[slot] < need_[slot] && augment(slot, true)) ++taken;
    }
    few = wanted - taken <= terms[t].more;
  }
  slot_of_node_ = before;
  have_ = have;
  return few;
}

}  // namespace dra::allocator
