// Value miss: of a selector that no device passes, the comparison that none passes, and the values that exist.
//
//   ValueMiss miss("device.capacity[\"gpu.nvidia.com\"].memory.compareTo(quantity(\"80Gi\")) >= 0");
//   for (each device that the selector rejects) miss.add(device_index, pool, device);
//   miss.words();   // "memory >= 80Gi: the largest has 81559Mi"
//
// Reads the text of the selector (selector_text.h): comparisons of an attribute or a capacity with a constant. Every
// number is of the devices that were added. Bounded: kMostComparisons, and kMostValues different values of each.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pkg/api/quantity.h"
#include "pkg/inventory/device_index.h"

namespace dra::allocator {

class ValueMiss {
 public:
  static constexpr size_t kMostComparisons = 4;
  static constexpr size_t kMostValues = 256;

  explicit ValueMiss(std::string_view selector);
  // Nothing is compared: add() and words() do nothing.
  bool empty() const { return comparisons_.empty(); }
  void add(const inventory::DeviceIndex& device_index, const inventory::Pool& pool, uint32_t device);
  // About the first comparison that no device passes; empty: each is passed by some device.
  std::string words() const;

 private:
  enum class Op : uint8_t { kEqual, kAtLeast, kAbove, kAtMost, kBelow };
  using Value = std::variant<std::string, int64_t, bool, api::Quantity>;
  struct Comparison {
    std::string name;  // "domain/name"
    bool of_capacity = false;
    Op op = Op::kEqual;
    Value constant;
    bool passed = false;
    std::map<std::string, uint32_t> had{};  // devices by the value's text
    bool too_many = false;                  // different values
    std::optional<Value> least{}, most{};
  };

  static std::optional<Op> take_op(std::string_view& text);
  static std::optional<Comparison> capacity_comparison(std::string_view after);
  static std::optional<Comparison> attribute_comparison(std::string_view after);
  static std::string text_of(const Value& value);
  static bool passes(const Value& value, Op op, const Value& constant);
  static void note(Comparison& comparison, const Value& value);
  static std::string words(const Comparison& comparison);

  std::vector<Comparison> comparisons_;
};

}  // namespace dra::allocator
