#include "pkg/api/decode/unknown_rules.h"

#include <algorithm>
#include <array>

namespace dra::api::detail {
namespace {

struct Rule {
  std::string_view place;
  Unit unit;
};

// Anything that says which counters a device takes, which pool it belongs to, or where it can be used, says so about
// its neighbours, too.
constexpr auto kRules = std::to_array<Rule>({
    {"resourceslices", Unit::kWhole},
    {"resourceslices.apiVersion", Unit::kIgnored},
    {"resourceslices.kind", Unit::kIgnored},
    {"resourceslices.metadata", Unit::kIgnored},
    {"resourceslices.status", Unit::kIgnored},
    {"resourceslices.spec.devices", Unit::kDevice},
    {"resourceslices.spec.devices.consumesCounters", Unit::kWhole},
    {"resourceslices.spec.devices.nodeSelector", Unit::kWhole},
    {"resourceclaims", Unit::kWhole},
    {"resourceclaims.apiVersion", Unit::kIgnored},
    {"resourceclaims.kind", Unit::kIgnored},
    {"resourceclaims.metadata", Unit::kIgnored},
    {"resourceclaims.status", Unit::kIgnored},
    {"resourceclaims.status.allocation", Unit::kWhole},
    {"deviceclasses", Unit::kWhole},
    {"deviceclasses.apiVersion", Unit::kIgnored},
    {"deviceclasses.kind", Unit::kIgnored},
    {"deviceclasses.metadata", Unit::kIgnored},
    {"deviceclasses.status", Unit::kIgnored},
    {"podgroups", Unit::kWhole},
    {"podgroups.apiVersion", Unit::kIgnored},
    {"podgroups.kind", Unit::kIgnored},
    {"podgroups.metadata", Unit::kIgnored},
    {"podgroups.status", Unit::kIgnored},
});

struct Member {
  std::string_view type, name;
};
constexpr auto kNotSupported = std::to_array<Member>({
    {"Device", "nodeAllocatableResourceMappings"},
    {"BasicDevice", "nodeAllocatableResourceMappings"},
    {"Device", "nodeAllocatableResources"},
    {"BasicDevice", "nodeAllocatableResources"},
});
// Merged without anybody here having seen the number: an object that has one is read as JSON.
constexpr auto kNumberNotKnown = std::to_array<Member>({
    {"DeviceCounterConsumption", "compatibilityGroups"},
    {"ExactDeviceRequest", "derivedAttributes"},
    {"DeviceSubRequest", "derivedAttributes"},
    {"DeviceRequest", "derivedAttributes"},
});

// Parts of resource.k8s.io objects outside of what decides. Not ResourceClaimConsumerReference: what is unknown of one
// is kept (ResourceClaimConsumerReference::json), and that needs its name.
constexpr auto kUnwatched =
    std::to_array<std::string_view>({"ResourceClaimStatus", "AllocatedDeviceStatus", "NetworkDeviceData",
                                     "ResourceClaimTemplate", "ResourceClaimTemplateSpec"});
constexpr auto kWatchedOfCore =
    std::to_array<std::string_view>({"NodeSelector", "NodeSelectorTerm", "NodeSelectorRequirement",
                                     // 1.37 says in 4 and 5, whose messages have not been seen, what a pod takes
                                     "NodeAllocatableResourceClaimStatus"});

template <class List>
bool contains(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

Unit unit_of(std::string_view place) {
  Unit unit = Unit::kWhole;
  size_t longest = 0;
  for (const Rule& rule : kRules) {
    if (!place.starts_with(rule.place) || rule.place.size() < longest) continue;
    if (place.size() > rule.place.size() && place[rule.place.size()] != '.') continue;
    unit = rule.unit;
    longest = rule.place.size();
  }
  return unit;
}

bool is_not_supported(std::string_view type, std::string_view member) {
  return std::any_of(kNotSupported.begin(), kNotSupported.end(),
                     [&](const Member& one) { return one.type == type && one.name == member; });
}

bool is_read_as_json(std::string_view type, std::string_view member) {
  return is_not_supported(type, member) ||
         std::any_of(kNumberNotKnown.begin(), kNumberNotKnown.end(),
                     [&](const Member& one) { return one.type == type && one.name == member; });
}

bool is_watched(const schema::ObjectType& type) {
  if (type.package.starts_with("resource/")) return !contains(kUnwatched, type.name);
  return type.package == "core/v1" && contains(kWatchedOfCore, type.name);
}

std::optional<KnownValues> values_known_at(std::string_view place) {
  const auto ends = [place](std::string_view end) { return place.ends_with(end); };
  if (ends(".allocationMode")) return KnownValues(kAllocationModes);
  if (ends(".tolerations.operator")) return KnownValues(kTolerationOperators);
  if (ends(".tolerations.effect")) return KnownValues(kTolerationEffects);
  if (ends(".matchExpressions.operator") || ends(".matchFields.operator")) return KnownValues(kSelectorOperators);
  if (ends(".config.source")) return KnownValues(kConfigSources);
  return std::nullopt;
}

}  // namespace dra::api::detail
