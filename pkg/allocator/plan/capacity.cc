#include "pkg/allocator/plan/capacity.h"

#include <limits>
#include <optional>

namespace dra::allocator {
namespace {

using api::Quantity;
using inventory::CapacityEntry;
using inventory::CapacityPolicy;

constexpr int32_t kMilli = -3;

bool whole_thousandths(const Quantity& quantity) {
  return Quantity::from_scaled(quantity.milli_value(), kMilli) == quantity;
}

// The power of ten of the unit in which the range counts its steps.
int32_t unit_of(const CapacityPolicy::Range& range, bool fractional) {
  const bool thousandths = fractional && whole_thousandths(range.min) &&
                           (!range.max || whole_thousandths(*range.max)) &&
                           (!range.step || whole_thousandths(*range.step));
  return thousandths ? kMilli : 0;
}

// min + the smallest multiple of step that reaches `requested`; nullopt beyond 64 bits.
std::optional<Quantity> round_up(const Quantity& requested, const CapacityPolicy::Range& range, bool fractional) {
  if (requested < range.min) return range.min;
  if (!range.step) return requested;
  const int32_t unit = unit_of(range, fractional);
  const int64_t asked = requested.scaled_value(unit);
  const int64_t largest = std::numeric_limits<int64_t>::max();
  if (asked == largest) return std::nullopt;  // larger values saturate
  const __int128 min = range.min.scaled_value(unit);
  const __int128 step = range.step->scaled_value(unit);  // positive: pkg/inventory/slice_table.cc rejects others
  const __int128 value = min + (asked - min + step - 1) / step * step;
  if (value > largest) return std::nullopt;
  const auto format = fractional ? range.step->format() : Quantity::Format::kBinarySI;
  const auto amount = static_cast<int64_t>(value);
  if (unit == 0) return Quantity::from_int64(amount, format);
  return amount % 1000 == 0 ? Quantity::from_int64(amount / 1000, format) : Quantity::from_scaled(amount, unit, format);
}

// Nullopt: the policy cannot count that much.
std::optional<Quantity> amount_for(const CapacityEntry& entry, const Quantity* requested, bool fractional) {
  if (requested == nullptr)
    return entry.policy && entry.policy->default_value ? *entry.policy->default_value : entry.value;
  if (!entry.policy) return *requested;
  if (entry.policy->range) return round_up(*requested, *entry.policy->range, fractional);
  for (const Quantity& valid : entry.policy->valid_values)
    if (*requested <= valid) return valid;
  return *requested;
}

bool allowed(const Quantity& amount, const CapacityPolicy& policy, bool fractional) {
  if (policy.default_value && amount == *policy.default_value) return true;
  if (policy.range) {
    if (policy.range->max && amount > *policy.range->max) return false;
    if (!policy.range->step) return true;
    const int32_t unit = unit_of(*policy.range, fractional);
    if (unit != 0 && !whole_thousandths(amount)) return false;
    const __int128 above = static_cast<__int128>(amount.scaled_value(unit)) - policy.range->min.scaled_value(unit);
    return above % policy.range->step->scaled_value(unit) == 0;
  }
  if (policy.valid_values.empty()) return true;
  for (const Quantity& valid : policy.valid_values)
    if (amount == valid) return true;
  return false;
}

}  // namespace

CapacityFit fit_capacity(const inventory::CapacityShape& shape, const CapacityRequests& requests, bool fractional,
                         bool either_name) {
  CapacityFit fit;
  // The amount requested of each entry. If both names of one are there, that of the slice counts.
  std::vector<const Quantity*> wanted(shape.entries.size(), nullptr);
  for (const auto& [name, requested] : requests) {
    const size_t at = shape.find(name, either_name);
    if (at == inventory::CapacityShape::kNoEntry || requested.sign() < 0) {
      fit.short_of = name;
      return fit;
    }
    if (wanted[at] == nullptr || shape.entries[at].name == name) wanted[at] = &requested;
  }
  for (size_t i = 0; i < shape.entries.size(); ++i) {
    const CapacityEntry& entry = shape.entries[i];
    std::optional<Quantity> amount = amount_for(entry, wanted[i], fractional);
    if (!amount || (entry.policy && !allowed(*amount, *entry.policy, fractional)) || *amount > entry.value) {
      fit.short_of = entry.name;
      return fit;
    }
    fit.amounts.push_back(inventory::to_amount(*amount));
    fit.quantities.push_back(std::move(*amount));
  }
  fit.fits = true;
  return fit;
}

}  // namespace dra::allocator
