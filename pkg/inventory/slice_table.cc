#include "pkg/inventory/slice_table.h"

#include <algorithm>

#include "pkg/api/semver.h"
#include "pkg/base/strings.h"
#include "pkg/inventory/value_code.h"

namespace dra::inventory {
namespace {

bool read_quantity(const std::string& text, const std::string& what, api::Quantity& out, std::string* problem) {
  auto parsed = api::Quantity::parse(text);
  if (!parsed) {
    if (problem->empty()) *problem = what + ": " + quote(text) + " is not a quantity: " + parsed.error().message();
    return false;
  }
  out = *parsed;
  return true;
}

bool read_policy(const api::CapacityRequestPolicy& policy, const std::string& what, CapacityPolicy& out,
                 std::string* problem) {
  if (policy.default_value) {
    out.default_value.emplace();
    if (!read_quantity(*policy.default_value, what + ".default", *out.default_value, problem)) return false;
  }
  for (const std::string& text : policy.valid_values)
    if (!read_quantity(text, what + ".validValues", out.valid_values.emplace_back(), problem)) return false;
  if (!policy.valid_range) return true;
  CapacityPolicy::Range range;
  if (!read_quantity(policy.valid_range->min, what + ".validRange.min", range.min, problem)) return false;
  if (policy.valid_range->max &&
      !read_quantity(*policy.valid_range->max, what + ".validRange.max", range.max.emplace(), problem))
    return false;
  if (policy.valid_range->step) {
    if (!read_quantity(*policy.valid_range->step, what + ".validRange.step", range.step.emplace(), problem))
      return false;
    if (range.step->sign() <= 0) {
      if (problem->empty())
        *problem = what + ".validRange.step: " + quote(*policy.valid_range->step) + " must be positive";
      return false;
    }
  }
  out.range = std::move(range);
  return true;
}

std::string shape_key(std::string_view driver, const api::Device& device) {
  std::string key;
  auto add = [&key](std::string_view text) {
    key += std::to_string(text.size());
    key += ':';
    key += text;
  };
  add(driver);
  for (const auto& [name, capacity] : device.capacity) {
    add(name);
    add(capacity.value);
    if (!capacity.request_policy) continue;
    const api::CapacityRequestPolicy& policy = *capacity.request_policy;
    key += 'p';
    if (policy.default_value) key += 'd', add(*policy.default_value);
    for (const std::string& value : policy.valid_values) key += 'v', add(value);
    if (policy.valid_range) {
      key += 'r', add(policy.valid_range->min);
      if (policy.valid_range->max) key += 'x', add(*policy.valid_range->max);
      if (policy.valid_range->step) key += 's', add(*policy.valid_range->step);
    }
    key += 'e';
  }
  return key;
}

bool spoils(const api::DeviceAttribute& value) {
  if (std::holds_alternative<std::monostate>(value)) return true;
  if (const auto* version = std::get_if<api::VersionText>(&value)) return !api::Semver::parse(version->text);
  if (const auto* versions = std::get_if<std::vector<api::VersionText>>(&value))
    return std::any_of(versions->begin(), versions->end(),
                       [](const api::VersionText& v) { return !api::Semver::parse(v.text); });
  return false;
}

}  // namespace

size_t CapacityShape::find(std::string_view capacity, bool either) const {
  const auto published = [this](auto&& same) {
    const auto found = std::find_if(entries.begin(), entries.end(), same);
    return found == entries.end() ? kNoEntry : static_cast<size_t>(found - entries.begin());
  };
  const size_t exact = published([&](const CapacityEntry& entry) { return entry.name == capacity; });
  if (exact != kNoEntry || !either) return exact;
  const auto qualifies = [this](std::string_view full, std::string_view bare) {
    return full.size() == driver.size() + 1 + bare.size() && full.starts_with(driver) && full[driver.size()] == '/' &&
           full.ends_with(bare);
  };
  return published(
      [&](const CapacityEntry& entry) { return qualifies(entry.name, capacity) || qualifies(capacity, entry.name); });
}

std::shared_ptr<const CapacityShape> ShapeCache::shape(std::string_view driver, const api::Device& device,
                                                       std::string* problem) {
  std::string key = shape_key(driver, device);
  if (auto it = shapes_.find(key); it != shapes_.end())
    if (auto shape = it->second.lock()) return shape;
  auto shape = std::make_shared<CapacityShape>();
  shape->serial = next_serial_++;
  shape->driver = driver;
  bool good = true;
  for (const auto& [name, capacity] : device.capacity) {
    CapacityEntry entry;
    entry.name = name;
    std::string what = "capacity[" + quote(name) + "]";
    if (!read_quantity(capacity.value, what + ".value", entry.value, problem)) good = false;
    if (entry.value.sign() < 0) {
      good = false;
      if (problem->empty()) *problem = what + ".value: " + quote(capacity.value) + " must not be negative";
    }
    entry.amount = to_amount(entry.value);
    if (capacity.request_policy) {
      entry.policy.emplace();
      if (!read_policy(*capacity.request_policy, what + ".requestPolicy", *entry.policy, problem)) good = false;
    }
    shape->entries.push_back(std::move(entry));
  }
  if (shapes_.size() >= sweep_at_) {
    std::erase_if(shapes_, [](const auto& item) { return item.second.expired(); });
    sweep_at_ = std::max<size_t>(1024, shapes_.size() * 2);
  }
  if (good) shapes_[key] = shape;
  return shape;
}

SliceTable::SliceTable(const api::ResourceSlice& slice, Strings& strings, ShapeCache& shape_cache,
                       const Features& features)
    : name(slice.metadata.name),
      generation(slice.pool.generation),
      announced(slice.pool.resource_slice_count),
      strings_(strings) {
  driver = strings_.intern(slice.driver);
  pool = strings_.intern(slice.pool.name);
  int given =
      !slice.node_name.empty() + slice.node_selector.has_value() + slice.all_nodes + slice.per_device_node_selection;
  if (slice.per_device_node_selection) {
    where.kind = Where::kPerDevice;
  } else {
    where = make_where(slice.node_name, slice.node_selector, slice.all_nodes);
  }
  if (given > 1) note("more than one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection is set");
  has_counter_sets = !slice.shared_counters.empty();
  taint_sets.emplace_back();
  if (slice.devices.size() > kMaxSliceDevices) {
    note("has " + std::to_string(slice.devices.size()) + " devices; at most " + std::to_string(kMaxSliceDevices) +
         " are supported");
  }
  size_t count = std::min(slice.devices.size(), kMaxSliceDevices);
  names.reserve(count);
  flags.reserve(count);
  attr_first.reserve(count + 1);
  shape_of.reserve(count);
  use_first.reserve(count + 1);
  taints_of.reserve(count);
  attr_first.push_back(0);
  use_first.push_back(0);
  for (size_t i = 0; i < count; ++i)
    add_device(slice.devices[i], i == 0 ? nullptr : &slice.devices[i - 1], shape_cache);
  add_counter_sets(slice.shared_counters);
  if (slice.unknown) refuse(slice, features);
  follow_gates(slice, features);
  make_marks();
  attrs.shrink_to_fit();
  uses.shrink_to_fit();
  amounts.shrink_to_fit();
  amount_index_.clear();
  good_amounts_ = {};
  last_keys_ = {};
  last_values_ = {};
}

SliceTable::~SliceTable() {
  faces.reset();
  for (StrId id : names) strings_.release(id);
  for (const AttributeEntry& entry : attrs) {
    strings_.release(entry.key);
    strings_.release(entry.value);
  }
  for (const SliceCounterUse& use : uses) {
    strings_.release(use.set);
    strings_.release(use.counter);
  }
  for (StrId set : bare_sets) strings_.release(set);
  for (const auto& [at, list] : groups) {
    strings_.release(at.second);
    for (StrId group : list) strings_.release(group);
  }
  for (const CounterSetTable& set : counter_sets) {
    strings_.release(set.name);
    for (const auto& [counter, amount] : set.counters) strings_.release(counter);
  }
  for (const Where& w : device_where)
    if (w.node != kNoStr) strings_.release(w.node);
  if (where.node != kNoStr) strings_.release(where.node);
  strings_.release(driver);
  strings_.release(pool);
}

bool SliceTable::same_as(const SliceTable& other) const {
  // Unreadable capacities get a new shape each time.
  const bool same_shapes = shapes == other.shapes || (!problem.empty() && shapes.size() == other.shapes.size());
  return name == other.name && driver == other.driver && pool == other.pool && generation == other.generation &&
         announced == other.announced && where == other.where && has_counter_sets == other.has_counter_sets &&
         problem == other.problem && pool_refused == other.pool_refused && refused == other.refused &&
         takes == other.takes && refusals == other.refusals && names == other.names && flags == other.flags &&
         attr_first == other.attr_first && attrs == other.attrs && shape_of == other.shape_of && same_shapes &&
         use_first == other.use_first && uses == other.uses && amounts == other.amounts &&
         bare_sets == other.bare_sets && taints_of == other.taints_of && taint_sets == other.taint_sets &&
         device_where == other.device_where && conditions == other.conditions && counter_sets == other.counter_sets &&
         groups == other.groups && hidden == other.hidden && skip_operations == other.skip_operations;
}

void SliceTable::note(std::string text) {
  if (problem.empty()) problem = "ResourceSlice " + quote(name) + ": " + std::move(text);
}

// What is published for a gate that is off.
void SliceTable::follow_gates(const api::ResourceSlice& slice, const Features& features) {
  skip_operations = slice.skip_node_operations;
  if (!skip_operations.empty() && !features.optional_node_operations && pool_refused.empty())
    pool_refused = "ResourceSlice " + quote(name) +
                   ": spec.skipNodeOperations is for the feature gate DRAOptionalNodeOperations, which is off: remove "
                   "the field, or enable the gate in the cluster and by --feature-gates=DRAOptionalNodeOperations=true";
  if (groups.empty() || features.compatibility_groups) return;
  hidden = "ResourceSlice " + quote(name) + ": device " + quote(strings_.text(names[groups.begin()->first.first])) +
           " has compatibilityGroups, for the feature gate DRADeviceCompatibilityGroups, which is off: remove them, or "
           "enable the gate in the cluster and by --feature-gates=DRADeviceCompatibilityGroups=true";
}

void SliceTable::refuse(const api::ResourceSlice& slice, const Features& features) {
  const api::IgnoredFields& ignored = features.ignored_fields;
  const api::UnknownFields& unknown = *slice.unknown;
  const std::string of_slice = "ResourceSlice " + quote(name) + ": ";
  std::vector<bool> of_devices(unknown.fields.size(), false);
  for (const api::UnknownFields::OfDevice& one : unknown.devices) {
    of_devices[one.field] = true;
    const api::UnknownField& field = unknown.fields[one.field];
    if (one.device >= size() || api::is_ignored(field, ignored)) continue;
    flags[one.device] |= kRefused;
    refused.try_emplace(one.device, one.field);
  }
  if (!refused.empty()) find_takes(slice, ignored, features);
  if (!refused.empty())
    for (const api::UnknownField& field : unknown.fields) refusals.push_back(of_slice + api::why_refused(field));
  // More than are recorded: some may concern the pool.
  if (unknown.more) pool_refused = of_slice + api::why_refused(unknown.fields.back());
  for (size_t i = 0; i < unknown.fields.size() && pool_refused.empty(); ++i)
    if (!of_devices[i] && !api::is_ignored(unknown.fields[i], ignored))
      pool_refused = of_slice + api::why_refused(unknown.fields[i]);
  widen(unknown, ignored);
}

void SliceTable::find_takes(const api::ResourceSlice& slice, const api::IgnoredFields& ignored,
                            const Features& features) {
  for (const auto& [device, field] : refused)
    if (std::optional<NodeTakes> found = node_takes_of(slice.devices[device], features.consumable))
      takes.emplace(device, std::move(*found));
  for (const api::UnknownFields::OfDevice& one : slice.unknown->devices) {
    const api::UnknownField& field = slice.unknown->fields[one.field];
    if (!field.field.ends_with(".nodeAllocatableResourceMappings") && !api::is_ignored(field, ignored))
      takes.erase(one.device);
  }
}

// Where it may be: of a refused slice or device that is nowhere by what is known, or by a node selector that is not
// known as a whole, that is every node. So a request for all devices of its class waits instead of taking the others.
void SliceTable::widen(const api::UnknownFields& unknown, const api::IgnoredFields& ignored) {
  const auto selector_of = [&](std::string_view place) {
    return std::any_of(unknown.fields.begin(), unknown.fields.end(), [&](const api::UnknownField& field) {
      return field.field.starts_with(place) && !api::is_ignored(field, ignored);
    });
  };
  const auto open = [](Where& place, bool selector) {
    if (place.kind == Where::kNowhere || (place.kind == Where::kSelector && selector))
      place = Where{Where::kAll, kNoStr, {}};
  };
  if (!pool_refused.empty()) open(where, unknown.more || selector_of("resourceslices.spec.nodeSelector"));
  const bool of_devices = unknown.more || selector_of("resourceslices.spec.devices.nodeSelector");
  for (uint32_t device = 0; device < device_where.size(); ++device)
    if (!pool_refused.empty() || (flags[device] & kRefused) != 0) open(device_where[device], of_devices);
}

Where SliceTable::make_where(const std::string& node, const std::optional<api::NodeSelector>& selector, bool all) {
  Where w;
  if (!node.empty()) {
    w.kind = Where::kNode;
    w.node = strings_.intern(node);
  } else if (all) {
    w.kind = Where::kAll;
  } else if (selector) {
    w.kind = Where::kSelector;
    w.selector = std::make_shared<const api::NodeSelector>(*selector);
  }
  return w;
}

void SliceTable::add_device(const api::Device& device, const api::Device* last, ShapeCache& shape_cache) {
  uint32_t index = size();
  names.push_back(strings_.intern(device.name));
  flags.push_back(static_cast<uint8_t>((device.allow_multiple_allocations ? kMultiple : 0) |
                                       (device.binds_to_node ? kBindsToNode : 0) |
                                       (device.consumes_counters.empty() ? 0 : kConsumes)));
  add_shape(device, last, shape_cache);
  add_attributes(device, last);
  add_uses(device);
  if (device.taints.empty()) {
    taints_of.push_back(0);
  } else {
    auto it = std::find(taint_sets.begin() + 1, taint_sets.end(), device.taints);
    taints_of.push_back(static_cast<uint16_t>(it - taint_sets.begin()));
    if (it == taint_sets.end()) taint_sets.push_back(device.taints);
  }
  if (!device.binding_conditions.empty() || !device.binding_failure_conditions.empty()) {
    flags.back() |= kHasConditions;
    conditions[index] = {device.binding_conditions, device.binding_failure_conditions};
  }
  if (where.kind == Where::kPerDevice)
    device_where.push_back(make_where(device.node_name, device.node_selector, device.all_nodes));
}

void SliceTable::add_shape(const api::Device& device, const api::Device* last, ShapeCache& shape_cache) {
  if (last != nullptr && last->capacity == device.capacity) {
    shape_of.push_back(shape_of.back());
    return;
  }
  std::string capacity_problem;
  std::shared_ptr<const CapacityShape> shape = shape_cache.shape(strings_.text(driver), device, &capacity_problem);
  if (!capacity_problem.empty()) note("device " + quote(device.name) + ": " + capacity_problem);
  size_t at = shapes.size();
  while (at > 0 && shapes[at - 1] != shape) --at;
  if (at == 0) {
    shapes.push_back(shape);
    at = shapes.size();
  }
  shape_of.push_back(static_cast<uint16_t>(at - 1));
}

void SliceTable::add_attributes(const api::Device& device, const api::Device* last) {
  size_t first = attrs.size();
  std::string_view driver_name = strings_.text(driver);
  std::string key;
  std::vector<StrId> keys, values;
  auto before = last == nullptr ? device.attributes.end() : last->attributes.begin();
  const auto none_before = last == nullptr ? device.attributes.end() : last->attributes.end();
  for (const auto& [attribute, value] : device.attributes) {
    if (spoils(value)) flags.back() |= kSpoiled;
    if (api::is_list(value)) flags.back() |= kHasList;
    bool bare = attribute.find('/') == std::string::npos;
    keys.push_back(kNoStr);
    values.push_back(kNoStr);
    const size_t at = keys.size() - 1;
    const bool same_key = before != none_before && before->first == attribute;
    const bool same_value = same_key && before->second == value;
    if (before != none_before) ++before;
    if (same_key && last_keys_[at] != kNoStr) {
      keys.back() = last_keys_[at];
      strings_.retain(keys.back());
      if (bare && device.attributes.contains(strings_.text(keys.back()))) {  // the qualified spelling wins
        strings_.release(keys.back());
        keys.back() = kNoStr;
        continue;
      }
    } else {
      key = bare ? std::string(driver_name) + "/" + attribute : attribute;
      if (bare && device.attributes.contains(key)) continue;
      keys.back() = strings_.intern(key);
    }
    if (same_value && last_values_[at] != kNoStr) {
      values.back() = last_values_[at];
      strings_.retain(values.back());
    } else {
      values.back() = strings_.intern(encode_value(value));
    }
    attrs.push_back({keys.back(), values.back()});
  }
  last_keys_ = std::move(keys);
  last_values_ = std::move(values);
  std::sort(attrs.begin() + static_cast<ptrdiff_t>(first), attrs.end(),
            [](const AttributeEntry& a, const AttributeEntry& b) { return a.key < b.key; });
  attr_first.push_back(static_cast<uint32_t>(attrs.size()));
}

void SliceTable::make_marks() {
  shape_mark.add(size());
  size_t at = 0;  // devices of a slice mostly have the same attributes
  for (uint32_t i = 0; i < size(); ++i) {
    shape_mark.add(shapes[shape_of[i]]->serial << 8 | flags[i]);
    for (const AttributeEntry* a = attrs_begin(i); a != attrs_end(i); ++a, ++at) {
      if (at >= marks.size() || marks[at].key != a->key) {
        at = 0;
        while (at < marks.size() && marks[at].key != a->key) ++at;
        if (at == marks.size()) marks.push_back({a->key, {}});
      }
      marks[at].values.add(uint64_t{i} << 32 | a->value);
    }
  }
  marks.shrink_to_fit();
  std::sort(marks.begin(), marks.end(), [](const ColumnMark& a, const ColumnMark& b) { return a.key < b.key; });
}

// Notes a problem; a text that is not a quantity counts as nothing.
Amount SliceTable::counter_amount(const api::Device& device, const std::string& set, const std::string& counter,
                                  const std::string& text) {
  if (auto known = good_amounts_.find(text); known != good_amounts_.end()) return known->second;
  api::Quantity quantity;
  std::string bad;
  const std::string what = "consumesCounters[" + quote(set) + "].counters[" + quote(counter) + "]";
  read_quantity(text, what, quantity, &bad);
  if (bad.empty() && quantity.sign() < 0) bad = what + ": " + quote(text) + " must not be negative";
  if (!bad.empty()) {
    note("device " + quote(device.name) + ": " + bad);
    return to_amount(quantity);
  }
  return good_amounts_[text] = to_amount(quantity);
}

// A consumption of no counter uses its set for nothing.
void SliceTable::add_groups(const api::DeviceCounterConsumption& consumption) {
  if (consumption.compatibility_groups.empty() || consumption.counters.empty()) return;
  const StrId set = strings_.intern(consumption.counter_set);
  const auto [at, fresh] = groups.try_emplace({size() - 1, set});
  if (!fresh) strings_.release(set);
  Groups& list = at->second;
  for (const std::string& text : consumption.compatibility_groups) {
    const StrId group = strings_.intern(text);
    const auto place = std::lower_bound(list.begin(), list.end(), group);
    if (place != list.end() && *place == group) {
      strings_.release(group);
    } else {
      list.insert(place, group);
    }
  }
}

void SliceTable::add_uses(const api::Device& device) {
  for (const api::DeviceCounterConsumption& consumption : device.consumes_counters) {
    add_groups(consumption);
    if (consumption.counters.empty()) bare_sets.push_back(strings_.intern(consumption.counter_set));
    for (const auto& [counter, text] : consumption.counters) {
      const Amount amount = counter_amount(device, consumption.counter_set, counter, text);
      auto [it, fresh] = amount_index_.try_emplace(amount, static_cast<uint32_t>(amounts.size()));
      if (fresh) amounts.push_back(it->first);
      StrId set = strings_.intern(consumption.counter_set);
      uses.push_back({set, strings_.intern(counter), it->second});
    }
  }
  use_first.push_back(static_cast<uint32_t>(uses.size()));
}

void SliceTable::add_counter_sets(const std::vector<api::CounterSet>& sets) {
  for (const api::CounterSet& set : sets) {
    CounterSetTable table{strings_.intern(set.name), {}};
    for (const auto& [counter, text] : set.counters) {
      api::Quantity quantity;
      std::string bad;
      std::string what = "sharedCounters[" + quote(set.name) + "].counters[" + quote(counter) + "]";
      read_quantity(text, what, quantity, &bad);
      if (!bad.empty()) note(bad);
      table.counters.emplace_back(strings_.intern(counter), to_amount(quantity));
    }
    counter_sets.push_back(std::move(table));
  }
}

}  // namespace dra::inventory
