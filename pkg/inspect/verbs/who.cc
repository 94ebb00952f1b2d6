#include "pkg/inspect/verbs/who.h"

#include <algorithm>
#include <map>

#include "pkg/api/selectors.h"
#include "pkg/inspect/state/shapes.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/inspect/verbs/top.h"
#include "pkg/inventory/amount.h"

namespace dra::inspect {
namespace {

bool selects_node(const std::optional<api::NodeSelector>& selector, const std::string& node,
                  const api::StringMap& labels) {
  return selector && api::matches(*selector, node, labels);
}

bool usable_on(const api::ResourceSlice& slice, const api::Device& device, const std::string& node,
               const api::StringMap& labels) {
  if (slice.per_device_node_selection)
    return device.node_name == node || device.all_nodes || selects_node(device.node_selector, node, labels);
  return slice.node_name == node || slice.all_nodes || selects_node(slice.node_selector, node, labels);
}

struct ListedDevice {
  const api::ResourceSlice* slice = nullptr;
  const api::Device* device = nullptr;
  inventory::PoolState pool_state = inventory::PoolState::kComplete;
  inventory::DeviceInfo info;
  std::string parent;  // the counter set it draws on
  double share = 0;    // of that set, at most
};

// How much of the counter set the device takes: the largest fraction over its counters.
double share_of(const api::ResourceSlice& slice, const api::DeviceCounterConsumption& use,
                const std::vector<const api::ResourceSlice*>& slices) {
  (void)slice;
  double most = 0;
  for (const api::ResourceSlice* other : slices)
    for (const api::CounterSet& set : other->shared_counters) {
      if (set.name != use.counter_set) continue;
      for (const auto& [name, text] : use.counters) {
        const auto total = set.counters.find(name);
        const auto amount = api::Quantity::parse(text);
        if (total == set.counters.end() || !amount) continue;
        const auto whole = api::Quantity::parse(total->second);
        if (whole && whole->approximate() > 0) most = std::max(most, amount->approximate() / whole->approximate());
      }
    }
  return most;
}

std::vector<ListedDevice> devices_on(State& state, const std::string& node, const api::StringMap& labels) {
  std::vector<ListedDevice> listed;
  for (const auto& [pool, slices] : slices_by_pool(state.objects)) {
    const auto info = state.inventory.pool_on(pool.first, pool.second, node);
    for (const api::ResourceSlice* slice : slices)
      for (const api::Device& device : slice->devices) {
        if (!usable_on(*slice, device, node, labels)) continue;
        ListedDevice one{slice, &device, info ? info->state : inventory::PoolState::kInvalid, {}, "", 0};
        if (auto known = state.inventory.device_on({pool.first, pool.second, device.name}, node))
          one.info = std::move(*known);
        if (!device.consumes_counters.empty()) {
          one.parent = pool.first + "/" + pool.second + "/" + device.consumes_counters.front().counter_set;
          one.share = share_of(*slice, device.consumes_counters.front(), slices);
        }
        listed.push_back(std::move(one));
      }
  }
  // Partitions after the largest device of their counter set; the rest in the inventory's order.
  std::map<std::string, size_t> first_of_set;
  std::vector<std::pair<size_t, ListedDevice>> keyed;
  for (size_t i = 0; i < listed.size(); ++i) {
    const size_t key = listed[i].parent.empty() ? i : first_of_set.try_emplace(listed[i].parent, i).first->second;
    keyed.emplace_back(key, std::move(listed[i]));
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second.share > b.second.share;
  });
  for (size_t i = 0; i < keyed.size(); ++i) listed[i] = std::move(keyed[i].second);
  return listed;
}

Cell state_cell(const ListedDevice& device) {
  if (device.pool_state != inventory::PoolState::kComplete)
    return {"pool " + std::string(inventory::pool_state_name(device.pool_state)), Tone::kBad};
  if (!device.info.holders.empty()) return {device.info.allow_multiple_allocations ? "shared" : "held", Tone::kPlain};
  for (const api::DeviceTaint& taint : device.info.taints)
    if (taint.effect == "NoSchedule" || taint.effect == "NoExecute")
      return {"tainted " + taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect, Tone::kBad};
  if (!device.info.available) return {"cut", Tone::kDim};
  return {"free", Tone::kGood};
}

void add_device_rows(Table& table, const State& state, const std::string& node, const ListedDevice& device,
                     bool partition) {
  const std::string name = (partition ? "  " : "") + device.device->name;
  const auto row = [&](std::string claim, std::string pods, std::string since, std::string share) {
    table.rows.push_back({"device/" + node + "/" + device.device->name,
                          {name, state_cell(device), std::move(claim), std::move(pods), std::move(since),
                           device.slice->driver, device.slice->pool.name, std::move(share)}});
  };
  if (device.info.holders.empty()) return row("-", "-", "-", "-");
  for (const inventory::Holder& holder : device.info.holders) {
    const auto claim = state.objects.claim_by_uid.find(holder.claim_uid);
    if (claim == state.objects.claim_by_uid.end()) {
      row("(not visible)", "-", "-", holder.share_id.value_or("-"));
      continue;
    }
    const api::ResourceClaim& held = *claim->second;
    const std::vector<std::string> pods = consumers_of(state.objects, held);
    // Two claims of one uid exist in forged snapshots only.
    const std::string since = held.status.allocation ? held.status.allocation->allocation_timestamp : "";
    row(held.metadata.key(), pods.empty() ? "-" : join(pods, ","),
        age_text(since.empty() ? held.metadata.creation_timestamp : since, state.objects.taken),
        holder.share_id.value_or("-"));
  }
}

template <class T>
std::string did_you_mean(const std::string& word, const ByKey<T>& known) {
  std::vector<std::string> names;
  for (const auto& [name, object] : known) names.push_back(name);
  const std::string near = nearest(word, names);
  return near.empty() ? "" : "; did you mean " + quote(near) + "?";
}

}  // namespace

