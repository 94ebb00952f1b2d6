// The rules about several devices together: use, counters, capacity, constraints, the limit of a claim.
#include <algorithm>
#include <set>
#include <variant>

#include "test/oracle/derived.h"
#include "test/oracle/scene.h"

namespace dra::oracle {
namespace {

struct ValueLister {
  std::set<std::string> operator()(std::monostate) const { return {}; }
  std::set<std::string> operator()(int64_t v) const { return {"i" + std::to_string(v)}; }
  std::set<std::string> operator()(bool v) const { return {v ? "btrue" : "bfalse"}; }
  std::set<std::string> operator()(const std::string& v) const { return {"s" + v}; }
  std::set<std::string> operator()(const api::VersionText& v) const { return {"v" + v.text}; }
  template <class T>
  std::set<std::string> operator()(const std::vector<T>& list) const {
    std::set<std::string> out;
    for (const T& item : list) out.merge((*this)(item));
    return out;
  }
};

// Every value of an attribute as text prefixed by its type; a scalar is a list of one.
std::optional<std::set<std::string>> values_of(const api::DeviceAttribute& attribute) {
  std::set<std::string> out = std::visit(ValueLister{}, attribute);
  if (out.empty()) return std::nullopt;
  return out;
}

bool constraint_covers(const api::DeviceConstraint& constraint, const World& world, const SceneOption& option) {
  if (constraint.requests.empty()) return true;
  const std::string& request = world.claims[option.claim].spec.requests[option.request].name;
  return std::any_of(constraint.requests.begin(), constraint.requests.end(),
                     [&](const std::string& name) { return name == request || name == option.result_name; });
}

const std::string* expression_for(const Pick& pick, const std::string& attribute) {
  if (!pick.option->spec->derived_attributes) return nullptr;
  for (const api::DerivedAttribute& derived : *pick.option->spec->derived_attributes)
    if (derived.name == attribute) return &derived.expression;
  return nullptr;
}

// match: all devices share some value. distinct: no two devices share a value. An expression of the request takes the
// place of the device's own attribute.
bool constraint_holds(const Scene& scene, const std::vector<Pick>& picks, const std::string& attribute, bool match,
                      std::string& failure) {
  std::optional<std::set<std::string>> common;
  std::set<std::string> seen;
  const bool lists = scene.world->on("DRAListTypeAttributes");
  const auto derived_of = [&](const Pick& pick, const std::string& expression) {
    const SceneDevice& device = scene.devices[pick.device];
    return is_readable(*scene.world, *device.device) ? derive(expression, device.name.driver, *device.device)
                                                     : std::nullopt;
  };
  // A device is evaluated before it is compared.
  for (const Pick& pick : picks)
    if (const std::string* expression = expression_for(pick, attribute); expression && !derived_of(pick, *expression)) {
      failure = std::string(kDerivedFails) + *expression + " on " + scene.devices[pick.device].name.text();
      return false;
    }
  for (const Pick& pick : picks) {
    const SceneDevice& device = scene.devices[pick.device];
    std::optional<std::set<std::string>> values;
    if (const std::string* expression = expression_for(pick, attribute)) {
      const auto derived = derived_of(pick, *expression);
      // A list without its gate stands in a constraint alone.
      if (oracle::is_list(*derived) && !lists && picks.size() > 1) return false;
      values = values_of(*derived);
    } else {
      const api::DeviceAttribute* found = find_attribute(device, attribute);
      const bool readable = found && (!oracle::is_list(*found) || lists);
      if (readable) values = values_of(*found);
    }
    if (!values) return false;
    if (!common) {
      common = *values;
    } else {
      std::erase_if(*common, [&](const std::string& value) { return !values->count(value); });
    }
    if (match && common->empty()) return false;
    for (const std::string& value : *values)
      if (!seen.insert(value).second && !match) return false;
  }
  return true;
}

std::string constraint_conflict(const Scene& scene, const std::vector<Pick>& picks) {
  for (size_t c = 0; c < scene.world->claims.size(); ++c)
    for (const api::DeviceConstraint& constraint : scene.world->claims[c].spec.constraints) {
      std::vector<Pick> covered;
      for (const Pick& pick : picks)
        if (pick.option->claim == c && constraint_covers(constraint, *scene.world, *pick.option))
          covered.push_back(pick);
      // With both set, only matchAttribute counts.
      std::string failure;
      if (constraint.match_attribute) {
        if (!constraint_holds(scene, covered, *constraint.match_attribute, true, failure))
          return failure.empty() ? "matchAttribute " + *constraint.match_attribute : failure;
      } else if (constraint.distinct_attribute) {
        if (!constraint_holds(scene, covered, *constraint.distinct_attribute, false, failure))
          return failure.empty() ? "distinctAttribute " + *constraint.distinct_attribute : failure;
      }
    }
  return "";
}

std::string use_conflict(const Scene& scene, const std::vector<Pick>& picks) {
  for (size_t i = 0; i < picks.size(); ++i) {
    const SceneDevice& device = scene.devices[picks[i].device];
    const bool admin = picks[i].option->spec->admin_access;
    // A device allocated without a share is in use as a whole, even if it could be shared.
    if (!admin && device.held) return device.name.text() + " is in use";
    for (size_t j = 0; j < i; ++j) {
      if (picks[j].device != picks[i].device) continue;
      const SceneOption &a = *picks[j].option, &b = *picks[i].option;
      if (a.claim == b.claim && a.request == b.request) return device.name.text() + " twice for one request";
      if (device.shared) continue;
      // Admin access ignores the use by other claims, but not by its own claim. A device that an earlier request of
      // this decision took, even with admin access, is taken.
      if (!admin || a.claim == b.claim) return device.name.text() + " twice";
    }
  }
  return "";
}

// adminAccess neither excludes nor is excluded; a class that shares silicon neither, but by the device plugin.
std::string silicon_conflict(const Scene& scene, const std::vector<Pick>& picks) {
  for (size_t i = 0; i < picks.size(); ++i) {
    const SceneDevice& device = scene.devices[picks[i].device];
    const SceneOption& option = *picks[i].option;
    if (option.spec->admin_access) continue;
    if (!device.silicon.empty() && (!option.exempt || device.silicon == "plugin"))
      return device.name.text() + " is the same silicon as what is held: " + device.silicon;
    for (size_t j = 0; j < i; ++j)
      if (!option.exempt && !picks[j].option->exempt && !picks[j].option->spec->admin_access &&
          device.rivals.contains(picks[j].device))
        return device.name.text() + " is the same silicon as " + scene.devices[picks[j].device].name.text();
  }
  return "";
}

std::string counter_conflict(const Scene& scene, const std::vector<Pick>& picks) {
  std::map<std::pair<size_t, CounterKey>, Amount> charged;
  std::set<size_t> paid;
  for (const Pick& pick : picks) {
    const SceneDevice& device = scene.devices[pick.device];
    // A shared device pays once, however many hold it; any other pays for every pick, including admin access.
    if (device.shared && (device.shares_held || !paid.insert(pick.device).second)) continue;
    for (const auto& consumption : device.device->consumes_counters)
      for (const auto& [counter, value] : consumption.counters) {
        const CounterKey key{consumption.counter_set, counter};
        Amount& sum = charged[{device.pool, key}];
        sum += parse_amount(value).value_or(0);
        auto left = scene.pools[device.pool].counters.find(key);
        if (left == scene.pools[device.pool].counters.end() || sum > left->second)
          return "counter " + consumption.counter_set + "/" + counter;
      }
  }
  return "";
}

// All devices in use on a counter set have a compatibility group in common, or none has any.
std::string group_conflict(const Scene& scene, const std::vector<Pick>& picks) {
  if (!scene.world->on("DRADeviceCompatibilityGroups")) return "";
  std::map<std::pair<size_t, std::string>, std::vector<std::set<std::string>>> users;
  std::set<size_t> counted;
  for (const Pick& pick : picks) {
    const SceneDevice& device = scene.devices[pick.device];
    // A further share of a device is not checked again.
    if (device.shared && (device.shares_held || !counted.insert(pick.device).second)) continue;
    for (const auto& consumption : device.device->consumes_counters)
      users[{device.pool, consumption.counter_set}].emplace_back(consumption.compatibility_groups.begin(),
                                                                 consumption.compatibility_groups.end());
  }
  for (auto& [where, groups] : users) {
    const auto& holders = scene.pools[where.first].groups_in_use;
    if (const auto held = holders.find(where.second); held != holders.end())
      groups.insert(groups.end(), held->second.begin(), held->second.end());
    std::set<std::string> common = groups[0];
    bool any = false;
    for (const std::set<std::string>& one : groups) {
      any = any || !one.empty();
      std::erase_if(common, [&](const std::string& group) { return !one.count(group); });
    }
    if (any && common.empty()) return "compatibility groups on counter set " + where.second;
  }
  return "";
}

std::string capacity_conflict(const Scene& scene, const std::vector<Pick>& picks) {
  if (!scene.world->on("DRAConsumableCapacity")) return "";
  std::map<std::pair<size_t, std::string>, Amount> taken;
  for (const Pick& pick : picks) {
    const SceneDevice& device = scene.devices[pick.device];
    if (!device.shared) continue;
    const auto amounts = amounts_taken(*scene.world, *pick.option->spec, device);
    if (!amounts) return device.name.text() + " cannot satisfy the capacity asked for";
    for (const auto& [capacity, amount] : *amounts) {
      Amount& sum = taken[{pick.device, capacity}];
      sum += amount;
      auto before = device.consumed.find(capacity);
      const Amount total = sum + (before == device.consumed.end() ? 0 : before->second);
      if (total > parse_amount(device.device->capacity.at(capacity).value).value_or(0))
        return device.name.text() + " has too little " + capacity;
    }
  }
  return "";
}

std::optional<Amount> apply_policy(const api::CapacityRequestPolicy& policy, Amount asked) {
  if (policy.valid_range) {
    const Amount min = parse_amount(policy.valid_range->min).value_or(0);
    if (asked < min) asked = min;
    if (policy.valid_range->step) {
      const int64_t step = whole(parse_amount(*policy.valid_range->step).value_or(0));
      if (step <= 0) return std::nullopt;
      const int64_t above = whole(asked) - whole(min);
      asked = (static_cast<Amount>(whole(min)) + static_cast<Amount>((above + step - 1) / step) * step) * kOne;
    }
    if (policy.valid_range->max && asked > parse_amount(*policy.valid_range->max).value_or(0)) return std::nullopt;
    return asked;
  }
  if (policy.valid_values.empty()) return asked;
  std::optional<Amount> best;
  for (const std::string& text : policy.valid_values) {
    const Amount value = parse_amount(text).value_or(0);
    if (value >= asked && (!best || value < *best)) best = value;
  }
  return best;
}

}  // namespace

std::optional<std::map<std::string, Amount>> amounts_taken(const World& world, const api::DeviceSubRequest& spec,
                                                           const SceneDevice& device) {
  return amounts_taken(spec, *device.device, world.either_capacity_name ? device.name.driver : "");
}

std::optional<std::map<std::string, Amount>> amounts_taken(const api::DeviceSubRequest& spec, const api::Device& device,
                                                           const std::string& either_name_of) {
  std::map<std::string, std::string> requested;  // by published name
  for (const auto& [name, amount] : spec.capacity_requests) {
    const std::string prefix = either_name_of + "/";
    const std::string other = name.starts_with(prefix) ? name.substr(prefix.size()) : prefix + name;
    if (device.capacity.count(name)) {
      requested[name] = amount;
    } else if (!either_name_of.empty() && device.capacity.count(other)) {
      requested.try_emplace(other, amount);
    } else {
      return std::nullopt;
    }
  }
  // If both of its names are there, the published one counts.
  for (auto& [name, amount] : requested)
    if (const auto exact = spec.capacity_requests.find(name); exact != spec.capacity_requests.end())
      amount = exact->second;
  std::map<std::string, Amount> out;
  for (const auto& [name, capacity] : device.capacity) {
    std::optional<Amount> amount;
    auto asked = requested.find(name);
    if (asked != requested.end()) {
      amount = parse_amount(asked->second);
      if (amount && capacity.request_policy) amount = apply_policy(*capacity.request_policy, *amount);
    } else if (capacity.request_policy && capacity.request_policy->default_value) {
      amount = parse_amount(*capacity.request_policy->default_value);
    } else {
      amount = parse_amount(capacity.value);
    }
    if (!amount) return std::nullopt;
    out[name] = *amount;
  }
  return out;
}

std::string conflict(const Scene& scene, const std::vector<Pick>& picks) {
  std::map<size_t, size_t> results;
  for (const Pick& pick : picks)
    if (++results[pick.option->claim] > api::kMaxAllocationResults) return "more than 32 results for one claim";
  std::string out = use_conflict(scene, picks);
  if (out.empty()) out = silicon_conflict(scene, picks);
  if (out.empty()) out = counter_conflict(scene, picks);
  if (out.empty()) out = group_conflict(scene, picks);
  if (out.empty()) out = capacity_conflict(scene, picks);
  if (out.empty()) out = constraint_conflict(scene, picks);
  return out;
}

}  // namespace dra::oracle
