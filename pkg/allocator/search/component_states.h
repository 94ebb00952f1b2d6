// ComponentStates: how many devices that compete for counters can be taken together, by demand class.
//
// A component is a set of devices connected by shared counters: a GPU with its partitions. Its state is the
// remaining counters and devices. For each state, `get` lists the maximal numbers of devices by class that
// can be taken from it ("3 small and 1 large, or 7 small"). Components of one make (equal devices, equal
// uses, in equal order) share states, so a node of eight equal GPUs, or a fleet of such nodes, is computed
// once.
//
// Bounded: kMaxStates states of kMaxVectors vectors each, kMaxStateBytes in total; beyond that `get` returns null. One
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pkg/inventory/amount.h"

namespace dra::allocator {

// Numbers of devices by demand class: eight bits per class, each at most kMaxLane, so that a comparison takes a few
// instructions.
using Vector = unsigned __int128;
inline constexpr size_t kMaxClasses = 16;
inline constexpr uint64_t kMaxLane = 126;

inline constexpr Vector kLaneTops = (Vector{0x8080808080808080ull} << 64) | 0x8080808080808080ull;

inline Vector unit_vector(size_t lane) {
  return Vector{1} << (8 * lane);
}
inline uint64_t lane_of(Vector v, size_t lane) {
  return static_cast<uint64_t>(v >> (8 * lane)) & 0xff;
}
// True if every lane of `a` is at least that of `b`.
inline bool covers(Vector a, Vector b) {
  return (((a | kLaneTops) - b) & kLaneTops) == kLaneTops;
}
inline Vector lane_min(Vector a, Vector b) {
  const Vector tops = ((a | kLaneTops) - b) & kLaneTops;  // set where a >= b
  const Vector take_b = (tops - (tops >> 7)) | tops;
  return (b & take_b) | (a & ~take_b);
}
// a + b, at most `cap`, where a <= cap.
inline Vector add_up_to(Vector a, Vector b, Vector cap) {
  return a + lane_min(b, cap - a);
}

class ComponentStates {
 public:
  static constexpr size_t kMaxStates = 20'000;
  static constexpr size_t kMaxVectors = 512;
  static constexpr size_t kMaxStateBytes = 4u << 20;

  // Devices with equal classes and equal counter uses.
  struct Kind {
    uint32_t classes = 0;                                      // one bit per class
    std::vector<std::pair<uint32_t, inventory::Amount>> uses;  // counter of the component, amount
  };
  struct State {
    uint32_t make = 0;
    bool known = false;
    std::vector<uint32_t> left;               // devices by kind
    std::vector<inventory::Amount> residual;  // by counter of the component
    std::vector<Vector> vectors;              // maximal; never empty once known
    Vector most = 0;                          // by class
  };

  // Drops everything. No later question asks for more than `cap`.
  void reset(Vector cap);
  Vector cap() const { return cap_; }
  bool full() const { return states_.size() > kMaxStates || bytes_ > kMaxStateBytes; }

  // The number of a make; equal makes share a number.
  uint32_t intern_make(std::vector<Kind> kinds, uint32_t counters);
  // The number of a state; states that no question can distinguish share a number.
  uint32_t intern_state(uint32_t make, std::vector<uint32_t> left, std::vector<inventory::Amount> residual);
  // Null: too many states or vectors, or `work`, which counts the vectors handled, exceeds `limit`; states computed so
  // far are kept.
  const State* get(uint32_t state, uint64_t& work, uint64_t limit);

 private:
  struct Make {
    std::vector<Kind> kinds;
    uint32_t counters = 0;
  };
  bool expand(uint32_t state, uint64_t& work, uint64_t limit);
  bool add_maximal(std::vector<Vector>& vectors, Vector v, uint64_t& work) const;

  Vector cap_ = 0;
  size_t bytes_ = 0;
  std::unordered_map<std::string, uint32_t> make_index_;
  std::vector<Make> makes_;
  std::unordered_map<std::string, uint32_t> state_index_;
  std::vector<std::unique_ptr<State>> states_;
};

}  // namespace dra::allocator
