#include "pkg/inspect/verbs/top.h"

#include <algorithm>
#include <map>

#include "pkg/api/selectors.h"
#include "pkg/inspect/state/shapes.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/inventory/amount.h"

namespace dra::inspect {
namespace {

constexpr uint64_t kLargestSteps = 200'000;  // for each count that is tried
constexpr const char* kAnyNode = "<shared>";

struct Bin {
  inventory::Usage usage;
  uint32_t bad = 0;
  std::vector<FreeShape> shapes;
  std::map<std::string, inventory::Amount> shared_left;
  std::vector<std::string> troubles;  // of pools
};

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

// `node`: of the part of the pool that is counted.
void add_shared_left(Bin& bin, const api::ResourceSlice& slice, const std::string& node, const SharedUse& use) {
  for (const api::Device& device : slice.devices) {
    if (!device.allow_multiple_allocations || (slice.per_device_node_selection && device.node_name != node)) continue;
    const auto used = use.find({slice.driver, slice.pool.name, device.name});
    for (const auto& [name, capacity] : device.capacity) {
      inventory::Amount left = amount_in(capacity.value);
      if (used != use.end())
        if (const auto taken = used->second.find(name); taken != used->second.end()) left -= taken->second;
      bin.shared_left[name] += std::max<inventory::Amount>(left, 0);
    }
  }
}

// Whole amounts with a binary suffix where that is exact and short: "40Gi".
std::string amount_for_people(inventory::Amount amount) {
  static constexpr const char* kSuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  size_t suffix = 0;
  inventory::Amount whole = amount / inventory::kNanosPerUnit;
  if (whole * inventory::kNanosPerUnit != amount) return inventory::amount_text(amount);
  while (suffix + 1 < std::size(kSuffixes) && whole != 0 && whole % 1024 == 0) {
    whole /= 1024;
    ++suffix;
  }
  return inventory::amount_text(whole * inventory::kNanosPerUnit) + kSuffixes[suffix];
}

std::string shared_text(const std::map<std::string, inventory::Amount>& left) {
  std::string text;
  for (const auto& [name, amount] : left) text += (text.empty() ? "" : ", ") + name + " " + amount_for_people(amount);
  return text;
}

std::string pool_trouble(const inventory::PoolInfo& pool) {
  return pool.name + " is " + std::string(inventory::pool_state_name(pool.state)) + ": " + pool.reason;
}

// What a field that is not known takes away: all devices of a pool, or some.
struct RefusedDevices {
  uint32_t count = 0;  // without those that are tainted
  std::string trouble;
};
RefusedDevices refused_of(const inventory::PoolInfo& pool, const std::vector<inventory::DeviceInfo>& devices) {
  RefusedDevices out;
  size_t refused = 0;
  std::string why = pool.refused;
  for (const inventory::DeviceInfo& device : devices) {
    if (device.refused.empty()) continue;
    ++refused;
    if (device.taints.empty()) ++out.count;
    if (why.empty()) why = device.refused;
  }
  if (!pool.refused.empty())
    out.trouble = pool.name + " is refused: " + why;
  else if (refused > 0)
    out.trouble = pool.name + " has " + counted(refused, "refused device") + ": " + why;
  return out;
}

// The slices of an entry of Inventory::pools_by_node(): those of its node, and all with counters.
std::vector<const api::ResourceSlice*> slices_of(const inventory::PoolInfo& part,
                                                 std::vector<const api::ResourceSlice*> slices) {
  std::erase_if(slices, [&](const api::ResourceSlice* slice) {
    return slice->shared_counters.empty() && !slice->node_name.empty() && slice->node_name != part.node;
  });
  return slices;
}

std::vector<inventory::DeviceInfo> devices_of(const State& state, const inventory::PoolInfo& part) {
  std::vector<inventory::DeviceInfo> devices = state.inventory.devices(part.id);
  std::erase_if(devices, [&](const inventory::DeviceInfo& device) { return device.node != part.node; });
  return devices;
}

Cell some_or_dash(std::string text) {
  return text.empty() ? Cell("-", Tone::kDim) : Cell(std::move(text));
}

Tone tone_of_bad(uint32_t bad) {
  return bad > 0 ? Tone::kBad : Tone::kPlain;
}
Cell bad_cell(uint32_t bad) {
  Cell cell(bad);
  cell.tone = tone_of_bad(bad);
  return cell;
}

// Held devices may seem free, or some are not seen at all.
bool devices_are_uncertain(const Objects& objects) {
  return objects.hides("resourceslices") || objects.hides("resourceclaims");
}

void note_hidden(Answer& answer, const Objects& objects) {
  for (std::string& note : hidden_notes(objects, "; figures leave them out")) answer.notes.push_back(std::move(note));
}

}  // namespace

Answer top_nodes(State& state, const Scope& scope) {
  const auto slices = slices_by_pool(state.objects);
  const SharedUse use = shared_use_of(state.objects);
  std::map<std::pair<std::string, std::string>, Bin> bins;  // by node and driver
  for (const inventory::PoolInfo& pool : state.inventory.pools_by_node()) {
    const auto parts = slices.find({pool.driver, pool.name});
    if (parts == slices.end()) continue;  // holders only
    const std::vector<const api::ResourceSlice*> here = slices_of(pool, parts->second);
    if (!scope.labels.match_expressions.empty()) {
      const auto node = state.objects.nodes.find(pool.node);
      if (node == state.objects.nodes.end() || !api::matches(scope.labels, node->second->metadata.labels)) continue;
    }
    Bin& bin = bins[{pool.node.empty() ? kAnyNode : pool.node, pool.driver}];
    const inventory::Usage usage = state.inventory.usage(pool, state.options.ignored_taints);
    bin.usage += usage;
    const bool complete = pool.state == inventory::PoolState::kComplete;
    RefusedDevices refused;
    if (!pool.refused.empty() || pool.refuses_some) refused = refused_of(pool, devices_of(state, pool));
    bin.bad += complete && pool.refused.empty() ? usage.tainted + refused.count : usage.total;
    if (!complete) bin.troubles.push_back(pool_trouble(pool));
    if (!refused.trouble.empty()) bin.troubles.push_back(refused.trouble);
    bool counters = false, shared = false;
    for (const api::ResourceSlice* slice : here)
      for (const api::Device& device : slice->devices) {
        counters = counters || !device.consumes_counters.empty();
        shared = shared || device.allow_multiple_allocations;
      }
    if (!complete || !pool.refused.empty()) continue;
    if (counters) add_shapes(bin.shapes, free_shapes(here, devices_of(state, pool)));
    if (shared)
      for (const api::ResourceSlice* slice : here) add_shared_left(bin, *slice, pool.node, use);
  }
  Answer answer{"DRATopNodes"};
  Table table{"",
              "nodes",
              {{"NODE", "node"},
               {"DRIVER", "driver"},
               {"TOTAL", "total"},
               {"USED", "used"},
               {"FREE", "free"},
               {"BAD", "bad"},
               {"CAN BE CUT", "canBeCut"},
               {"SHARED LEFT", "sharedLeft"},
               {"TROUBLE", "trouble", true}},
              {}};
  for (auto& [where, bin] : bins) {
    table.rows.push_back({where.first == kAnyNode ? "" : "node/" + where.first,
                          {where.first, where.second, bin.usage.total, bin.usage.used, bin.usage.free,
                           bad_cell(bin.bad), some_or_dash(shapes_text(bin.shapes)),
                           some_or_dash(shared_text(bin.shared_left)), some_or_dash(join(bin.troubles, "; "))}});
    for (const std::string& trouble : bin.troubles)
      if (answer.notes.size() < 20) answer.notes.push_back("pool " + trouble);
  }
  if (table.rows.empty())
    answer.lines.push_back(state.objects.hides("resourceslices")
                               ? "devices are not visible: you may not list resourceslices"
                               : "no devices are published");
  if (devices_are_uncertain(state.objects)) answer.status = Status::kUnknown;
  answer.tables.push_back(std::move(table));
  note_hidden(answer, state.objects);
  return answer;
}

LargestRequest largest_request(State& state, const std::string& device_class) {
  LargestRequest largest;
  const std::vector<inventory::NodeId> nodes = state.inventory.nodes();
  const auto fits = [&](uint32_t count) {
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.name = "largest";
    claim->metadata.uid = "largest-" + device_class + "-" + std::to_string(count);
    api::DeviceRequest request;
    request.name = "r";
    request.exactly.emplace();
    request.exactly->device_class_name = device_class;
    request.exactly->count = count;
    claim->spec.requests.push_back(std::move(request));
    const auto found = state.allocator().find_nodes({{std::move(claim)}, false, kLargestSteps}, nodes, 1);
    if (found.outcome == allocator::Outcome::kBudgetSpent) largest.exact = false;
    if (found.decisions.empty()) return false;
    largest.count = count;
    largest.node = state.inventory.node_name(found.decisions.front().node);
    return true;
  };
  uint32_t most = 1;
  while (most <= api::kMaxAllocationResults && fits(most)) most *= 2;
  uint32_t low = largest.count, high = std::min<uint32_t>(most, api::kMaxAllocationResults + 1);
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return largest;
}

Answer top_classes(State& state) {
  Answer answer{"DRATopClasses"};
  Table table{"",
              "classes",
              {{"CLASS", "class"},
               {"TOTAL", "total"},
               {"USED", "used"},
               {"FREE", "free"},
               {"BAD", "bad"},
               {"LARGEST", "largestRequest"},
               {"ON NODE", "onNode"}},
              {}};
  for (const auto& [name, device_class] : state.objects.classes) {
    uint64_t budget = UINT64_MAX;
    const auto usage = state.allocator().class_usage(name, budget);
    if (!usage) {
      table.rows.push_back({"deviceclass/" + name,
                            {name, "-", "-", "-", "-", "-", Cell("a selector of it cannot be evaluated", Tone::kBad)}});
      answer.status = Status::kNo;
      continue;
    }
    const LargestRequest largest = largest_request(state, name);
    table.rows.push_back({"deviceclass/" + name,
                          {name, usage->total, usage->used, usage->free, bad_cell(usage->tainted),
                           largest.exact ? Cell(largest.count) : Cell(">=" + std::to_string(largest.count)),
                           some_or_dash(largest.node)}});
  }
  const bool hidden = state.objects.hides("deviceclasses");
  if (table.rows.empty())
    answer.lines.push_back(hidden ? "device classes are not visible: you may not list deviceclasses"
                                  : "there are no device classes");
  answer.tables.push_back(std::move(table));
  if (hidden || devices_are_uncertain(state.objects)) answer.status = Status::kUnknown;
  note_hidden(answer, state.objects);
  return answer;
}

std::string node_of(const api::ResourceClaim& claim) {
  const std::string* node = claim.status.allocation ? api::only_node(*claim.status.allocation) : nullptr;
  return node ? *node : "";
}

Answer top_claims(const State& state, const Scope& scope) {
  Answer answer{"DRATopClaims"};
  Table table{"",
              "claims",
              {{"NAMESPACE", "namespace"},
               {"CLAIM", "claim"},
               {"STATE", "state"},
               {"DEVICES", "devices"},
               {"NODE", "node"},
               {"PODS", "pods"},
               {"AGE", "age"},
               {"HOLDS", "holds", true}},
              {}};
  for (const auto& [key, claim] : state.objects.claims) {
    if (!scope.ns.empty() && claim->metadata.ns != scope.ns) continue;
    if (!scope.labels.match_expressions.empty() && !api::matches(scope.labels, claim->metadata.labels)) continue;
    std::vector<std::string> devices;
    if (claim->status.allocation)
      for (const auto& result : claim->status.allocation->results)
        devices.push_back(result.driver + "/" + result.pool + "/" + result.device);
    const bool held = claim->status.allocation.has_value();
    Cell what = claim->metadata.deleting()           ? Cell("deleting", Tone::kWarn)
                : !held                              ? Cell("pending", Tone::kWarn)
                : claim->status.reserved_for.empty() ? Cell("allocated", Tone::kPlain)
                                                     : Cell("reserved", Tone::kGood);
    table.rows.push_back(
        {"resourceclaim/" + claim->metadata.name,
         {claim->metadata.ns, claim->metadata.name, std::move(what), static_cast<uint64_t>(devices.size()),
          some_or_dash(node_of(*claim)), some_or_dash(join(consumers_of(state.objects, *claim), ",")),
          age_text(claim->metadata.creation_timestamp, state.objects.taken), join(devices, " ")}});
  }
  if (table.rows.empty()) answer.lines.push_back("there are no claims here");
  answer.tables.push_back(std::move(table));
  note_hidden(answer, state.objects);
  return answer;
}

Answer top_namespaces(const State& state, const Scope& scope) {
  struct Sum {
    uint32_t claims = 0, allocated = 0, devices = 0, waiting = 0;
  };
  std::map<std::string, Sum> sums;
  for (const auto& [key, claim] : state.objects.claims) {
    Sum& sum = sums[claim->metadata.ns];
    ++sum.claims;
    if (!claim->status.allocation) continue;
    ++sum.allocated;
    sum.devices += static_cast<uint32_t>(claim->status.allocation->results.size());
  }
  for (const auto& [key, pod] : state.objects.pods)
    if (!pod->resource_claims.empty() && pod->node_name.empty() && !pod->terminal()) ++sums[pod->metadata.ns].waiting;
  Answer answer{"DRATopNamespaces"};
  Table table{"",
              "namespaces",
              {{"NAMESPACE", "namespace"},
               {"CLAIMS", "claims"},
               {"ALLOCATED", "allocated"},
               {"DEVICES", "devices"},
               {"WAITING PODS", "waitingPods"}},
              {}};
  for (const auto& [name, sum] : sums) {
    if (!scope.ns.empty() && name != scope.ns) continue;
    if (!scope.labels.match_expressions.empty()) {
      const auto ns = state.objects.namespaces.find(name);
      if (ns == state.objects.namespaces.end() || !api::matches(scope.labels, ns->second->metadata.labels)) continue;
    }
    table.rows.push_back({"namespace/" + name, {name, sum.claims, sum.allocated, sum.devices, sum.waiting}});
  }
  if (table.rows.empty()) answer.lines.push_back("there are no claims, and no pods that wait for any");
  answer.tables.push_back(std::move(table));
  note_hidden(answer, state.objects);
  return answer;
}

}  // namespace dra::inspect
