// Selectors: compiled expressions, and their outcome for what they read.
//
// The outcome of a selector is a function of the driver, allowMultipleAllocations, the attributes and capacities it
// reads (cel::Program::reads), and whether the device is spoiled. So it is evaluated once per distinct tuple of these,
// whatever the number of devices. Outcomes are cached by 128-bit hashes of the tuples, up to a bound.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/allocator/budget/deferred_frees.h"
#include "pkg/allocator/budget/meter.h"
#include "pkg/cel/cel.h"
#include "pkg/inventory/device_index.h"

namespace dra::allocator {

using SelectorId = uint32_t;

enum class Truth : uint8_t { kFalse, kTrue, kError };

// What a derived attribute is of a device.
struct DerivedValue {
  std::string code;   // pkg/inventory/value_code.h
  std::string error;  // if `failed`: why
  bool failed = false;
};

class Selectors {
 public:
  static constexpr size_t kMaxOutcomes = 40'000;  // of each of two generations: about 3.5 MiB together
  static constexpr size_t kMaxDerived = 20'000;   // values of derived attributes
  static constexpr size_t kMaxProgramBytes = 16u
                                             << 20;  // as full() estimates them; those of one pod fit (kMaxPlanBytes)

  // The meter and the deferred frees must outlive this; compiling and evaluating are charged to the meter.
  Selectors(inventory::DeviceIndex& device_index, bool quantity_operators, Meter& meter, DeferredFrees& frees);
  ~Selectors();

  // True if intern() would compile nothing.
  bool knows(const std::string& expression) const { return index_.contains(expression); }
  SelectorId intern(const std::string& expression);
  // The same for expressions of derived attributes, which have a value; all else is said of both.
  bool knows_derived(const std::string& expression) const { return index_.contains(kDerivedKey + expression); }
  SelectorId intern_derived(const std::string& expression);
  // Valid until the next call.
  const DerivedValue& derive(SelectorId id, const inventory::Pool& pool, uint32_t device);
  // Why the expression does not compile, with a hint if there is one; empty if it does.
  const std::string& compile_error(SelectorId id) const { return entries_[id]->error; }
  const std::string& expression(SelectorId id) const { return entries_[id]->expression; }
  enum class Keep : bool { kNo, kYes };
  // The most steps any evaluation has taken so far.
  uint64_t most_steps(SelectorId id) const { return entries_[id]->most_steps; }
  // May take up to some 20 ms for a hostile expression; check the meter before each call. `keep`: cache the outcome.
  Truth evaluate(SelectorId id, const inventory::Pool& pool, uint32_t device, Keep keep = Keep::kYes);
  // The message of a run-time error, by evaluating again.
  std::string error_text(SelectorId id, const inventory::Pool& pool, uint32_t device);
  // Adds what the selector reads of all devices of the slice: equal hashes mean equal outcomes device by device. Valid
  // until a text number is reused (Strings::reuse_epoch).
  void mark(SelectorId id, const inventory::SliceTable& slice, inventory::Hash128& hash) const;
  size_t size() const { return entries_.size(); }
  // Too many programs are kept: the owner should call clear() when no SelectorId is in use.
  bool full() const { return program_bytes_ > kMaxProgramBytes; }
  // Drops everything, and reads the inventory's features again.
  void clear();

 private:
  struct Entry {
    std::string expression;
    std::string error;
    std::shared_ptr<const cel::Program> program;
    std::vector<inventory::StrId> keys;  // of attributes read; referenced
    bool all_attributes = false;
    bool capacities = false;
    uint64_t most_steps = 0;
  };
  // In front of the expression of a derived attribute, in `index_`.
  static inline const std::string kDerivedKey = std::string(1, '\0');
  SelectorId intern_in(const cel::Environment& environment, const std::string& key, const std::string& expression);
  void follow_reuse();
  static uint64_t steps_of(const cel::EvalResult& result);
  using Outcomes = std::unordered_map<inventory::Hash128, Truth, inventory::Hash128Hash>;
  inventory::Hash128 make_key(SelectorId id, const inventory::Pool& pool, uint32_t device) const;
  const Truth* find_outcome(const inventory::Hash128& key);
  void forget();
  void drop_outcomes();
  void keep_outcome(const inventory::Hash128& key, Truth truth);

  inventory::DeviceIndex& device_index_;
  bool quantity_operators_;
  cel::Environment environment_, derived_environment_;
  bool lists_;
  std::unordered_map<std::string, SelectorId> index_;
  std::vector<std::unique_ptr<Entry>> entries_;
  uint64_t epoch_ = 0;
  size_t program_bytes_ = 0;
  Meter& meter_;
  DeferredFrees& deferred_frees_;
  // When `recent_` is full it becomes `older_`; an outcome that is used again moves back. So the least recently used
  // outcomes are dropped first.
  Outcomes recent_, older_;
  std::unordered_map<inventory::Hash128, DerivedValue, inventory::Hash128Hash> derived_;
};

// The device as selectors see it.
cel::DeviceInput device_input(const inventory::DeviceIndex& device_index, const inventory::Pool& pool, uint32_t device);

}  // namespace dra::allocator
