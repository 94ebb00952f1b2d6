#include "pkg/inventory/node_takes.h"

#include <algorithm>
#include <limits>

#include "pkg/inventory/amount.h"

namespace dra::inventory {
namespace {

bool is_counted(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage" ||
         resource.starts_with("hugepages-");
}

api::Quantity quantity_of(Amount amount, api::Quantity::Format format) {
  constexpr Amount kMost = std::numeric_limits<int64_t>::max();
  Amount unit = 1;
  for (int32_t scale = -9; scale < 0; scale += 3, unit *= 1000)
    if (amount % (unit * 1000) != 0 && (amount + unit - 1) / unit <= kMost)
      return api::Quantity::from_scaled(static_cast<int64_t>((amount + unit - 1) / unit), scale, format);
  const Amount whole = amount / kNanosPerUnit + (amount % kNanosPerUnit != 0 ? 1 : 0);
  return api::Quantity::from_int64(static_cast<int64_t>(std::min(whole, kMost)), format);
}

void add(Taken& sum, const std::string& resource, const api::Quantity& amount) {
  const auto [entry, first] = sum.emplace(resource, amount);
  if (first) return;
  if (Result<api::Quantity> both = entry->second.add(amount))
    entry->second = *both;
  else
    entry->second = std::max(entry->second, amount);  // more digits than a quantity has: no node has that
}

}  // namespace

api::Quantity product(const api::Quantity& a, const api::Quantity& b) {
  constexpr Amount kMost = std::numeric_limits<int64_t>::max() * static_cast<Amount>(kNanosPerUnit);
  const Amount x = to_amount(a), y = to_amount(b);
  if (x <= 0 || y <= 0) return quantity_of(0, a.format());
  // Not __builtin_mul_overflow, which with 128 bits needs a function that libgcc lacks on 64-bit ARM.
  if (x > std::numeric_limits<Amount>::max() / y) return quantity_of(kMost, a.format());
  const Amount both = x * y / kNanosPerUnit + (x * y % kNanosPerUnit > 0 ? 1 : 0);
  return quantity_of(std::min(both, kMost), a.format());
}

std::optional<NodeTakes> node_takes_of(const api::Device& device, bool consumable) {
  if (!device.takes_of_node) return std::nullopt;
  NodeTakes takes;
  for (const api::DeviceTake& one : *device.takes_of_node) {
    const Result<api::Quantity> multiplier = api::Quantity::parse(one.multiplier.empty() ? "1" : one.multiplier);
    if (!is_counted(one.resource) || !multiplier || multiplier->sign() <= 0) return std::nullopt;
    if (!one.capacity.empty() && (!consumable || !device.allow_multiple_allocations)) return std::nullopt;
    takes.push_back({one.resource, one.capacity, *multiplier});
  }
  return takes;
}

void add_taken(const NodeTakes& takes, const Consumed& consumed, Taken& sum) {
  for (const NodeTake& take : takes) {
    if (take.capacity.empty()) {
      add(sum, take.resource, take.multiplier);
    } else if (const std::optional<api::Quantity> amount = consumed(take.capacity)) {
      add(sum, take.resource, product(*amount, take.multiplier));
    }
  }
}

}  // namespace dra::inventory
