// What 1.37 and 1.38 add to random worlds: compatibility groups, derived attributes, capacities by either name.
#include <algorithm>
#include <array>

#include "test/oracle/generator_dice.h"

namespace dra::oracle {
namespace {

void add_groups(World& world, Dice& dice) {
  static const std::array<std::string, 3> kGroups = {"mig", "vgpu", "whole"};
  world.gates.insert("DRADeviceCompatibilityGroups");
  if (dice.chance(15)) world.gates.erase("DRADeviceCompatibilityGroups");
  for (api::ResourceSlice& slice : world.slices) {
    const bool grouped = dice.chance(80);
    for (api::Device& device : slice.devices)
      for (api::DeviceCounterConsumption& consumption : device.consumes_counters) {
        if (!grouped || dice.chance(20)) continue;
        consumption.compatibility_groups = {dice.one_of(kGroups)};
        const std::string& more = dice.one_of(kGroups);
        if (dice.chance(35) && more != consumption.compatibility_groups[0])
          consumption.compatibility_groups.push_back(more);
      }
  }
}

std::string some_value(Dice& dice) {
  const std::string& domain = dice.chance(75) ? kDrivers[0] : kDrivers[1];
  const std::string attributes = "device.attributes[\"" + domain + "\"]";
  const std::string of = attributes + ".";
  switch (dice.below(16)) {
    case 0:
      return of + "index % 2 == 0 ? \"zone-0\" : \"zone-1\"";
    case 1:
      return "device.capacity[\"" + domain + "\"].memory.compareTo(quantity(\"20Gi\")) >= 0 ? \"big\" : \"small\"";
    case 2:
      return of + "index % 2";
    case 3:
    case 4:
      return "[" + of + "index + 0, " + of + "index + 1]";
    case 5:
    case 6:
      return "\"numa\" in " + attributes + " ? " + of + "numa : 7";
    case 7:
      return of + "model";
    case 8:
      return "device.driver";
    case 9:
      return attributes + ".?numa.orValue(-1)";
    case 10:
      return of + "version";
    case 11:
      return "[" + of + "model == \"x\" ? \"edge\" : \"core\", " + of + "index > 1 ? \"high\" : \"low\"]";
    case 12:
      return of + "index > 0";
    case 13:
      return "[" + of + "model]";
    case 14:
      return dice.chance(50) ? "8 / " + of + "index" : "[" + of + "model, " + of + "index]";
    default:
      return dice.chance(20) ? "dyn(1.5)" : of + "numa";
  }
}

// Lists are spoilt without their gate: then no device has any.
void drop_lists(World& world) {
  world.gates.erase("DRAListTypeAttributes");
  for (api::ResourceSlice& slice : world.slices)
    for (api::Device& device : slice.devices)
      std::erase_if(device.attributes, [](const auto& one) { return oracle::is_list(one.second); });
}

void add_derived(World& world, Dice& dice) {
  world.gates.insert("DRADerivedAttributes");
  if (dice.chance(3)) world.gates.erase("DRADerivedAttributes");
  if (dice.chance(20)) drop_lists(world);
  for (api::ResourceClaim& claim : world.claims) {
    if (claim.spec.constraints.empty() && dice.chance(70)) claim.spec.constraints.emplace_back();
    for (api::DeviceConstraint& constraint : claim.spec.constraints) {
      std::optional<std::string>& name = constraint.distinct_attribute && !constraint.match_attribute
                                             ? constraint.distinct_attribute
                                             : constraint.match_attribute;
      if (!name || dice.chance(60)) name = dice.chance(70) ? "derived/tier" : "derived/zone";
      const std::string common = some_value(dice);
      const auto derive = [&](api::DeviceSubRequest& body) {
        if (dice.chance(25)) return;
        if (!body.derived_attributes) body.derived_attributes.emplace();
        for (const api::DerivedAttribute& known : *body.derived_attributes)
          if (known.name == *name) return;
        body.derived_attributes->push_back({*name, dice.chance(60) ? common : some_value(dice)});
      };
      for (api::DeviceRequest& request : claim.spec.requests) {
        if (request.exactly) derive(*request.exactly);
        for (api::DeviceSubRequest& alternative : request.first_available) derive(alternative);
      }
    }
    for (api::DeviceRequest& request : claim.spec.requests) {
      const auto tidy = [](api::DeviceSubRequest& body) {
        if (body.derived_attributes && body.derived_attributes->empty()) body.derived_attributes.reset();
      };
      if (request.exactly) tidy(*request.exactly);
      for (api::DeviceSubRequest& alternative : request.first_available) tidy(alternative);
    }
  }
}

// Slices and requests each with one of the two names.
void mix_capacity_names(World& world, Dice& dice) {
  world.either_capacity_name = dice.chance(80);
  for (api::ResourceSlice& slice : world.slices)
    for (api::Device& device : slice.devices)
      for (const std::string name : {"memory", "cores"}) {
        auto found = device.capacity.extract(name);
        if (found && dice.chance(40)) found.key() = slice.driver + "/" + name;
        if (found) device.capacity.insert(std::move(found));
      }
  const auto rename = [&](api::DeviceSubRequest& body) {
    for (const std::string name : {"memory", "cores"}) {
      auto found = body.capacity_requests.extract(name);
      if (found && dice.chance(40)) found.key() = dice.one_of(kDrivers) + "/" + name;
      if (found) body.capacity_requests.insert(std::move(found));
    }
  };
  for (api::ResourceClaim& claim : world.claims)
    for (api::DeviceRequest& request : claim.spec.requests) {
      if (request.exactly) rename(*request.exactly);
      for (api::DeviceSubRequest& alternative : request.first_available) rename(alternative);
    }
}

}  // namespace

void add_what_137_adds(World& world, const Ingredients& ingredients, Dice& dice) {
  if (ingredients.compatibility_groups) add_groups(world, dice);
  if (ingredients.derived_attributes) add_derived(world, dice);
  if (ingredients.either_capacity_name) mix_capacity_names(world, dice);
}

}  // namespace dra::oracle
