// top nodes: cards by state, what can still be cut, and what is left of shared devices.
#include <algorithm>
#include <map>

#include "pkg/api/selectors.h"
#include "pkg/inspect/answer/sort.h"
#include "pkg/inspect/state/shapes.h"
#include "pkg/inspect/state/silicon.h"
#include "pkg/inspect/verbs/half_taints.h"
#include "pkg/inspect/verbs/top.h"
#include "pkg/inspect/verbs/top_cells.h"
#include "pkg/inspect/verbs/who.h"
#include "pkg/inventory/amount.h"

namespace dra::inspect {
namespace {

constexpr const char* kAnyNode = "<shared>";

struct Bin {
  CardCounts cards;
  uint32_t devices = 0, held = 0;     // by name
  uint32_t held_as = 0, plugins = 0;  // inventory::Usage
  std::vector<FreeShape> shapes;
  std::map<std::string, inventory::Amount> shared_left;
  std::vector<std::string> troubles;        // of pools
  std::map<std::string, uint32_t> tainted;  // devices, by the taint that keeps claims away
};

// By node, then driver.
struct RowOrder {
  using Row = std::pair<std::string, std::string>;
  bool operator()(const Row& a, const Row& b) const {
    return a.first == b.first ? a.second < b.second : natural_less(a.first, b.first);
  }
};
using Bins = std::map<RowOrder::Row, Bin, RowOrder>;

// A line for each driver with several rows.
std::vector<std::string> sums_of(const Bins& bins) {
  std::map<std::string, std::pair<size_t, CardCounts>> sums;
  for (const auto& [where, bin] : bins) {
    auto& [rows, cards] = sums[where.second];
    ++rows;
    cards += bin.cards;
  }
  std::vector<std::string> lines;
  for (const auto& [driver, sum] : sums) {
    const auto& [rows, cards] = sum;
    if (rows < 2) continue;
    lines.push_back(driver + ": " + counted(cards.total, "card") + ", " + std::to_string(cards.whole) + " whole, " +
                    std::to_string(cards.cut) + " cut, " + std::to_string(cards.free) + " free, " +
                    std::to_string(cards.bad) + " bad");
  }
  return lines;
}

// What claims hold of shared devices.
using SharedUse = std::map<inventory::DeviceName, std::map<std::string, inventory::Amount>>;

inventory::Amount amount_in(const std::string& text) {
  const auto quantity = api::Quantity::parse(text);
  return quantity ? inventory::to_amount(*quantity) : 0;
}

SharedUse shared_use_of(const Objects& objects) {
  SharedUse use;
  for (const auto& [key, claim] : objects.claims) {
    if (!claim->status.allocation) continue;
    for (const auto& result : claim->status.allocation->results)
      for (const auto& [name, text] : result.consumed_capacity)
        use[{result.driver, result.pool, result.device}][name] += amount_in(text);
  }
  return use;
}

// What is left of a shared device.
std::map<std::string, inventory::Amount> left_of(const inventory::PoolInfo& pool, const api::Device& device,
                                                 const SharedUse& use) {
  std::map<std::string, inventory::Amount> left;
  const auto used = use.find({pool.driver, pool.name, device.name});
  for (const auto& [name, capacity] : device.capacity) {
    inventory::Amount amount = amount_in(capacity.value);
    if (used != use.end())
      if (const auto taken = used->second.find(name); taken != used->second.end()) amount -= taken->second;
    left[name] = std::max<inventory::Amount>(amount, 0);
  }
  return left;
}

// Partitions of one card that overlap are alternatives, so they are not added up: of a card in use counts what is left
// of its devices in use, and of any other card the most that one of its devices has.
void add_shared_left(Bin& bin, const inventory::PoolInfo& pool, const Card& card,
                     const std::map<std::string_view, const inventory::DeviceInfo*>& info, const SharedUse& use) {
  std::map<std::string, inventory::Amount> held, most;
  bool in_use = false;
  for (const api::Device* device : card.devices) {
    const inventory::DeviceInfo& known = *info.at(device->name);
    in_use = in_use || !known.holders.empty();
    if (!device->allow_multiple_allocations) continue;
    for (const auto& [name, amount] : left_of(pool, *device, use)) {
      if (!known.holders.empty()) held[name] += amount;
      if (card.devices.size() == 1 || known.available) most[name] = std::max(most[name], amount);
    }
  }
  for (const auto& [name, amount] : in_use ? held : most) bin.shared_left[name] += amount;
}

std::string shared_text(const std::map<std::string, inventory::Amount>& left) {
  std::string text;
  for (const auto& [name, amount] : left)
    text += (text.empty() ? "" : ", ") + name + " " + inventory::short_amount_text(amount);
  return text;
}

std::string pool_trouble(const inventory::PoolInfo& pool) {
  return pool.name + " is " + std::string(inventory::pool_state_name(pool.state)) + ": " + pool.reason;
}

// What a field that is not known takes away: all devices of a pool, or some. Empty: nothing.
std::string pool_refusal(const inventory::PoolInfo& pool, const std::vector<inventory::DeviceInfo>& devices) {
  if (!pool.refused.empty()) return pool.name + " is refused: " + pool.refused;
  if (!pool.refuses_some) return "";
  size_t refused = 0;
  std::string why;
  for (const inventory::DeviceInfo& device : devices) {
    if (device.refused.empty()) continue;
    ++refused;
    if (why.empty()) why = device.refused;
  }
  return refused == 0 ? "" : pool.name + " has " + counted(refused, "refused device") + ": " + why;
}

// The slices of an entry of Inventory::pools_by_node(): those of its node, and all with counters.
std::vector<const api::ResourceSlice*> slices_of(const inventory::PoolInfo& part,
                                                 std::vector<const api::ResourceSlice*> slices) {
  std::erase_if(slices, [&](const api::ResourceSlice* slice) {
    return slice->shared_counters.empty() && !slice->node_name.empty() && slice->node_name != part.node;
  });
  return slices;
}

// The devices of the entries of Inventory::pools_by_node(). The entries of a pool follow each other, and the pool is
// listed once for all of them.
class DevicesOfParts {
 public:
  explicit DevicesOfParts(const inventory::Inventory& inventory) : inventory_(inventory) {}
  const std::vector<inventory::DeviceInfo>& of(const inventory::PoolInfo& part) {
    if (pool_ != part.id) {
      by_node_.clear();
      for (inventory::DeviceInfo& device : inventory_.devices(part.id))
        by_node_[device.node].push_back(std::move(device));
      pool_ = part.id;
    }
    return by_node_[part.node];
  }

