// Selectors: compiled expressions and their truth by what they read.
//
// The outcome of a selector is a function of the driver, allowMultipleAllocations, the attributes and capacities it
// reads (cel::Program::reads), and whether the device is spoiled. So it is evaluated once per distinct tuple of these,
// whatever the number of devices.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/cel/cel.h"
#include "pkg/inventory/core.h"

namespace dra::allocator {

using SelectorId = uint32_t;

enum class Truth : uint8_t { kFalse, kTrue, kError };

class Selectors {
 public:
  Selectors(inventory::Core& core, bool quantity_operators);
  ~Selectors();

  SelectorId intern(const std::string& expression);
  // Why the expression does not compile, and a hint where there is one; empty when it does.
  const std::string& compile_error(SelectorId id) const { return entries_[id]->error; }
  const std::string& expression(SelectorId id) const { return entries_[id]->expression; }
  Truth evaluate(SelectorId id, const inventory::Pool& pool, uint32_t device);
  // The message of a run-time error, evaluated anew.
  std::string error_text(SelectorId id, const inventory::Pool& pool, uint32_t device);
  // Adds what the selector reads of all devices of the slice: equal hashes, equal outcomes device by device. Holds as
  // long as no text is replaced (Strings::reuse_epoch).
  void mark(SelectorId id, const inventory::SliceTable& slice, inventory::Hash128& hash) const;
  // How many times an expression has been evaluated: the expensive part of making masks.
  uint64_t evaluations() const { return evaluations_; }
  size_t size() const { return entries_.size(); }
  void clear();

 private:
  struct Entry {
    std::string expression;
    std::string error;
    std::shared_ptr<const cel::Program> program;
    std::vector<inventory::StrId> keys;  // of attributes read; referenced
    bool all_attributes = false;
    bool capacities = false;
    std::unordered_map<std::string, Truth> outcomes;
  };
  void make_key(const Entry& entry, const inventory::Pool& pool, uint32_t device);

  inventory::Core& core_;
  cel::Environment environment_;
  bool lists_;
  std::unordered_map<std::string, SelectorId> index_;
  std::vector<std::unique_ptr<Entry>> entries_;
  uint64_t epoch_ = 0;
  uint64_t evaluations_ = 0;
  std::string key_;  // scratch
};

// The device as selectors see it.
cel::DeviceInput device_input(const inventory::Core& core, const inventory::Pool& pool, uint32_t device);

}  // namespace dra::allocator
