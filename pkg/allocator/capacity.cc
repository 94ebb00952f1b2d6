#include "pkg/allocator/capacity.h"

#include <limits>
#include <optional>

namespace dra::allocator {
namespace {

using api::Quantity;
using inventory::CapacityEntry;
using inventory::CapacityPolicy;

// min + the least multiple of step that reaches `requested`, in whole units as the API defines it; saturates.
Quantity round_up(const Quantity& requested, const CapacityPolicy::Range& range) {
  if (requested < range.min) return range.min;
  if (!range.step) return requested;
  __int128 min = range.min.value();
  __int128 step = range.step->value();  // positive: pkg/inventory/slice_table.cc refuses others
  __int128 steps = (requested.value() - min + step - 1) / step;
  __int128 value = min + steps * step;
  __int128 most = std::numeric_limits<int64_t>::max();
  return Quantity::from_int64(static_cast<int64_t>(value < most ? value : most), Quantity::Format::kBinarySI);
}

Quantity amount_for(const CapacityEntry& entry, const Quantity* requested) {
  if (requested == nullptr)
    return entry.policy && entry.policy->default_value ? *entry.policy->default_value : entry.value;
  if (!entry.policy) return *requested;
  if (entry.policy->range) return round_up(*requested, *entry.policy->range);
  for (const Quantity& valid : entry.policy->valid_values)
    if (*requested <= valid) return valid;
  return *requested;
}

bool allowed(const Quantity& amount, const CapacityPolicy& policy) {
  if (policy.default_value && amount == *policy.default_value) return true;
  if (policy.range) {
    if (policy.range->max && amount > *policy.range->max) return false;
    if (!policy.range->step) return true;
    return (static_cast<__int128>(amount.value()) - policy.range->min.value()) % policy.range->step->value() == 0;
  }
  if (policy.valid_values.empty()) return true;
  for (const Quantity& valid : policy.valid_values)
    if (amount == valid) return true;
  return false;
}

}  // namespace

CapacityFit fit_capacity(const inventory::CapacityShape& shape, const CapacityRequests& requests) {
  CapacityFit fit;
  for (const auto& [name, requested] : requests) {
    bool published = false;
    for (const CapacityEntry& entry : shape.entries) published = published || entry.name == name;
    if (published && requested.sign() >= 0) continue;
    fit.short_of = name;
    return fit;
  }
  for (const CapacityEntry& entry : shape.entries) {
    auto it = requests.find(entry.name);
    Quantity amount = amount_for(entry, it == requests.end() ? nullptr : &it->second);
    if ((entry.policy && !allowed(amount, *entry.policy)) || amount > entry.value) {
      fit.short_of = entry.name;
      return fit;
    }
    fit.amounts.push_back(inventory::to_amount(amount));
    fit.quantities.push_back(std::move(amount));
  }
  fit.fits = true;
  return fit;
}

}  // namespace dra::allocator
