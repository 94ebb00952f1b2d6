#include "pkg/inspect/verbs/who.h"

#include <algorithm>
#include <map>
#include <set>

#include "pkg/api/selectors.h"
#include "pkg/base/strings.h"
#include "pkg/inspect/state/shapes.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/inspect/verbs/chain.h"
#include "pkg/inspect/verbs/explain_group.h"
#include "pkg/inspect/verbs/judge.h"
#include "pkg/inspect/verbs/pod_owners.h"
#include "pkg/inspect/verbs/promised.h"
#include "pkg/inspect/verbs/top.h"
#include "pkg/inventory/amount.h"

namespace dra::inspect {
namespace {

bool selects_node(const std::optional<api::NodeSelector>& selector, const std::string& node,
                  const api::StringMap& labels) {
  return selector && api::matches(*selector, node, labels);
}

const Cell kNone{"-", Tone::kDim};

struct ListedDevice {
  const api::ResourceSlice* slice = nullptr;
  const api::Device* device = nullptr;
  inventory::PoolState pool_state = inventory::PoolState::kComplete;
  inventory::DeviceInfo info;
  std::string parent;  // the counter set it draws on
  double share = 0;    // of that set, at most
  PromisedTo promised;
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

// `promises` must outlive the answer.
std::vector<ListedDevice> devices_on(State& state, const std::string& node, const api::StringMap& labels,
                                     const std::vector<Promised>& promises) {
  std::vector<ListedDevice> listed;
  const auto promised = promised_devices(promises);
  for (const auto& [pool, slices] : slices_by_pool(state.objects)) {
    const auto info = state.inventory.pool_on(pool.first, pool.second, node);
    for (const api::ResourceSlice* slice : slices)
      for (const api::Device& device : slice->devices) {
        if (!usable_on(*slice, device, node, labels)) continue;
        ListedDevice one{slice, &device, info ? info->state : inventory::PoolState::kInvalid, {}, "", 0};
        if (const auto owner = promised.find({pool.first, pool.second, device.name}); owner != promised.end())
          one.promised = owner->second;
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

// `hidden`: claims that one may not list could hold it.
Cell state_cell(const ListedDevice& device, bool hidden) {
  if (device.pool_state != inventory::PoolState::kComplete)
    return {"pool " + std::string(inventory::pool_state_name(device.pool_state)), Tone::kBad};
  if (!device.info.holders.empty()) return {device.info.allow_multiple_allocations ? "shared" : "held", Tone::kPlain};
  for (const api::DeviceTaint& taint : device.info.taints)
    if (taint.effect == "NoSchedule" || taint.effect == "NoExecute")
      return {"tainted " + taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect, Tone::kBad};
  if (device.info.held_as) return {"held as " + device.info.held_as->device, Tone::kPlain};
  if (device.info.plugins) return {"device plugin", Tone::kDim};
  if (!device.info.available) return {"cut", Tone::kDim};
  if (device.promised.promise != nullptr) return {"promised", Tone::kPlain};
  if (hidden) return {"no holder visible", Tone::kDim};
  return {"free", Tone::kGood};
}

void add_device_rows(Table& table, const State& state, const std::string& node, const ListedDevice& device,
                     bool partition) {
  const std::string name = (partition ? "  " : "") + device.device->name;
  const auto row = [&](Cell claim, std::vector<std::string> pods, Cell since, Cell share) {
    table.rows.push_back({"device/" + node + "/" + device.device->name,
                          {name, state_cell(device, state.objects.hides("resourceclaims")), std::move(claim),
                           Cell::list(std::move(pods)), std::move(since), device.slice->driver, device.slice->pool.name,
                           std::move(share), node}});
  };
  struct Shown {
    std::string claim_uid, share;
  };
  std::vector<Shown> holders;
  for (const inventory::Holder& holder : device.info.holders)
    holders.push_back({holder.claim_uid, holder.share_id.value_or("-")});
  if (device.info.held_as)
    for (const std::string& uid : device.info.held_as->claims) holders.push_back({uid, "-"});
  if (holders.empty() && device.promised.promise != nullptr && device.info.available)
    return row(kNone, {shown(device.promised)}, kNone, kNone);
  if (holders.empty()) return row(kNone, {}, kNone, kNone);
  for (const Shown& holder : holders) {
    const auto claim = state.objects.claim_by_uid.find(holder.claim_uid);
    if (claim == state.objects.claim_by_uid.end()) {
      row("(not visible)", {}, kNone, holder.share);
      continue;
    }
    const api::ResourceClaim& held = *claim->second;
    // Two claims of one uid exist in forged snapshots only.
    const std::string since = held.status.allocation ? held.status.allocation->allocation_timestamp : "";
    row(held.metadata.key(), consumers_of(state.objects, held),
        age_text(since.empty() ? held.metadata.creation_timestamp : since, state.objects.taken), holder.share);
  }
}

// The state that all partitions of a card have because of the card's own; empty: one of them is of its own kind.
std::string follows_from(const ListedDevice& whole, const std::vector<const ListedDevice*>& parts) {
  if (parts.empty() || whole.share < 1) return "";
  const std::string of_whole = state_cell(whole, false).text;
  const std::string expected = of_whole == "held" ? "cut" : of_whole;
  for (const ListedDevice* part : parts)
    if (!part->info.holders.empty() || state_cell(*part, false).text != expected) return "";
  return of_whole;
}

// A card that is free or held as a whole says with its own row what its partitions are.
void fold_partitions(Table& table, const ListedDevice& whole, size_t partitions, size_t first_row) {
  for (size_t i = first_row; i < table.rows.size(); ++i)
    table.rows[i].cells[0] = Cell(whole.device->name + " (" + counted(partitions, "partition") + ")");
}

template <class T>
std::string did_you_mean(const std::string& word, const ByKey<T>& known) {
  std::vector<std::string> names;
  for (const auto& [name, object] : known) names.push_back(name);
  const std::string near = nearest(word, names);
  return near.empty() ? "" : "; did you mean " + quote(near) + "?";
}

template <class T>
std::string did_you_mean_in(const std::string& ns, const std::string& word, const ByKey<T>& known) {
  ByKey<T> here;
  for (const auto& [key, object] : known)
    if (object->metadata.ns == ns) here[object->metadata.name] = object;
  return did_you_mean(word, here);
}

Table who_table(bool of_nodes) {
  Table table{"",
              "devices",
              {{"DEVICE", "device"},
               {"STATE", "state"},
               {"CLAIM", "claim"},
               {"PODS", "pods"},
               {"SINCE", "since"},
               {"DRIVER", "driver", true},
               {"POOL", "pool", true},
               {"SHARE", "share", true},
               {"NODE", "node", of_nodes}},
              {}};
  return table;
}

// Rows of a node's devices; `wanted`: only this one.
void list_devices(Table& table, const State& state, const std::string& node, const std::vector<ListedDevice>& devices,
                  const std::string& wanted, bool fold) {
  for (size_t i = 0; i < devices.size();) {
    const ListedDevice& whole = devices[i];
    // The first device of a counter set that takes all of it is the parent of the others.
    size_t end = i + 1;
    std::vector<const ListedDevice*> parts;
    while (!whole.parent.empty() && whole.share >= 1 && end < devices.size() && devices[end].parent == whole.parent)
      parts.push_back(&devices[end++]);
    const size_t first_row = table.rows.size();
    const bool folded = fold && wanted.empty() && !follows_from(whole, parts).empty();
    if (wanted.empty() || whole.device->name == wanted) add_device_rows(table, state, node, whole, false);
    if (folded) fold_partitions(table, whole, parts.size(), first_row);
    for (const ListedDevice* part : parts)
      if (!folded && (wanted.empty() || part->device->name == wanted)) add_device_rows(table, state, node, *part, true);
    i = end;
  }
}

Result<Answer> who_is_on(State& state, const std::string& node, const std::string& wanted, bool fold) {
  const auto known = state.objects.nodes.find(node);
  const bool nodes_hidden = state.objects.hides("nodes");
  if (known == state.objects.nodes.end() && !nodes_hidden)
    return fail(Code::kNotFound, "node " + quote(node) + " is not known" + did_you_mean(node, state.objects.nodes));
  const api::StringMap none;
  const std::vector<Promised> promises = promised_pods(state.objects);
  const auto devices =
      devices_on(state, node, known == state.objects.nodes.end() ? none : known->second->metadata.labels, promises);
  Answer answer{"DRAWho"};
  Table table = who_table(true);
  list_devices(table, state, node, devices, wanted, fold);
  if (!wanted.empty() && table.rows.empty() && state.objects.hides("resourceslices"))
    return fail(not_known(state.objects, "resourceslices", "", "device " + quote(wanted) + " of node " + quote(node)));
  if (!wanted.empty() && table.rows.empty()) {
    std::vector<std::string> names;
    for (const ListedDevice& device : devices) names.push_back(device.device->name);
    const std::string near = nearest(wanted, names);
    return fail(Code::kNotFound, "node " + quote(node) + " has no device " + quote(wanted) +
                                     (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
  }
  const bool unseen = state.objects.hides("resourceslices");
  for (const ListedDevice& device : devices)
    if (device.promised.promise != nullptr && !device.info.holders.empty() &&
        (wanted.empty() || device.device->name == wanted))
      answer.say_after(
          {"DevicePromised",
           device.device->name + " is promised to " + in_words(device.promised) + ", once those who hold it have gone",
           ref_of(*device.promised.promise->pod),
           "",
           {},
           {{"devices", {device.device->name}}}});
  if (table.rows.empty())
    answer.say(
        {unseen ? "NotVisible" : "NoDevices",
         unseen ? "devices are not visible: you may not list resourceslices" : "no device can be used on node " + node,
         {"Node", "", node}});
  if (unseen || state.objects.hides("resourceclaims")) answer.status = Status::kUnknown;
  answer.tables.push_back(std::move(table));
  return answer;
}

// The devices that a claim holds, with everybody else who holds them.
void list_claim(Table& table, State& state, const api::ResourceClaim& claim) {
  if (!claim.status.allocation) return;
  for (const auto& result : claim.status.allocation->results) {
    const std::string node = node_of(claim);
    const auto info = state.inventory.device_on({result.driver, result.pool, result.device}, node);
    const std::string& since = claim.status.allocation->allocation_timestamp;
    Cell held = !info && state.objects.hides("resourceslices") ? Cell("(not visible)")
                : !info                                        ? Cell("not published", Tone::kBad)
                : info->allow_multiple_allocations             ? Cell("shared")
                                                               : Cell("held");
    table.rows.push_back(
        {"device/" + (node.empty() ? result.pool : node) + "/" + result.device,
         {result.device, std::move(held), claim.metadata.key(), Cell::list(consumers_of(state.objects, claim)),
          age_text(since.empty() ? claim.metadata.creation_timestamp : since, state.objects.taken), result.driver,
          result.pool, result.share_id.value_or("-"), node.empty() ? "-" : node}});
  }
}

// `kind` as owner_kind() gives it.
Result<Answer> what_has(State& state, const std::string& kind, const std::string& name, const std::string& ns) {
  std::vector<Claim> claims;
  std::vector<const api::Pod*> pods;
  if (kind == "claim") {
    const auto claim = state.objects.claims.find(ns + "/" + name);
    if (claim == state.objects.claims.end())
      return fail(not_known(state.objects, "resourceclaims", ns, "claim " + quote(name),
                            did_you_mean_in(ns, name, state.objects.claims)));
    claims.push_back(claim->second);
  } else if (kind == "pod") {
    const auto pod = state.objects.pods.find(ns + "/" + name);
    if (pod == state.objects.pods.end())
      return fail(
          not_known(state.objects, "pods", ns, "pod " + quote(name), did_you_mean_in(ns, name, state.objects.pods)));
    pods.push_back(pod->second.get());
  } else {
    pods =
        kind == "podgroup" ? pods_of_pod_group(state.objects, ns, name) : pods_of_owner(state.objects, ns, kind, name);
    if (pods.empty()) return fail(why_no_owner(state.objects, ns, kind, name));
  }
  std::set<std::string> listed;
  size_t hidden = 0;
  for (const api::Pod* pod : pods) {
    const Chain chain = chain_of(state, *pod);
    hidden += chain.hidden;
    for (const Claim& claim : chain.claims)
      if (listed.insert(claim->metadata.key()).second) claims.push_back(claim);
    if (!pod->extended_resource_claim_status) continue;
    // The claim for its extended resources, which its spec does not name.
    const std::string key = pod->metadata.ns + "/" + pod->extended_resource_claim_status->resource_claim_name;
    const auto extended = state.objects.claims.find(key);
    if (extended != state.objects.claims.end() && listed.insert(key).second) claims.push_back(extended->second);
  }
  Answer answer{"DRAWho"};
  Table table = who_table(false);
  for (const Claim& claim : claims) list_claim(table, state, *claim);
  for (const api::Pod* pod : pods) say_promise(answer, state.objects, *pod);
  if (table.rows.empty()) {
    answer.say(hidden > 0 ? "NotVisible" : "HoldsNothing",
               kind + " " + ns + "/" + name +
                   (hidden > 0 ? ": its claims are not visible: you may not list resourceclaims"
                               : " holds no device; kubectl dra explain " + kind + "/" + name + " says why"));
    answer.status = hidden > 0 ? Status::kUnknown : Status::kNo;
  }
  answer.tables.push_back(std::move(table));
  return answer;
}

}  // namespace

bool usable_on(const api::ResourceSlice& slice, const api::Device& device, const std::string& node,
               const api::StringMap& labels) {
  if (slice.per_device_node_selection)
    return device.node_name == node || device.all_nodes || selects_node(device.node_selector, node, labels);
  return slice.node_name == node || slice.all_nodes || selects_node(slice.node_selector, node, labels);
}

Result<Answer> who(State& state, const std::string& target, const WhoOptions& options) {
  const size_t slash = target.find('/');
  const std::string first = target.substr(0, slash);
  const std::string rest = slash == std::string::npos ? "" : target.substr(slash + 1);
  // "node/NAME", as kubectl says it, is NAME. A node may be called "node", or "pod".
  const bool of_kind_node = first == "node" || first == "nodes" || first == "no";
  if (of_kind_node && !rest.empty() && !state.objects.nodes.contains(first)) return who(state, rest, options);
  const bool is_node = rest.empty() || state.objects.nodes.contains(first) || !names_a_kind(state.objects, first);
  auto answer =
      is_node ? who_is_on(state, first, rest, options.fold) : what_has(state, owner_kind(first), rest, options.ns);
  if (!answer) return answer;
  for (std::string& note : hidden_notes(state.objects)) answer->notes.push_back(std::move(note));
  return answer;
}

}  // namespace dra::inspect
