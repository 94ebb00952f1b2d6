#include "pkg/manager/reference.h"

#include <nlohmann/json.hpp>

#include "pkg/base/random.h"
#include "pkg/manager/device_gauges.h"
#include "pkg/manager/instruments.h"
#include "pkg/manager/serving.h"
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
  const Instruments instruments(registry);
  const DeviceGauges gauges(registry, inventory, allocator);
}

std::string reference_json() {
  using Json = nlohmann::json;
  metrics::Registry registry;
  register_metrics(registry);
  Json out{{"metrics", Json::array()}, {"events", Json::array()}, {"conditions", Json::array()}};
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
  return out.dump();
}

}  // namespace dra::manager
