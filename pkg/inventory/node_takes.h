// What devices take of their node's allocatable cpu, memory, ephemeral storage and huge pages beside what containers
// request (KEP-5517, `nodeAllocatableResourceMappings` of 1.36; kube-scheduler's nodeallocatabledynamicresources.go).
//
//   Taken sum;
//   add_taken(*pool.takes(device), consumed, sum);
//   if (sum["cpu"] > room) ...
//
// A mapping of a capacity takes what the allocation consumes of it, times the multiplier; one without a capacity takes
// the multiplier for each result. Several results are added up. Pure values; errors: none, what cannot be counted has
// no NodeTakes and stays refused.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/quantity.h"
#include "pkg/api/resource.h"

namespace dra::inventory {

struct NodeTake {
  std::string resource;
  std::string capacity;  // in consumedCapacity; empty: counted by devices
  api::Quantity multiplier;
  bool operator==(const NodeTake&) const = default;
};
using NodeTakes = std::vector<NodeTake>;

// By resource.
using Taken = std::map<std::string, api::Quantity, std::less<>>;

// Nullopt: the device takes nothing, or something that is not counted: of another resource, a multiplier that is not
// more than 0, or a capacity while nothing is consumed of it (the device is not shared, or DRAConsumableCapacity is
// off: kube-scheduler fails there, too).
std::optional<NodeTakes> node_takes_of(const api::Device& device, bool consumable);

// The amount of a capacity that the allocation consumes, nullopt: none.
using Consumed = std::function<std::optional<api::Quantity>(const std::string& capacity)>;

// What one result takes. Mappings of a capacity of which nothing is consumed do not count.
void add_taken(const NodeTakes& takes, const Consumed& consumed, Taken& sum);

// a * b, rounded up to 10^-9, in the format of `a`. At most 2^63-1, which no node has.
api::Quantity product(const api::Quantity& a, const api::Quantity& b);

}  // namespace dra::inventory
