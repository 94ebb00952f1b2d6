// DerivedColumns: what the devices of a node have in a constraint on derived attributes (KEP-6080).
//
// A request may say what an attribute is of each device: an expression takes the place of the device's own attribute of
// that name. So one constraint reads several columns: the devices' own attribute (column 0), and one for each
// expression. Equal values have equal numbers in all of them.
//
// Expressions are evaluated for the devices that a request could use, once for each tuple of what they read
// (Selectors). An expression that fails on a candidate is an error of the decision, not of the device, so failures are
// kept, and reported where the search meets one. A list counts as its elements with DRAListTypeAttributes; without, it
// is a value that no other device shares, and the device stands in the constraint alone.
//
// Kept by the stamp of the node's view, like Columns. One thread.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/allocator/plan/columns.h"
#include "pkg/allocator/plan/selectors.h"

namespace dra::allocator {

// Values of one decision, of all constraints: beyond it the claims are refused. About 5 bytes each.
inline constexpr size_t kMaxDerivedValues = 4u << 20;

class DerivedColumns {
 public:
  explicit DerivedColumns(std::vector<SelectorId> expressions) : expressions_(std::move(expressions)) {}

  // Column 0 from the devices' own attribute. Once.
  void read_own(const inventory::NodeView& view, const std::string& attribute,
                const inventory::DeviceIndex& device_index);
  // Evaluates the expression of the column (from 1 on) for those of `wanted` that have no value yet. False: the slice
  // ended first; each call that has something to do evaluates one device at least.
  bool evaluate(uint32_t column, const inventory::Words& wanted, const inventory::NodeView& view,
                inventory::DeviceIndex& device_index, Selectors& selectors, Meter& meter);
  // Call it when evaluate() has finished for all columns, and before reading.
  void finish();

  const Column& column(uint32_t number) const { return columns_[number]; }
  bool failed(uint32_t column, uint32_t device) const {
    return column > 0 && inventory::test_bit(failed_[column - 1].data(), device);
  }
  bool any_failed() const { return any_failed_; }
  const inventory::Words& failures(uint32_t column) const { return failed_[column - 1]; }
  // A list without its gate: stands in a constraint alone.
  bool alone(uint32_t column, uint32_t device) const {
    return any_alone_ && column > 0 && inventory::test_bit(alone_[column - 1].data(), device);
  }
  bool any_alone() const { return any_alone_; }
  uint32_t values() const { return values_; }
  SelectorId expression(uint32_t column) const { return expressions_[column - 1]; }
  size_t size() const { return columns_.empty() ? 0 : columns_.size() * columns_[0].value.size(); }

 private:
  uint32_t number(std::string_view code);
  uint32_t entry(Column& column, std::string_view code);
  void set(uint32_t column, uint32_t device, const DerivedValue& value, bool lists);

  const std::vector<SelectorId> expressions_;
  std::vector<Column> columns_;
  std::vector<inventory::Words> known_, failed_, alone_;  // by expression
  std::unordered_map<std::string, uint32_t> numbers_;
  uint32_t values_ = 0;
  bool any_failed_ = false, any_alone_ = false, changed_ = true;
};

class DerivedColumnsCache {
 public:
  explicit DerivedColumnsCache(inventory::DeviceIndex& device_index) : device_index_(device_index) {}
  DerivedColumns& get(const inventory::NodeView& view, const std::string& attribute,
                      const std::vector<SelectorId>& expressions);
  // When no SelectorId is in use.
  void clear() { kept_.clear(); }
  void trim();  // between decisions

 private:
  inventory::DeviceIndex& device_index_;
  std::unordered_map<std::string, std::unique_ptr<DerivedColumns>> kept_;
};

}  // namespace dra::allocator