Result<Answer> who(State& state, const std::string& target) {
  const size_t slash = target.find('/');
  const std::string node = target.substr(0, slash);
  const std::string wanted = slash == std::string::npos ? "" : target.substr(slash + 1);
  const auto known = state.objects.nodes.find(node);
  const bool nodes_hidden = state.objects.hides("nodes");
  if (known == state.objects.nodes.end() && !nodes_hidden)
    return fail(Code::kNotFound, "node " + quote(node) + " is not known" + did_you_mean(node, state.objects.nodes));
  const api::StringMap none;
  const auto devices =
      devices_on(state, node, known == state.objects.nodes.end() ? none : known->second->metadata.labels);
  Answer answer{"DRAWho"};
  Table table{"",
              "devices",
              {{"DEVICE", "device"},
               {"STATE", "state"},
               {"CLAIM", "claim"},
               {"PODS", "pods"},
               {"SINCE", "since"},
               {"DRIVER", "driver", true},
               {"POOL", "pool", true},
               {"SHARE", "share", true}},
              {}};
  std::string parent;
  std::vector<std::string> names;
  for (const ListedDevice& device : devices) {
    names.push_back(device.device->name);
    // The first device of a counter set that takes all of it is the parent of the others.
    const bool partition = !device.parent.empty() && device.parent == parent;
    if (!device.parent.empty() && device.share >= 1) parent = device.parent;
    if (wanted.empty() || device.device->name == wanted) add_device_rows(table, state, node, device, partition);
  }
  if (!wanted.empty() && table.rows.empty() && state.objects.hides("resourceslices"))
    return fail(not_known(state.objects, "resourceslices", "", "device " + quote(wanted) + " of node " + quote(node)));
  if (!wanted.empty() && table.rows.empty()) {
    const std::string near = nearest(wanted, names);
    return fail(Code::kNotFound, "node " + quote(node) + " has no device " + quote(wanted) +
                                     (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
  }
  const bool unseen = state.objects.hides("resourceslices");
  if (table.rows.empty())
    answer.lines.push_back(unseen ? "devices are not visible: you may not list resourceslices"
                                  : "no device can be used on node " + node);
  if (unseen || state.objects.hides("resourceclaims")) answer.status = Status::kUnknown;
  answer.tables.push_back(std::move(table));
  for (std::string& note : hidden_notes(state.objects)) answer.notes.push_back(std::move(note));
  return answer;
}

}  // namespace dra::inspect
