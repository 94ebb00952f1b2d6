#include "pkg/apiserver/kinds/core/pod_amounts.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

api::Quantity amount_of(const Json& value) {
  auto amount = api::Quantity::parse(value.is_string() ? as_text(value) : value.dump());
  return amount ? *amount : api::Quantity();
}

namespace {

bool is_huge_pages(std::string_view name) {
  return name.starts_with("hugepages-");
}

void add_amounts(PodAmounts& sum, const Json& container, const char* which) {
  for (const auto& [name, value] : map_of(member(container, "resources"), which).items()) {
    const auto added = sum[name].add(amount_of(value));
    if (added) sum[name] = *added;
  }
}

// Sets list[name] unless the pod itself says something about it.
void set_missing(Json& resources, const char* list, const std::string& name, const std::string& amount) {
  Json& amounts = object_member(resources, list);
  if (!amounts.contains(name)) amounts[name] = amount;
}

}  // namespace

PodAmounts container_amounts(const Json& spec, const char* which) {
  PodAmounts sum, sidecars, largest;
  for (const Json& container : list_of(spec, "containers")) add_amounts(sum, container, which);
  for (const Json& container : list_of(spec, "initContainers")) {
    PodAmounts now = sidecars;
    add_amounts(now, container, which);
    if (text_of(container, "restartPolicy") == "Always") {
      add_amounts(sum, container, which);
      sidecars = now;
    }
    for (const auto& [name, amount] : now) {
      const auto [at, added] = largest.try_emplace(name, amount);
      if (!added && at->second < amount) at->second = amount;
    }
  }
  for (const auto& [name, amount] : largest) {
    const auto [at, added] = sum.try_emplace(name, amount);
    if (!added && at->second < amount) at->second = amount;
  }
  return sum;
}

bool is_pod_level_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || is_huge_pages(name);
}

// defaultHugePagePodLimits() and defaultPodRequests().
void default_pod_level_resources(Json& spec) {
  const auto found = spec.find("resources");
  if (found == spec.end() || !found->is_object()) return;
  Json& resources = *found;
  if (map_of(resources, "limits").empty() && map_of(resources, "requests").empty()) return;
  for (const auto& [name, amount] : container_amounts(spec, "limits"))
    if (is_huge_pages(name)) set_missing(resources, "limits", name, amount.to_string());
  const Json limits = map_of(resources, "limits");
  if (limits.empty()) return;
  for (const auto& [name, amount] : container_amounts(spec, "requests"))
    if (is_pod_level_resource(name) && !is_huge_pages(name))
      set_missing(resources, "requests", name, amount.to_string());
  for (const auto& [name, value] : limits.items())
    if (is_pod_level_resource(name)) set_missing(resources, "requests", name, amount_of(value).to_string());
}

}  // namespace dra::apiserver
