// EvalContext: the state of one evaluation. Internal to pkg/cel.
#pragma once

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "pkg/cel/lib/arena.h"
#include "pkg/cel/lib/outcome.h"
#include "pkg/cel/value/value.h"

namespace dra::cel {

class Node;

// A step's cost never wraps around (cel-go saturates too).
inline uint64_t saturating_add(uint64_t a, uint64_t b) {
  uint64_t sum = a + b;
  return sum < a ? UINT64_MAX : sum;
}
inline uint64_t saturating_multiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}
// cel-go: uint64(math.Ceil(float64(n) * factor)), with the same rounding.
inline uint64_t scaled_cost(uint64_t n, double factor) {
  double x = std::ceil(static_cast<double>(n) * factor);
  return x >= 18446744073709551615.0 ? UINT64_MAX : static_cast<uint64_t>(x);
}

// scaled_cost(n, 0.1) without arithmetic for the sizes that occur.
inline uint64_t tenth_cost(uint64_t n) {
  static constexpr size_t kKnown = 512;
  static const auto table = [] {
    std::array<uint8_t, kKnown> t{};
    for (size_t i = 0; i < kKnown; ++i) t[i] = static_cast<uint8_t>(scaled_cost(i, 0.1));
    return t;
  }();
  return n < kKnown ? table[n] : scaled_cost(n, 0.1);
}

// The largest text (string or bytes) one operation may make, and the largest list or map: a million elements, which is
// what the cost limit allows for.
inline constexpr size_t kMaxTextBytes = 1u << 20;
inline constexpr size_t kMaxListBytes = 16u << 20;
// Steps of work that one evaluation may do, and the weight (value_weight) that one value may have. Upstream's cost
// reflects the work of most operations but not of all, and not the size of their results; so every operation also
// spends steps, before it works: one per element that it reads, per 16 bytes that it compares or copies, per 4 bytes
// that a function parses, and a measured number for slower functions. A step is about 5 ns of optimised code, so that
// an evaluation ends within some 10 ms unless its cost has paid for more.
inline constexpr uint64_t kMaxWork = 2'000'000;

struct EvalContext {
  explicit EvalContext(Arena& a) : arena(a) {}

  Arena& arena;
  const MapRep* device = nullptr;  // the four fields of `device`
  const struct DeviceFacts* facts = nullptr;
  const Value* const* variables = nullptr;  // generic environments: by variable index, null: unbound
  Value* locals = nullptr;
  const Node** lazy = nullptr;  // per local: the initialiser of a kLazyKind slot
  uint64_t cost = 0;
  uint64_t cost_at_abort = 0;
  uint64_t cost_limit = 0;
  size_t memory_limit = 0;
  const std::atomic<bool>* interrupt = nullptr;
  // Set once: the evaluation ends with this error whatever && and || say.
  const ErrorRep* aborted = nullptr;
  uint32_t iterations = 0;
  uint64_t work = 0;

  void charge(uint64_t n) {
    cost = saturating_add(cost, n);
    if (cost > cost_limit) over_cost();
  }
  void over_cost();
  // Reserves memory for a list, map or text of this many bytes that one operation is about to make. False: the
  // evaluation is aborted.
  bool reserve(size_t bytes) { return bytes <= kMaxListBytes ? reserve_any(bytes) : over_size(); }
  bool reserve_text(size_t bytes) { return bytes <= kMaxTextBytes ? reserve_any(bytes) : over_size(); }
  // Records work that the cost does not reflect. False: the evaluation is aborted, for that or for the memory in use.
  bool spend(uint64_t steps) {
    work = saturating_add(work, steps);
    return (work <= kMaxWork && arena.used() <= memory_limit) || over_work();
  }
  bool over_work();
  // The budget of a library function, and the settlement of what it used.
  lib::Budget budget() const;
  void settle(const lib::Budget& left);
  // The size of a value as upstream's cost tracker sees it. Counting the code points of long texts is work.
  uint64_t size_of(const Value& v) { return v.kind == Kind::kString && v.flag == 1 ? v.length : size_slow(v); }
  // Called per loop iteration. False: stop.
  bool tick();

  // `message` and `subject` must outlive the evaluation (literals, program or device texts).
  Value fail(RuntimeCategory category, std::string_view message, std::string_view subject = {});
  // Copies the texts.
  Value fail_copy(RuntimeCategory category, std::string_view message, std::string_view subject = {});
  Value abort(RuntimeCategory category, std::string_view message);
  Value no_overload();
  Value no_overload(std::string_view function);
  // The error of an operator or size() whose first operand has no such operation: upstream names the function, unless
  // the operand's type dispatches calls itself (strings and times).
  Value no_operation(std::string_view function, const Value& operand);
  Value no_overload_call(std::string_view function, const Value* args, size_t count);

  Value string(std::string_view text);

 private:
  bool reserve_any(size_t bytes);
  uint64_t size_slow(const Value& v);
  bool over_size();
};

}  // namespace dra::cel
