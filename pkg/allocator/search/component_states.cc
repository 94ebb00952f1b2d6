#include "pkg/allocator/search/component_states.h"

#include <algorithm>

namespace dra::allocator {

using inventory::Amount;

namespace {

template <class T>
void append_bytes(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

bool fits_in(const ComponentStates::Kind& kind, const std::vector<Amount>& residual) {
  return std::all_of(kind.uses.begin(), kind.uses.end(),
                     [&](const auto& use) { return residual[use.first] >= use.second; });
}

}  // namespace

void ComponentStates::reset(Vector cap) {
  cap_ = cap;
  make_index_.clear();
  makes_.clear();
  state_index_.clear();
  states_.clear();
  bytes_ = 0;
}

uint32_t ComponentStates::intern_make(std::vector<Kind> kinds, uint32_t counters) {
  std::string key;
  append_bytes(key, counters);
  for (const Kind& kind : kinds) {
    append_bytes(key, kind.classes);
    append_bytes(key, static_cast<uint32_t>(kind.uses.size()));
    for (const auto& [counter, amount] : kind.uses) {
      append_bytes(key, counter);
      append_bytes(key, amount);
    }
  }
  auto [it, fresh] = make_index_.try_emplace(std::move(key), static_cast<uint32_t>(makes_.size()));
  if (fresh) makes_.push_back({std::move(kinds), counters});
  return it->second;
}

uint32_t ComponentStates::intern_state(uint32_t make, std::vector<uint32_t> left, std::vector<Amount> residual) {
  const std::vector<Kind>& kinds = makes_[make].kinds;
  // Ignore devices and counters that nobody could or would take.
  std::vector<Amount> useful(residual.size(), 0);
  for (size_t k = 0; k < kinds.size(); ++k) {
    if (left[k] == 0) continue;
    if (!fits_in(kinds[k], residual)) {
      left[k] = 0;
      continue;
    }
    uint64_t wanted = 0;
    for (size_t c = 0; c < kMaxClasses; ++c)
      if (kinds[k].classes >> c & 1) wanted += lane_of(cap_, c);
    left[k] = static_cast<uint32_t>(std::min<uint64_t>(left[k], wanted));
    for (const auto& [counter, amount] : kinds[k].uses) useful[counter] += amount * static_cast<Amount>(left[k]);
  }
  std::string key;
  key.reserve(4 + 4 * left.size() + sizeof(Amount) * residual.size());
  append_bytes(key, make);
  for (uint32_t n : left) append_bytes(key, n);
  for (size_t c = 0; c < residual.size(); ++c) {
    residual[c] = std::min(residual[c], useful[c]);
    append_bytes(key, residual[c]);
  }
  auto [it, fresh] = state_index_.try_emplace(std::move(key), static_cast<uint32_t>(states_.size()));
  if (fresh) {
    bytes_ += 2 * it->first.size() + sizeof(State) + 64;
    states_.push_back(std::make_unique<State>());
    states_.back()->make = make;
    states_.back()->left = std::move(left);
    states_.back()->residual = std::move(residual);
  }
  return it->second;
}

const ComponentStates::State* ComponentStates::get(uint32_t state, uint64_t& work, uint64_t limit) {
  State& asked = *states_[state];
  if (!asked.known && !expand(state, work, limit)) return nullptr;
  return &asked;
}

// The first device taken has some kind, and no later one has an earlier kind: so each set of devices is visited once.
bool ComponentStates::expand(uint32_t id, uint64_t& work, uint64_t limit) {
  if (full() || work > limit) return false;
  State& state = *states_[id];
  const std::vector<Kind>& kinds = makes_[state.make].kinds;
  std::vector<Vector> vectors;
  std::vector<uint32_t> left = state.left;
  for (size_t k = 0; k < kinds.size(); ++k) {
    if (state.left[k] == 0) continue;
    ++work;
    std::vector<Amount> residual = state.residual;
    for (const auto& [counter, amount] : kinds[k].uses) residual[counter] -= amount;
    --left[k];
    const State* rest = get(intern_state(state.make, left, std::move(residual)), work, limit);
    if (rest == nullptr) return false;
    left[k] = 0;
    for (size_t c = 0; c < kMaxClasses; ++c) {
      if ((kinds[k].classes >> c & 1) == 0) continue;
      for (Vector v : rest->vectors)
        if (!add_maximal(vectors, add_up_to(v, unit_vector(c), cap_), work)) return false;
    }
  }
  if (vectors.empty()) vectors.push_back(0);
  for (Vector v : vectors) state.most = v + state.most - lane_min(v, state.most);
  bytes_ += vectors.size() * sizeof(Vector);
  state.vectors = std::move(vectors);
  state.known = true;
  return true;
}

// False: too many vectors.
bool ComponentStates::add_maximal(std::vector<Vector>& vectors, Vector v, uint64_t& work) const {
  work += 1 + vectors.size() / 16;
  for (Vector other : vectors)
    if (covers(other, v)) return true;
  vectors.erase(std::remove_if(vectors.begin(), vectors.end(), [&](Vector other) { return covers(v, other); }),
                vectors.end());
  vectors.push_back(v);
  return vectors.size() <= kMaxVectors;
}

}  // namespace dra::allocator
