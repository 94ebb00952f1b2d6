// The random worlds cover every rule of the allocator: each ingredient occurs, with and without a solution, and it
// matters: some worlds are decided differently without it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "test/oracle/exhaustive.h"
#include "test/oracle/generator.h"

namespace dra::oracle::coverage_test {
namespace {

// Removes the ingredient; false if the world has none of it.
using Remove = std::function<bool(World&)>;

struct Ingredient {
  const char* name;
  Remove remove;
  int feasible = 0;
  int infeasible = 0;
  int matters = 0;
};

Remove from_devices(std::function<bool(api::Device&)> change) {
  return [change](World& world) {
    bool any = false;
    for (api::ResourceSlice& slice : world.slices)
      for (api::Device& device : slice.devices) any |= change(device);
    return any;
  };
}

Remove from_requests(std::function<bool(api::DeviceSubRequest&)> change) {
  return [change](World& world) {
    bool any = false;
    for (api::ResourceClaim& claim : world.claims)
      for (api::DeviceRequest& request : claim.spec.requests) {
        if (request.exactly) any |= change(*request.exactly);
        for (api::DeviceSubRequest& alternative : request.first_available) any |= change(alternative);
      }
    return any;
  };
}

Remove constraints(bool match, const std::string& attribute) {
  return [=](World& world) {
    bool any = false;
    for (api::ResourceClaim& claim : world.claims)
      any |= std::erase_if(claim.spec.constraints, [&](const api::DeviceConstraint& constraint) {
               const auto& name =
                   constraint.match_attribute ? constraint.match_attribute : constraint.distinct_attribute;
               return constraint.match_attribute.has_value() == match && *name == attribute;
             }) > 0;
    return any;
  };
}

template <class T>
bool cleared(T& value) {
  if (value == T{}) return false;
  value = T{};
  return true;
}

// Keeps the first of several drivers, nodes, pools or claims.
bool one_driver(World& world) {
  return std::erase_if(world.slices, [driver = world.slices[0].driver](const api::ResourceSlice& slice) {
           return slice.driver != driver;
         }) > 0;
}

bool one_pool(World& world) {
  return std::erase_if(world.slices, [pool = world.slices[0].pool.name](const api::ResourceSlice& slice) {
           return slice.pool.name != pool;
         }) > 0;
}

bool one_node(World& world) {
  const bool several = world.nodes.size() > 1;
  world.nodes.resize(1);
  return several;
}

Remove fewer_claims(size_t count) {
  return [count](World& world) {
    if (world.claims.size() != count) return false;
    world.claims.resize(count - 1);
    return true;
  };
}

bool all_for_every_node(World& world) {
  bool any = false;
  for (api::ResourceSlice& slice : world.slices) {
    if (!slice.per_device_node_selection) continue;
    any = true;
    slice.per_device_node_selection = false;
    slice.all_nodes = true;
  }
  return any;
}

bool selectors_for_every_node(World& world) {
  bool any = false;
  for (api::ResourceSlice& slice : world.slices) {
    if (!slice.node_selector) continue;
    any = true;
    slice.node_selector.reset();
    slice.all_nodes = true;
  }
  return any;
}

bool ample_counters(World& world) {
  bool any = false;
  for (api::ResourceSlice& slice : world.slices)
    for (api::CounterSet& set : slice.shared_counters)
      for (auto& [name, value] : set.counters) {
        value = "100Gi";
        any = true;
      }
  return any;
}

bool complete_pools(World& world) {
  std::map<std::tuple<std::string, std::string, int64_t>, int64_t> counts;
  auto key = [](const api::ResourceSlice& slice) {
    return std::tuple(slice.driver, slice.pool.name, slice.pool.generation);
  };
  for (const api::ResourceSlice& slice : world.slices) ++counts[key(slice)];
  bool any = false;
  for (api::ResourceSlice& slice : world.slices) {
    any |= slice.pool.resource_slice_count != counts[key(slice)];
    slice.pool.resource_slice_count = counts[key(slice)];
  }
  return any;
}

bool no_duplicates(World& world) {
  bool any = false;
  for (api::ResourceSlice& slice : world.slices) {
    std::set<std::string> names;
    any |=
        std::erase_if(slice.devices, [&](const api::Device& device) { return !names.insert(device.name).second; }) > 0;
  }
  return any;
}

bool no_unknown_counters(World& world) {
  return from_devices([](api::Device& device) {
    return std::erase_if(device.consumes_counters, [](const api::DeviceCounterConsumption& consumption) {
             return consumption.counter_set == "nowhere";
           }) > 0;
  })(world);
}

// If they were current, what the older generation left would be available.
bool obsolete_slices_current(World& world) {
  bool any = false;
  for (api::ResourceSlice& slice : world.slices) {
    if (slice.metadata.name.rfind("0-old-", 0) != 0) continue;
    any = true;
    ++slice.pool.generation;
  }
  if (any) complete_pools(world);
  return any;
}

bool no_shares(World& world) {
  const bool any = !world.allocated_shares.empty();
  world.allocated_shares.clear();
  world.consumed.clear();
  return any;
}

bool no_alternatives(World& world) {
  bool any = false;
  for (api::ResourceClaim& claim : world.claims)
    for (api::DeviceRequest& request : claim.spec.requests)
      if (request.first_available.size() > 1) {
        any = true;
        request.first_available.resize(1);
      }
  return any;
}

bool no_all_in_alternatives(World& world) {
  bool any = false;
  for (api::ResourceClaim& claim : world.claims)
    for (api::DeviceRequest& request : claim.spec.requests)
      for (api::DeviceSubRequest& alternative : request.first_available)
        if (alternative.allocation_mode == "All") {
          any = true;
          alternative.allocation_mode = "ExactCount";
        }
  return any;
}

// Selectors that may fail on some device are replaced by one that does not.
bool no_selector_errors(World& world) {
  bool any = false;
  auto clean = [&](std::vector<std::string>& selectors) {
    for (std::string& selector : selectors) {
      if (selector.find("&&") != std::string::npos || selector.find("?") != std::string::npos) continue;
      if (selector.rfind("device.attributes", 0) != 0) continue;
      any = true;
      selector = "device.driver == \"a.example.com\"";
    }
  };
  for (api::DeviceClass& device_class : world.classes)
    if (device_class.metadata.name != "risky") clean(device_class.selectors);
  from_requests([&](api::DeviceSubRequest& request) {
    clean(request.selectors);
    return false;
  })(world);
  return any;
}

bool no_limit(World& world) {
  return from_requests([](api::DeviceSubRequest& request) {
    if (request.count < 30) return false;
    request.count = 1;
    return true;
  })(world);
}

bool every_gate(World& world) {
  if (world.gates == all_gates()) return false;
  world.gates = all_gates();
  return true;
}

bool first_terms(World& world) {
  return from_devices([](api::Device& device) {
    if (!device.node_selector || device.node_selector->terms.size() < 2) return false;
    device.node_selector->terms.resize(1);
    return true;
  })(world);
}

std::vector<Ingredient> all_ingredients() {
  auto effect = [](const char* name) {
    return from_devices([name](api::Device& device) {
      return std::erase_if(device.taints, [name](const api::DeviceTaint& taint) { return taint.effect == name; }) > 0;
    });
  };
  auto policy = [](auto has) {
    return from_devices([has](api::Device& device) {
      bool any = false;
      for (auto& [name, capacity] : device.capacity)
        if (capacity.request_policy && has(*capacity.request_policy)) {
          any = true;
          capacity.request_policy.reset();
        }
      return any;
    });
  };
  const std::string root = "resource.kubernetes.io/pcieRoot";
  return {
      {"several drivers", one_driver},
      {"several pools", one_pool},
      {"several nodes", one_node},
      {"two claims", fewer_claims(2)},
      {"three claims", fewer_claims(3)},
      {"per-device node selection", all_for_every_node},
      {"node selectors", selectors_for_every_node},
      {"several terms", first_terms},
      {"binding conditions", from_devices([](api::Device& device) {
         cleared(device.binding_failure_conditions);
         return cleared(device.binding_conditions);
       })},
      {"taint NoSchedule", effect("NoSchedule")},
      {"taint NoExecute", effect("NoExecute")},
      {"taint rules",
       [](World& world) {
         const bool any = !world.taint_rules.empty();
         world.taint_rules.clear();
         return any;
       }},
      {"tolerations", from_requests([](api::DeviceSubRequest& request) { return cleared(request.tolerations); })},
      {"range policies", policy([](const auto& p) { return p.valid_range.has_value(); })},
      {"value policies", policy([](const auto& p) { return !p.valid_values.empty(); })},
      {"default alone", policy([](const auto& p) { return !p.valid_range && p.valid_values.empty(); })},
      {"capacity requests",
       from_requests([](api::DeviceSubRequest& request) { return cleared(request.capacity_requests); })},
      {"shared devices", from_devices([](api::Device& device) { return cleared(device.allow_multiple_allocations); })},
      {"shares held", no_shares},
      {"devices held", [](World& world) { return cleared(world.allocated); }},
      {"counters", ample_counters},
      {"alternatives", no_alternatives},
      {"All inside alternatives", no_all_in_alternatives},
      {"mode All", from_requests([](api::DeviceSubRequest& request) {
         if (request.allocation_mode != "All") return false;
         request.allocation_mode = "ExactCount";
         return true;
       })},
      {"admin access", from_requests([](api::DeviceSubRequest& request) { return cleared(request.admin_access); })},
      {"match on strings and lists", constraints(true, root)},
      {"match on integers", constraints(true, "a.example.com/numa")},
      {"match on integers and lists", constraints(true, "example.com/lane")},
      {"match on mixed types", constraints(true, "example.com/tags")},
      {"match on versions", constraints(true, "b.example.com/version")},
      {"distinct on strings and lists", constraints(false, root)},
      {"distinct on integers", constraints(false, "a.example.com/numa")},
      {"distinct on mixed types", constraints(false, "example.com/tags")},
      {"selectors", from_requests([](api::DeviceSubRequest& request) { return cleared(request.selectors); })},
      {"selector errors", no_selector_errors},
      {"incomplete pools", complete_pools},
      {"duplicate devices", no_duplicates},
      {"unknown counters", no_unknown_counters},
      {"obsolete slices", obsolete_slices_current},
      {"limit of results", no_limit},
      {"gates off", every_gate},
  };
}

bool same(const Solution& a, const Solution& b) {
  return a.answer == b.answer && a.node == b.node && a.picks == b.picks;
}

TEST(Coverage, EveryIngredientIsThereAndMatters) {
  constexpr uint64_t kWorlds = 12'000;
  constexpr uint64_t kSteps = 20'000;
  std::vector<Ingredient> ingredients = all_ingredients();
  const auto enough = [](const Ingredient& i) { return i.feasible >= 5 && i.infeasible >= 5 && i.matters >= 10; };
  for (uint64_t seed = 0; seed < kWorlds && !std::all_of(ingredients.begin(), ingredients.end(), enough); ++seed) {
    const World world = random_world(seed);
    if (world.slices.empty()) continue;
    const Solution verdict = solve(world, kSteps);
    if (verdict.answer == Answer::kTooBig) continue;
    for (Ingredient& ingredient : ingredients) {
      if (enough(ingredient)) continue;
      World without = world;
      if (!ingredient.remove(without)) continue;
      ++(verdict.answer == Answer::kFeasible ? ingredient.feasible : ingredient.infeasible);
      if (ingredient.matters < 10) ingredient.matters += !same(verdict, solve(without, kSteps));
    }
  }
  for (const Ingredient& ingredient : ingredients) {
    SCOPED_TRACE(ingredient.name);
    RecordProperty(ingredient.name, ingredient.matters);
    EXPECT_GE(ingredient.feasible, 5);
    EXPECT_GE(ingredient.infeasible, 5);
    EXPECT_GE(ingredient.matters, 3);
  }
}

}  // namespace
}  // namespace dra::oracle::coverage_test
