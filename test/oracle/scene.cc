#include "test/oracle/scene.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace dra::oracle {
namespace {

using PoolKey = std::pair<std::string, std::string>;  // driver, pool

std::optional<int64_t> decimal(const std::string& text) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoll(text);
}

// `value` is nullptr if the node has no such label.
bool requirement_holds(const api::NodeSelectorRequirement& r, const std::string* value) {
  const bool listed = value && std::find(r.values.begin(), r.values.end(), *value) != r.values.end();
  if (r.op == "In") return listed;
  if (r.op == "NotIn") return !listed;
  if (r.op == "Exists") return value != nullptr;
  if (r.op == "DoesNotExist") return value == nullptr;
  if (r.op != "Gt" && r.op != "Lt") return false;
  if (!value || r.values.size() != 1) return false;
  const std::optional<int64_t> have = decimal(*value), bound = decimal(r.values[0]);
  return have && bound && (r.op == "Gt" ? *have > *bound : *have < *bound);
}

bool term_matches(const api::NodeSelectorTerm& term, const api::Node& node) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  for (const auto& r : term.match_expressions) {
    auto label = node.metadata.labels.find(r.key);
    if (!requirement_holds(r, label == node.metadata.labels.end() ? nullptr : &label->second)) return false;
  }
  for (const auto& r : term.match_fields)
    if (r.key != "metadata.name" || !requirement_holds(r, &node.metadata.name)) return false;
  return true;
}

bool selection_matches(const std::string& node_name, const std::optional<api::NodeSelector>& selector, bool all_nodes,
                       const api::Node& node) {
  if (!node_name.empty()) return node_name == node.metadata.name;
  if (selector) return node_matches(*selector, node);
  return all_nodes;
}

bool uses_partitions(const api::ResourceSlice& slice) {
  return !slice.shared_counters.empty() || slice.per_device_node_selection;
}

bool device_on_node(const api::ResourceSlice& slice, const api::Device& device, const api::Node& node) {
  if (slice.per_device_node_selection)
    return selection_matches(device.node_name, device.node_selector, device.all_nodes, node);
  return selection_matches(slice.node_name, slice.node_selector, slice.all_nodes, node);
}

// Whether the slice is relevant to the node: counters always are.
bool slice_relevant(const World& world, const api::ResourceSlice& slice, const api::Node& node) {
  if (uses_partitions(slice) && !world.on("DRAPartitionableDevices")) return false;
  if (!slice.shared_counters.empty()) return true;
  if (!slice.per_device_node_selection)
    return selection_matches(slice.node_name, slice.node_selector, slice.all_nodes, node);
  for (const api::Device& device : slice.devices)
    if (device_on_node(slice, device, node)) return true;
  return false;
}

// Duplicate device or counter set names among the slices that matter to the node, or a device that draws on an
// undeclared counter, also on other nodes if their slices are needed to make the pool whole. Counters are ignored
// without their gate.
bool pool_invalid(const World& world, const std::vector<const api::ResourceSlice*>& relevant,
                  const std::vector<const api::ResourceSlice*>& slices) {
  std::set<std::string> device_names, set_names;
  std::set<CounterKey> counters;
  const bool partitions = world.on("DRAPartitionableDevices");
  for (const api::ResourceSlice* slice : slices)
    for (const api::CounterSet& set : slice->shared_counters) {
      if (!partitions) break;
      if (!set_names.insert(set.name).second) return true;
      for (const auto& [counter, value] : set.counters) counters.insert({set.name, counter});
    }
  for (const api::ResourceSlice* slice : relevant)
    for (const api::Device& device : slice->devices)
      if (!device_names.insert(device.name).second) return true;
  for (const api::ResourceSlice* slice : slices)
    for (const api::Device& device : slice->devices) {
      for (const auto& consumption : device.consumes_counters) {
        if (!partitions) break;
        if (!set_names.count(consumption.counter_set)) return true;
        for (const auto& [counter, value] : consumption.counters)
          if (!counters.count({consumption.counter_set, counter})) return true;
      }
    }
  return false;
}

// Without its gate a slice with compatibility groups is not seen, so its pool is incomplete.
bool is_hidden(const World& world, const api::ResourceSlice& slice) {
  if (world.on("DRADeviceCompatibilityGroups")) return false;
  for (const api::Device& device : slice.devices)
    for (const auto& consumption : device.consumes_counters)
      if (!consumption.compatibility_groups.empty()) return true;
  return false;
}

bool has_binding_conditions(const api::Device& device) {
  return !device.binding_conditions.empty() || !device.binding_failure_conditions.empty();
}

bool has_shares(const World& world, const DeviceName& name) {
  if (world.consumed.count(name)) return true;
  auto share = world.allocated_shares.lower_bound({name, ""});
  return share != world.allocated_shares.end() && share->first == name;
}

