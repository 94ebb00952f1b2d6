// A compiled expression, what it can read, and its evaluation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pkg/cel/device/device.h"
#include "pkg/cel/lib/errors.h"
#include "pkg/cel/value/value.h"

namespace dra::cel {

// CELSelectorExpressionMaxCost: the estimate above which the API server refuses ("too complex, exceeds cost limit") and
// the run-time cost at which an evaluation is stopped.
inline constexpr uint64_t kMaxCost = 1'000'000;

// What an expression can read, from its tree: the allocator's caching key. The outcome of an evaluation is a function
// of these (and of whether the device is spoiled).
struct Reads {
  bool driver = false;
  bool allow_multiple_allocations = false;
  // Iterated, indexed by something not constant, compared or tested as a whole: every attribute (capacity) counts.
  bool all_attributes = false;
  bool all_capacities = false;
  // (domain, name), sorted, unique. Complete unless the flag above is set.
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<std::pair<std::string, std::string>> capacities;
};

struct EvalLimits {
  uint64_t cost = kMaxCost;
  // Bytes of temporary values.
  size_t memory = 24u << 20;
  // When set and true, evaluation ends with kInterrupted at the next check (every 100 iterations).
  const std::atomic<bool>* interrupt = nullptr;
};

struct EvalResult {
  RuntimeCategory error = RuntimeCategory::kNone;
  bool value = false;   // meaningful when error is kNone
  uint64_t cost = 0;    // upstream's units, as far as evaluation got; one takes up to about 20 ns
  uint64_t work = 0;    // steps of work beside them, about 5 ns each (README.md)
  std::string message;  // of the error, in upstream's words
  std::string hint;     // what to do about it, or empty

  bool ok() const { return error == RuntimeCategory::kNone; }
};

// The value of a variable of a generic environment.
struct Binding {
  std::string name;
  Value value;
};

// A compiled expression. Immutable; evaluation is safe from many threads and allocates nothing for typical selectors.
class Program {
 public:
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  EvalResult evaluate(const DeviceInput& device, const EvalLimits& limits = {}) const;
  // For expressions of derived attributes: the value, which lives in `arena`, in the device or in this program. All of
  // `out` but its value is as above.
  Value evaluate_value(const DeviceInput& device, Arena& arena, EvalResult& out, const EvalLimits& limits = {}) const;
  // For generic environments (and any result type). The result lives in `arena`, in the bindings or in this program.
  Value evaluate_value(const std::vector<Binding>& bindings, Arena& arena, const EvalLimits& limits = {},
                       uint64_t* cost = nullptr) const;

  const Reads& reads() const;
  const std::string& expression() const;
  // The checker's type: "bool", "any".
  const std::string& type() const;

  struct Rep;
  explicit Program(std::unique_ptr<const Rep> rep);

 private:
  std::unique_ptr<const Rep> rep_;
};

}  // namespace dra::cel
