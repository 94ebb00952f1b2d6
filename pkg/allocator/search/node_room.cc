// Search: what devices take of their node's cpu, memory and the like (pkg/inventory/node_takes.h), against the room
// that placement says there is (Request::room). Amounts are never below zero, so a choice that does not fit has no
// continuation that does.
#include <algorithm>
#include <string_view>

#include "pkg/allocator/search/search.h"
#include "pkg/inventory/amount.h"
#include "pkg/inventory/node_takes.h"

namespace dra::allocator {

using inventory::Amount;
using inventory::Pool;

namespace {

// What one share, or the whole device without `fit`, takes.
inventory::Taken taken_of_node(const Pool& pool, uint32_t device, const CapacityFit* fit) {
  const inventory::CapacityShape& shape = pool.shape(device);
  inventory::Taken sum;
  inventory::add_taken(
      *pool.takes(device),
      [&](const std::string& capacity) -> std::optional<api::Quantity> {
        for (size_t i = 0; fit != nullptr && i < shape.entries.size(); ++i)
          if (shape.entries[i].name == capacity) return fit->quantities[i];
        return std::nullopt;
      },
      sum);
  return sum;
}

}  // namespace

Search::TakenOfNode& Search::taken_of(const std::string& resource) {
  for (TakenOfNode& one : taken_)
    if (one.resource == resource) return one;
  const Amount room = room_ == nullptr ? inventory::to_amount(api::Quantity::from_int64(INT64_MAX))
                                       : inventory::to_amount((*room_)(matrix_.node(), resource));
  return taken_.emplace_back(TakenOfNode{resource, room, 0});
}

bool Search::fits_room(const Pool& pool, uint32_t device, const CapacityFit* fit) {
  for (const auto& [resource, quantity] : taken_of_node(pool, device, fit)) {
    const Amount amount = inventory::to_amount(quantity);
    const TakenOfNode& known = taken_of(resource);
    if (amount <= 0 || known.amount + amount <= known.room) continue;
    if (short_of_room_.empty())
      short_of_room_ = "devices would take " + inventory::short_amount_text(known.amount + amount) + " " + resource +
                       ", and there is room for " + inventory::short_amount_text(std::max<Amount>(known.room, 0));
    return false;
  }
  return true;
}

void Search::charge_room(const Pool& pool, uint32_t device, const CapacityFit* fit, int sign) {
  for (const auto& [resource, quantity] : taken_of_node(pool, device, fit))
    taken_of(resource).amount += sign * inventory::to_amount(quantity);
}

// Devices are interchangeable only if they take the same.
void Search::append_takes(const Pool& pool, uint32_t device, std::string& key) {
  const inventory::NodeTakes* takes = pool.takes(device);
  if (takes == nullptr) return;
  for (const inventory::NodeTake& one : *takes)
    for (const std::string& part : {one.resource, one.capacity, one.multiplier.to_string()}) {
      const auto size = static_cast<uint32_t>(part.size());
      key.append(reinterpret_cast<const char*>(&size), sizeof size);
      key += part;
    }
}

// What this decision has taken; resources of which it has given everything back say nothing.
void Search::add_room(inventory::Hash128& state) const {
  uint64_t sum_a = 0, sum_b = 0;
  for (const TakenOfNode& one : taken_) {
    if (one.amount == 0) continue;
    inventory::Hash128 mix;
    mix.add(std::hash<std::string_view>{}(one.resource));
    mix.add(static_cast<uint64_t>(one.amount));
    mix.add(static_cast<uint64_t>(one.amount >> 64));
    sum_a += mix.a;
    sum_b += mix.b;
  }
  state.add(sum_a);
  state.add(sum_b);
}

}  // namespace dra::allocator