// Deducts the current holders' consumption from the pool's counters; a shared device pays once however many hold it.
void charge_holders(const World& world, const std::vector<const api::ResourceSlice*>& slices, ScenePool& pool) {
  for (const api::ResourceSlice* slice : slices)
    for (const api::CounterSet& set : slice->shared_counters)
      for (const auto& [counter, value] : set.counters)
        pool.counters[{set.name, counter}] = parse_amount(value).value_or(0);
  for (const api::ResourceSlice* slice : slices)
    for (const api::Device& device : slice->devices) {
      const DeviceName name{pool.driver, pool.name, device.name};
      if (!world.allocated.count(name) && !has_shares(world, name)) continue;
      for (const auto& consumption : device.consumes_counters) {
        for (const auto& [counter, value] : consumption.counters)
          pool.counters[{consumption.counter_set, counter}] -= parse_amount(value).value_or(0);
        pool.groups_in_use[consumption.counter_set].emplace_back(consumption.compatibility_groups.begin(),
                                                                 consumption.compatibility_groups.end());
      }
    }
}

// A capacity of the driver's own domain has two names; holders count whichever they have.
std::string published_name(const std::string& driver, const api::Device& device, const std::string& capacity) {
  const std::string prefix = driver + "/";
  const std::string other = capacity.starts_with(prefix) ? capacity.substr(prefix.size()) : prefix + capacity;
  return !device.capacity.count(capacity) && device.capacity.count(other) ? other : capacity;
}

SceneDevice make_device(const World& world, size_t pool, const api::ResourceSlice& slice, const api::Device& device) {
  SceneDevice out;
  out.name = {slice.driver, slice.pool.name, device.name};
  out.pool = pool;
  out.slice = &slice;
  out.device = &device;
  out.shared = device.allow_multiple_allocations && world.on("DRAConsumableCapacity");
  out.shares_held = has_shares(world, out.name);
  // A share of a device that can no longer be shared holds all of it.
  out.held = world.allocated.count(out.name) > 0 || (!out.shared && out.shares_held);
  if (auto consumed = world.consumed.find(out.name); consumed != world.consumed.end())
    for (const auto& [capacity, amount] : consumed->second)
      out.consumed[published_name(slice.driver, device, capacity)] = parse_amount(amount).value_or(0);
  return out;
}

// One pool: which slices are current, whether it is usable, its counters and its devices for this node.
void add_pool(Scene& scene, const PoolKey& key, std::vector<const api::ResourceSlice*> slices) {
  const World& world = *scene.world;
  std::sort(slices.begin(), slices.end(), [](const api::ResourceSlice* a, const api::ResourceSlice* b) {
    return a->metadata.name < b->metadata.name;
  });
  auto of_generation = [](std::vector<const api::ResourceSlice*> from, int64_t generation) {
    std::erase_if(from, [&](const api::ResourceSlice* slice) { return slice->pool.generation != generation; });
    return from;
  };
  std::vector<const api::ResourceSlice*> relevant;
  int64_t newest_relevant = -1, newest = -1;
  for (const api::ResourceSlice* slice : slices) {
    newest = std::max(newest, slice->pool.generation);
    if (!slice_relevant(world, *slice, *scene.node)) continue;
    newest_relevant = std::max(newest_relevant, slice->pool.generation);
    relevant.push_back(slice);
  }
  if (relevant.empty()) return;
  relevant = of_generation(relevant, newest_relevant);
  // Counters are relevant everywhere, but a pool that shows a node only counters has no devices for it. (In 1.36 such a
  // pool, while it is being updated, blocks requests for All on every node of the cluster.)
  if (std::none_of(relevant.begin(), relevant.end(),
                   [](const api::ResourceSlice* slice) { return slice->shared_counters.empty(); }))
    return;
  // The slices for this node may be the whole pool. Otherwise the other slices must be checked, and a generation on
  // other nodes may have replaced those here.
  const int64_t announced = relevant.front()->pool.resource_slice_count;
  const bool whole_pool_here = static_cast<int64_t>(relevant.size()) == announced;
  if (newest_relevant < newest && !(whole_pool_here && world.stale_generations)) return;
  slices = of_generation(slices, newest_relevant);
  ScenePool pool;
  pool.driver = key.first;
  pool.name = key.second;
  pool.incomplete = !whole_pool_here && static_cast<int64_t>(slices.size()) != announced;
  const std::vector<const api::ResourceSlice*>& whole = whole_pool_here ? relevant : slices;
  pool.incomplete = pool.incomplete || std::any_of(whole.begin(), whole.end(), [&](const api::ResourceSlice* slice) {
                      return is_hidden(world, *slice);
                    });
  pool.invalid = !pool.incomplete && pool_invalid(world, relevant, whole_pool_here ? relevant : slices);
  charge_holders(world, slices, pool);
  for (const api::ResourceSlice* slice : slices)
    for (const api::Device& device : slice->devices)
      pool.conditional |= slice_relevant(world, *slice, *scene.node) && has_binding_conditions(device);
  const bool usable = !pool.incomplete && !pool.invalid;
  scene.pools.push_back(std::move(pool));
  for (const api::ResourceSlice* slice : slices) {
    if (!slice_relevant(world, *slice, *scene.node)) continue;
    for (const api::Device& device : slice->devices)
      if (device_on_node(*slice, device, *scene.node))
        (usable ? scene.devices : scene.withheld).push_back(make_device(world, scene.pools.size() - 1, *slice, device));
  }
}