 private:
  const inventory::Inventory& inventory_;
  inventory::PoolId pool_ = inventory::kNone;
  std::map<std::string, std::vector<inventory::DeviceInfo>> by_node_;
};

// Whether each device of the slices is a card and belongs to one claim at most: then the inventory's figures say all.
bool each_is_a_card(const std::vector<const api::ResourceSlice*>& slices) {
  return std::all_of(slices.begin(), slices.end(), [](const api::ResourceSlice* slice) {
    return std::all_of(slice->devices.begin(), slice->devices.end(), [](const api::Device& device) {
      return device.consumes_counters.empty() && !device.allow_multiple_allocations;
    });
  });
}

// What is in use under another name is counted there.
CardCounts cards_of_usage(const inventory::Usage& usage) {
  CardCounts cards{usage.total - usage.held_as, usage.used, 0, usage.free, 0};
  cards.bad = cards.total - std::min(cards.total, cards.whole + cards.free);
  return cards;
}

void count_tainted(Bin& bin, const State& state, const std::vector<inventory::DeviceInfo>& devices) {
  for (const inventory::DeviceInfo& device : devices)
    for (const api::DeviceTaint& taint : device.taints)
      if (keeps_claims_away(taint, state.options.ignored_taints)) ++bin.tainted[taint_text(taint)];
}

// Of pools, then of taints.
std::string troubles_text(const Bin& bin) {
  std::vector<std::string> troubles = bin.troubles;
  if (bin.held_as > 0) troubles.push_back(counted(bin.held_as, "device") + " in use under another name");
  if (bin.plugins > 0) troubles.push_back(counted(bin.plugins, "device") + " with the device plugin");
  for (const auto& [taint, count] : bin.tainted) troubles.push_back(counted(count, "device") + " tainted " + taint);
  return join(troubles, "; ");
}

// Counts one entry of Inventory::pools_by_node(), by its slices.
void add_pool(Bin& bin, const State& state, const inventory::PoolInfo& pool,
              const std::vector<const api::ResourceSlice*>& slices, DevicesOfParts& parts, const SharedUse& use) {
  const bool complete = pool.state == inventory::PoolState::kComplete;
  const bool usable = complete && pool.refused.empty();
  if (!complete) bin.troubles.push_back(pool_trouble(pool));
  const inventory::Usage usage = state.inventory.usage(pool, state.options.ignored_taints);
  bin.devices += usage.total;
  bin.held += usage.used;
  bin.held_as += usage.held_as;
  bin.plugins += usage.plugins;
  if (usage.tainted > 0) count_tainted(bin, state, parts.of(pool));
  if (pool.refused.empty() && !pool.refuses_some && each_is_a_card(slices)) {
    bin.cards += cards_of_usage(usage);
    return;
  }
  const std::vector<inventory::DeviceInfo>& devices = parts.of(pool);
  const std::vector<Card> cards = cards_of(slices, devices);
  bin.cards += count_cards(cards, devices, usable, state.options.ignored_taints);
  if (const std::string trouble = pool_refusal(pool, devices); !trouble.empty()) bin.troubles.push_back(trouble);
  if (!usable) return;
  std::map<std::string_view, const inventory::DeviceInfo*> info;
  for (const inventory::DeviceInfo& device : devices) info[device.name.device] = &device;
  bool counters = false;
  for (const Card& card : cards) {
    counters = counters || !card.most.empty();
    add_shared_left(bin, pool, card, info, use);
  }
  if (counters) add_shapes(bin.shapes, free_shapes(slices, devices));
}

// Devices of pools that belong to no node, and that this node can use.
uint32_t shared_with(const Objects& objects, const std::string& node) {
  const auto known = objects.nodes.find(node);
  const api::StringMap none;
  uint32_t count = 0;
  for (const auto& [name, slice] : objects.slices)
    for (const api::Device& device : slice->devices)
      if (slice->node_name.empty() && device.node_name != node &&
          usable_on(*slice, device, node, known == objects.nodes.end() ? none : known->second->metadata.labels))
        ++count;
  return count;
}

std::string why_no_rows(const Objects& objects, const Scope& scope) {
  if (objects.hides("resourceslices")) return "devices are not visible: you may not list resourceslices";
  if (!scope.node.empty()) return "no devices are published for node " + scope.node + " alone";
  if (!scope.labels.match_expressions.empty()) return "no node with these labels has devices of its own";
  return "no devices are published";
}

}  // namespace

Answer top_nodes(State& state, const Scope& scope) {
  const auto slices = slices_by_pool(state.objects);
  const SharedUse use = shared_use_of(state.objects);
  DevicesOfParts devices(state.inventory);
  Bins bins;
  for (const inventory::PoolInfo& pool : state.inventory.pools_by_node()) {
    const auto parts = slices.find({pool.driver, pool.name});
    if (parts == slices.end()) continue;  // holders only
    if (!scope.node.empty() && pool.node != scope.node) continue;
    if (!scope.labels.match_expressions.empty()) {
      const auto node = state.objects.nodes.find(pool.node);
      if (node == state.objects.nodes.end() || !api::matches(scope.labels, node->second->metadata.labels)) continue;
    }
    add_pool(bins[{pool.node.empty() ? kAnyNode : pool.node, pool.driver}], state, pool, slices_of(pool, parts->second),
             devices, use);
  }
  Answer answer{"DRATopNodes"};
  Table table{"",
              "nodes",
              {{"NODE", "node"},
               {"DRIVER", "driver"},
               {"TOTAL", "total"},
               {"WHOLE", "whole"},
               {"CUT", "cut"},
               {"FREE", "free"},
               {"BAD", "bad"},
               {"CAN BE CUT", "canBeCut"},
               {"SHARED LEFT", "sharedLeft"},
               {"NAMES", "names", true},
               {"HELD", "held", true},
               {"TROUBLE", "trouble", true}},
              {}};
  for (auto& [where, bin] : bins) {
    table.rows.push_back(
        {where.first == kAnyNode ? "" : "node/" + where.first,
         {where.first, where.second, bin.cards.total, bin.cards.whole, bin.cards.cut, bin.cards.free,
          bad_cell(bin.cards.bad), some_or_dash(shapes_text(bin.shapes)), some_or_dash(shared_text(bin.shared_left)),
          bin.devices, bin.held, some_or_dash(troubles_text(bin))}});
    for (const std::string& trouble : bin.troubles)
      if (answer.notes.size() < 20) answer.notes.push_back("pool " + trouble);
  }
  if (table.rows.empty())
    answer.say(state.objects.hides("resourceslices") ? "NotVisible" : "NoDevices", why_no_rows(state.objects, scope));
  answer.after = sums_of(bins);
  if (const uint32_t shared = scope.node.empty() ? 0 : shared_with(state.objects, scope.node); shared > 0)
    answer.after.push_back(scope.node + " can use " + counted(shared, "device") +
                           " of pools that belong to no node, too; kubectl dra who " + scope.node +
                           " lists what it has");
  if (devices_are_uncertain(state.objects)) answer.status = Status::kUnknown;
  answer.tables.push_back(std::move(table));
  note_hidden(answer, state.objects);
  return answer;
}

}  // namespace dra::inspect
