#include "pkg/allocator/explain/device_cause.h"

#include "pkg/inventory/value_code.h"

namespace dra::allocator {

using inventory::Amount;
using inventory::Pool;
using inventory::PoolState;
using inventory::test_bit;

namespace {

constexpr size_t kMaxExpression = 1024;

bool is_refused(const Filter& filter, const Pool& pool, uint32_t device) {
  return filter.counts_takes ? pool.refuses_even_counted(device) : pool.refuses(device);
}

}  // namespace

DeviceCause DeviceJudge::alone(FilterId id, bool admin, const Pool& pool, uint32_t device) {
  Filter& filter = filters_.get(id);
  DeviceCause found;
  // A device that the class does not select is never a reason, whatever its state.
  if (selectors(filter.class_selectors, Cause::kClassSelector, pool, device, found))
    // A selector may fail on an attribute for no other reason than that its kind is not known.
    return is_refused(filter, pool, device) && !found.detail.empty() ? DeviceCause{Cause::kUnknownField, -1, ""}
                                                                     : found;
  const PoolState state = device_index_.judge_device(pool, device).state;
  if (state == PoolState::kIncomplete) return {Cause::kPoolIncomplete, -1, ""};
  if (state == PoolState::kInvalid) return {Cause::kPoolInvalid, -1, ""};
  if (is_refused(filter, pool, device)) return {Cause::kUnknownField, -1, ""};
  if (std::string gate = filters_.disabled_feature(pool, device); !gate.empty())
    return {Cause::kFeatureDisabled, -1, gate};
  if (selectors(filter.request_selectors, Cause::kRequestSelector, pool, device, found)) return found;
  if (device_index_.features().device_taints)
    if (const api::DeviceTaint* taint = filters_.untolerated(filter, pool, device))
      return {Cause::kTaint, -1, taint->key + (taint->value.empty() ? "" : "=" + taint->value) + ":" + taint->effect};
  if (device_index_.features().consumable && capacity(filter, pool, device, found)) return found;
  if (admin) return found;
  if (test_bit(pool.in_use(), device)) return {Cause::kInUse, -1, ""};
  if (pool.shareable(device) && !filters_.may_share(id, pool, device)) return {Cause::kNotShared, -1, ""};
  if (test_bit(pool.available(filter.shares_silicon), device)) return found;
  if (pool.is_plugins(device)) return {Cause::kDevicePlugin, -1, ""};
  if (!filter.shares_silicon && pool.is_excluded(device)) return {Cause::kSameSilicon, -1, ""};
  return {Cause::kCounterShort, -1, name_of_short_counter(pool, device)};
}

std::string DeviceJudge::name_of_short_counter(const Pool& pool, uint32_t device) const {
  const inventory::CounterUse* use = short_counter(pool, device);
  if (use == nullptr) return foreign_set(pool, device);
  const inventory::Counter& counter = pool.counters()[use->counter];
  return std::string(device_index_.strings().text(counter.set)) + "/" +
         std::string(device_index_.strings().text(counter.name));
}

bool DeviceJudge::selectors(const std::vector<SelectorId>& list, Cause cause, const Pool& pool, uint32_t device,
                            DeviceCause& out) {
  for (size_t i = 0; i < list.size(); ++i) {
    const Truth truth = selectors_.evaluate(list[i], pool, device, Selectors::Keep::kNo);
    if (truth == Truth::kTrue) continue;
    out = {cause, static_cast<int>(i), ""};
    if (truth == Truth::kError) {
      const bool of_class = cause == Cause::kClassSelector;
      out.detail =
          std::string(of_class ? "class" : "request") + " selector: " + selectors_.error_text(list[i], pool, device);
      if (!of_class) out.cause = Cause::kEvaluationError;
    }
    return true;
  }
  return false;
}

bool DeviceJudge::capacity(Filter& filter, const Pool& pool, uint32_t device, DeviceCause& out) {
  const inventory::CapacityShape& shape = pool.shape(device);
  const CapacityFit& fit = filters_.fit(filter, shape);
  if (!fit.fits) {
    out = {Cause::kCapacityShort, -1, fit.short_of};
    return true;
  }
  const std::vector<Amount>* held = pool.shared(device);
  for (size_t i = 0; held != nullptr && i < held->size(); ++i)
    if ((*held)[i] + fit.amounts[i] > shape.entries[i].amount) {
      out = {Cause::kCapacityShort, -1, shape.entries[i].name};
      return true;
    }
  return false;
}

// "SET/compatibility groups" of the first counter set on which devices of other groups are in use; empty: none.
std::string DeviceJudge::foreign_set(const Pool& pool, uint32_t device) const {
  std::string found;
  if (!pool.any_groups()) return found;
  pool.for_each_set(device, [&](inventory::StrId set, const inventory::Groups& groups) {
    if (found.empty() && !pool.groups_in_use(set).admits(groups))
      found = std::string(device_index_.strings().text(set)) + "/compatibility groups";
  });
  return found;
}

const inventory::CounterUse* DeviceJudge::short_counter(const Pool& pool, uint32_t device) const {
  for (const inventory::CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use) {
    const inventory::Counter& counter = pool.counters()[use->counter];
    if (counter.total - counter.consumed < use->amount) return use;
  }
  return nullptr;
}

std::string DeviceJudge::example(FilterId id, const Pool& pool, uint32_t device, const DeviceCause& found) {
  Filter& filter = filters_.get(id);
  switch (found.cause) {
    case Cause::kPoolIncomplete:
    case Cause::kPoolInvalid:
      return "pool " + pool.driver_text + "/" + pool.name_text + ": " +
             device_index_.judge_device(pool, device).reason.substr(0, kMaxExpression);
    case Cause::kUnknownField:
      return pool.why_refused(device).substr(0, kMaxExpression);
    case Cause::kSameSilicon:
      return silicon_example(pool, device);
    case Cause::kDevicePlugin:
      return plugin_example(pool, device);
    case Cause::kNotShared: {
      std::string why;
      filters_.may_share(id, pool, device, &why);
      return why;
    }
    case Cause::kRequestSelector:
      return selectors_.expression(filter.request_selectors[static_cast<size_t>(found.index)])
          .substr(0, kMaxExpression);
    case Cause::kCapacityShort:
      return capacity_example(filter, pool, device, found.detail);
    case Cause::kCounterShort:
      return counter_example(pool, device);
    default:
      return "";
  }
}

// "pt.example.com/a/pt-0 is the same hardware as gpu.nvidia.com/a/gpu-0 (pci 0000:1a:00.0)".
std::string DeviceJudge::silicon_example(const Pool& pool, uint32_t device) const {
  const auto why = device_index_.silicon().why_excluded(pool, device);
  if (!why) return "";
  return pool.driver_text + "/" + pool.name_text + "/" +
         std::string(device_index_.strings().text(pool.device_name(device))) + " is the same hardware as " +
         why->holder.text() + " (" + why->value + ")";
}

// "node a: the device plugin serves nvidia.com/gpu (allocatable 8, 3 pods); --device-plugin gpu.nvidia.com is plugin".
std::string DeviceJudge::plugin_example(const Pool& pool, uint32_t device) const {
  const inventory::Silicon& silicon = device_index_.silicon();
  const auto on = [&](const std::string& node, const inventory::PluginDrivers& drivers) -> std::string {
    const std::string driver = silicon.plugin_driver(pool, device, node);
    return driver.empty() ? driver : "node " + node + ": " + drivers.find(driver)->second;
  };
  const auto& nodes = silicon.plugin_nodes();
  if (const inventory::Where& where = pool.where(device); where.kind == inventory::Where::kNode) {
    const auto own = nodes.find(device_index_.strings().text(where.node));
    return own == nodes.end() ? std::string() : on(own->first, own->second);
  }
  for (const auto& [node, drivers] : nodes)
    if (std::string found = on(node, drivers); !found.empty()) return found;
  return "";
}

std::string DeviceJudge::counter_example(const Pool& pool, uint32_t device) const {
  const inventory::CounterUse* use = short_counter(pool, device);
  if (use == nullptr) {
    const std::string set = foreign_set(pool, device);
    return set.empty()
               ? ""
               : "devices of other compatibility groups are in use on counter set " + set.substr(0, set.find('/'));
  }
  const inventory::Counter& counter = pool.counters()[use->counter];
  return "takes " + inventory::short_amount_text(use->amount) + " " +
         std::string(device_index_.strings().text(counter.name)) + " of counter set " +
         std::string(device_index_.strings().text(counter.set)) + ", " +
         inventory::short_amount_text(counter.total - counter.consumed) + " left of " +
         inventory::short_amount_text(counter.total);
}

std::string DeviceJudge::capacity_example(Filter& filter, const Pool& pool, uint32_t device, const std::string& name) {
  const inventory::CapacityShape& shape = pool.shape(device);
  const auto wanted = filter.capacity.find(name);
  const std::string asks = wanted == filter.capacity.end() ? "" : "asks " + wanted->second.to_string() + ", ";
  const std::vector<Amount>* held = pool.shared(device);
  for (size_t i = 0; i < shape.entries.size(); ++i) {
    if (shape.entries[i].name != name) continue;
    const Amount taken = held != nullptr && i < held->size() ? (*held)[i] : 0;
    const auto& policy = shape.entries[i].policy;
    const bool takes_all = policy && policy->default_value && *policy->default_value == shape.entries[i].value;
    const std::string why = !pool.shareable(device) ? ""
                            : !policy ? "; its driver gives it no request policy: each claim takes all of it"
                            : takes_all && asks.empty() ? "; who asks no amount takes all of it"
                                                        : "";
    return name + ": " + asks + "device has " + shape.entries[i].value.to_string() +
           (taken > 0 ? ", " + inventory::short_amount_text(shape.entries[i].amount - taken) + " left" : "") + why;
  }
  return name + ": " + asks + "device has none";
}

std::vector<std::string> DeviceJudge::values_of(const Pool& pool, uint32_t device, const std::string& attribute) const {
  const inventory::StrId key = device_index_.strings().find(
      attribute.find('/') == std::string::npos ? pool.driver_text + "/" + attribute : attribute);
  const inventory::StrId value = key == inventory::kNoStr ? key : pool.attribute(device, key);
  std::vector<std::string> codes;
  if (value == inventory::kNoStr) return codes;
  const std::string_view code = device_index_.strings().text(value);
  if (!device_index_.features().list_attributes && !code.empty() && code[0] == 'l') return codes;
  for (std::string_view element : inventory::value_elements(code)) codes.emplace_back(element);
  return codes;
}

}  // namespace dra::allocator