// Pools with binding conditions come last; otherwise driver, pool, slice name, position.
void sort_devices(Scene& scene) {
  std::stable_sort(scene.devices.begin(), scene.devices.end(), [&](const SceneDevice& a, const SceneDevice& b) {
    return std::make_tuple(scene.pools[a.pool].conditional, a.pool) <
           std::make_tuple(scene.pools[b.pool].conditional, b.pool);
  });
}

bool gates_admit(const World& world, const api::Device& device) {
  if (has_binding_conditions(device) && !world.on("DRADeviceBindingConditions")) return false;
  if (!device.consumes_counters.empty() && !world.on("DRAPartitionableDevices")) return false;
  return true;
}

// A rule without a selector taints nothing, an empty selector everything.
bool rule_taints(const api::DeviceTaintRule& rule, const DeviceName& name) {
  return rule.has_selector && (!rule.driver || *rule.driver == name.driver) &&
         (!rule.pool || *rule.pool == name.pool) && (!rule.device || *rule.device == name.device);
}

bool taints_tolerated(const World& world, const api::DeviceSubRequest& spec, const SceneDevice& device) {
  if (!world.on("DRADeviceTaints")) return true;
  std::vector<api::DeviceTaint> taints = device.device->taints;
  for (const api::DeviceTaintRule& rule : world.taint_rules)
    if (rule_taints(rule, device.name)) taints.push_back(rule.taint);
  for (const api::DeviceTaint& taint : taints) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
    if (std::none_of(spec.tolerations.begin(), spec.tolerations.end(),
                     [&](const api::DeviceToleration& toleration) { return tolerates(toleration, taint); }))
      return false;
  }
  return true;
}

bool unreadable(const World& world, const api::Device& device) {
  return !world.on("DRAListTypeAttributes") &&
         std::any_of(device.attributes.begin(), device.attributes.end(),
                     [](const auto& attribute) { return oracle::is_list(attribute.second); });
}

bool selected(Scene& scene, const std::vector<std::string>& selectors, const SceneDevice& device,
              const SelectorJudge& judge) {
  for (const std::string& expression : selectors) {
    const Truth truth = unreadable(*scene.world, *device.device)
                            ? Truth::kError
                            : judge(expression, device.name.driver, *device.device);
    if (truth == Truth::kTrue) continue;
    if (truth == Truth::kUnknownForm && scene.error.empty()) scene.error = "selector of unknown form: " + expression;
    if (truth == Truth::kError) scene.selector_errors = true;
    return false;
  }
  return true;
}

// Whether the requested amounts fit beside the current shares. A device without enough capacity is not a candidate for
// this request, so that All does not fail on it.
bool sizes_admit(const World& world, const api::DeviceSubRequest& spec, const SceneDevice& device) {
  if (!world.on("DRAConsumableCapacity")) return true;
  const auto amounts = amounts_taken(world, spec, device);
  if (!amounts) return false;
  for (const auto& [capacity, amount] : *amounts) {
    auto before = device.consumed.find(capacity);
    const Amount total = amount + (before == device.consumed.end() ? 0 : before->second);
    if (total > parse_amount(device.device->capacity.at(capacity).value).value_or(0)) return false;
  }
  return true;
}

// Which devices of the node are one piece of silicon, and which something held excludes.
void find_silicon(Scene& scene, const SelectorJudge& judge) {
  const SiliconOracle& silicon = scene.silicon.emplace(*scene.world, judge);
  const auto node_of = [](const SceneDevice& one) {
    return one.slice->per_device_node_selection ? one.device->node_name : one.slice->node_name;
  };
  for (size_t i = 0; i < scene.devices.size(); ++i) {
    SceneDevice& device = scene.devices[i];
    if (silicon.is_plugins(device.name, node_of(device))) {
      device.silicon = "plugin";
    } else if (const auto why = silicon.excluded(device.name, node_of(device))) {
      device.silicon = why->holder + " (" + why->value + ")";
    }
    for (size_t j = 0; j < scene.devices.size(); ++j)
      if (silicon.rivals(device.name, node_of(device), scene.devices[j].name, node_of(scene.devices[j])))
        device.rivals.insert(j);
  }
}

