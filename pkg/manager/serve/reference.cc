#include "pkg/manager/serve/reference.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "controllers/all.h"
#include "pkg/base/random.h"
#include "pkg/manager/permit/chart_roles.h"
#include "pkg/manager/report/device_gauges.h"
#include "pkg/manager/report/fragmentation_gauges.h"
#include "pkg/manager/report/instruments.h"
#include "pkg/manager/report/unknown_objects.h"
#include "pkg/manager/report/usage_reporter.h"
#include "pkg/manager/serve/serving.h"
#include "pkg/protocol/annotations.h"
#include "pkg/reconcile/reasons_table.h"

namespace dra::manager {

void register_metrics(metrics::Registry& registry) {
  SeededRandom random(1);
  inventory::Inventory inventory;
  allocator::Allocator allocator(inventory, {}, random);
  registry.add_process_metrics();
  add_build_info(registry, "");
  slow_path_counter(registry, "");
  reactor_delays(registry);
  reactor_tasks(registry);
  reactor_task_processor(registry);
  const Instruments instruments(registry);
  const DeviceGauges gauges(registry, inventory, allocator);
  const SystemClock clock;
  const FragmentationGauges fragmentation(registry, inventory, allocator, clock);
  unknown_field_gauges(registry);
  const UsageMetrics usage(registry);
}

namespace {

using Json = nlohmann::json;

Json controllers_json() {
  Json out = Json::array();
  for (const reconcile::Controller* controller : all_controllers()) {
    Json flags = Json::array();
    for (const reconcile::Flag& flag : controller->flags) flags.push_back(flag.name);
    out.push_back(
        {{"name", controller->name}, {"aliases", controller->aliases}, {"does", controller->does}, {"flags", flags}});
  }
  return out;
}

Json conditions_json(const std::vector<ChartCondition>& conditions) {
  Json out = Json::array();
  for (const ChartCondition& condition : conditions) out.push_back({{"path", condition.path}, {"in", condition.in}});
  return out;
}

Json roles_json() {
  const auto roles = chart_roles();
  if (!roles) throw std::logic_error(roles.error().message());
  Json out = Json::array();
  for (const ChartRole& chart : *roles) {
    const PermissionRole& role = *chart.role;
    const bool of_lease = role.ns == kOfTheLease;
    Json rules = Json::array();
    for (const PermissionRule& rule : role.rules)
      rules.push_back({{"group", rule.group},
                       {"resource", rule.resource},
                       {"verbs", rule.verbs},
                       {"name", rule.name == kOfTheLease   ? "dra-controller-manager"
                                : rule.name == kOfTheUsage ? "dra-controller-manager-usage"
                                                           : rule.name}});
    out.push_back({{"name", role.name},
                   {"controller", role.controller},
                   {"without", role.without},
                   {"namespace", of_lease ? "release" : role.ns},
                   {"rules", rules},
                   {"when", conditions_json(chart.when)}});
    if (chart.can_be_limited) out.back()["readsOnlyWhen"] = conditions_json(chart.reads_only);
  }
  return out;
}

}  // namespace

std::string reference_json() {
  metrics::Registry registry;
  register_metrics(registry);
  Json out{{"controllers", controllers_json()}, {"roles", roles_json()},       {"metrics", Json::array()},
           {"events", Json::array()},           {"conditions", Json::array()}, {"annotations", Json::array()}};
  for (const metrics::Registry::FamilyInfo& family : registry.families())
    out["metrics"].push_back(
        {{"name", family.name}, {"type", family.type}, {"labels", family.labels}, {"help", family.help}});
  for (const reconcile::EventMeaning& event : reconcile::kEventMeanings)
    out["events"].push_back({{"reason", event.reason},
                             {"type", event.type},
                             {"on", event.on},
                             {"meaning", event.meaning},
                             {"whatToDo", event.what_to_do}});
  for (const reconcile::ConditionMeaning& condition : reconcile::kConditionMeanings)
    out["conditions"].push_back({{"type", condition.type},
                                 {"on", condition.on},
                                 {"status", condition.status},
                                 {"reason", condition.reason},
                                 {"meaning", condition.meaning}});
  for (const protocol::UserAnnotation& one : protocol::user_annotations())
    out["annotations"].push_back(
        {{"name", one.name}, {"on", one.kinds()}, {"value", one.value}, {"since", one.since}, {"page", one.page}});
  return out.dump();
}

}  // namespace dra::manager