SceneOption make_option(Scene& scene, size_t claim, size_t request, int alternative, const api::DeviceSubRequest& spec,
                        const SelectorJudge& judge) {
  const World& world = *scene.world;
  SceneOption option;
  option.claim = claim;
  option.request = request;
  option.alternative = alternative;
  option.spec = &spec;
  option.result_name = world.claims[claim].spec.requests[request].name;
  if (alternative >= 0) option.result_name += "/" + spec.name;
  option.all = spec.allocation_mode == "All";
  option.count = spec.count == 0 ? 1 : spec.count;
  if (spec.admin_access && !world.on("DRAAdminAccess")) scene.error = "admin access while its gate is off";
  if (!spec.capacity_requests.empty() && !world.on("DRAConsumableCapacity"))
    scene.error = "capacity requests while their gate is off";
  if (spec.derived_attributes && !world.on("DRADerivedAttributes"))
    scene.error = "derived attributes while their gate is off";
  auto device_class = std::find_if(world.classes.begin(), world.classes.end(), [&](const api::DeviceClass& c) {
    return c.metadata.name == spec.device_class_name;
  });
  if (device_class == world.classes.end()) {
    scene.error = "device class " + spec.device_class_name + " does not exist";
    return option;
  }
  option.exempt = is_exempt(world, spec.device_class_name);
  for (size_t i = 0; i < scene.devices.size(); ++i) {
    const SceneDevice& device = scene.devices[i];
    if (!gates_admit(world, *device.device) || !selected(scene, device_class->selectors, device, judge) ||
        !selected(scene, spec.selectors, device, judge) || !sizes_admit(world, spec, device))
      continue;
    option.candidates.push_back(i);
    option.tolerated.push_back(taints_tolerated(world, spec, device));
  }
  for (const ScenePool& pool : scene.pools)
    if (option.all && (pool.incomplete || pool.invalid)) option.impossible = true;
  return option;
}

}  // namespace

bool node_matches(const api::NodeSelector& selector, const api::Node& node) {
  return std::any_of(selector.terms.begin(), selector.terms.end(),
                     [&](const api::NodeSelectorTerm& term) { return term_matches(term, node); });
}

bool tolerates(const api::DeviceToleration& toleration, const api::DeviceTaint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op == "Exists") return true;
  return (toleration.op.empty() || toleration.op == "Equal") && toleration.value == taint.value;
}

bool is_readable(const World& world, const api::Device& device) {
  return !unreadable(world, device);
}

bool is_list(const api::DeviceAttribute& attribute) {
  return attribute.index() >= 5;  // the vectors of the variant
}

const api::DeviceAttribute* find_attribute(const SceneDevice& device, const std::string& name) {
  const auto& attributes = device.device->attributes;
  if (auto exact = attributes.find(name); exact != attributes.end()) return &exact->second;
  const size_t slash = name.find('/');
  if (slash == std::string::npos || name.substr(0, slash) != device.name.driver) return nullptr;
  auto bare = attributes.find(name.substr(slash + 1));
  return bare == attributes.end() ? nullptr : &bare->second;
}

Scene build_scene(const World& world, const api::Node& node, const SelectorJudge& judge) {
  Scene scene;
  scene.world = &world;
  scene.node = &node;
  std::map<PoolKey, std::vector<const api::ResourceSlice*>> pools;
  for (const api::ResourceSlice& slice : world.slices) pools[{slice.driver, slice.pool.name}].push_back(&slice);
  for (auto& [key, slices] : pools) add_pool(scene, key, std::move(slices));
  sort_devices(scene);
  find_silicon(scene, judge);
  for (size_t c = 0; c < world.claims.size(); ++c) {
    for (const api::DeviceConstraint& constraint : world.claims[c].spec.constraints)
      if (!constraint.match_attribute && !world.on("DRAConsumableCapacity"))
        scene.error = "distinctAttribute while its gate is off";
    const auto& requests = world.claims[c].spec.requests;
    for (size_t r = 0; r < requests.size(); ++r) {
      SceneRequest request;
      request.claim = c;
      request.request = r;
      if (requests[r].exactly) {
        request.options.push_back(make_option(scene, c, r, -1, *requests[r].exactly, judge));
      } else {
        for (size_t a = 0; a < requests[r].first_available.size(); ++a)
          request.options.push_back(
              make_option(scene, c, r, static_cast<int>(a), requests[r].first_available[a], judge));
        if (!world.on("DRAPrioritizedList")) scene.error = "prioritized list while its gate is off";
      }
      scene.requests.push_back(std::move(request));
    }
  }
  return scene;
}

}  // namespace dra::oracle
