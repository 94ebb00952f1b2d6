#include "pkg/manager/settings.h"

#include <algorithm>

#include "pkg/log/log.h"

namespace dra::manager {

namespace {

// Per decision about devices. A selector that takes longer is evaluated in a slice of its own, 20 ms at most.
constexpr uint64_t kSliceSteps = 20'000;
constexpr Duration kSliceTime = std::chrono::milliseconds(6);

}  // namespace

inventory::Features features_of(const ManagerOptions& options, std::string_view server_version) {
  inventory::Features features = options.features.on(server_version);
  features.stale_generations = options.stale_generations;
  return features;
}

allocator::Options allocator_options_of(const ManagerOptions& options, const Clock& clock) {
  allocator::Options chosen;
  chosen.ignored_taints = options.ignored_taints;
  chosen.step_budget = std::min(allocator::kDefaultStepBudget, options.step_budget);
  chosen.max_step_budget = options.step_budget;
  chosen.strategy = options.strategy;
  chosen.slice = {kSliceSteps, kSliceTime, &clock};
  chosen.strict_selector_errors = options.strict_selector_errors;
  chosen.quantity_operators = options.quantity_operators;
  return chosen;
}

bool serves_best_fit(allocator::Strategy by_default, const reconcile::View& view) {
  if (by_default == allocator::Strategy::kBestFit) return true;
  for (const api::DeviceClass* device_class : view.device_classes()) {
    const auto said = device_class->metadata.annotations.find(std::string(allocator::kStrategyAnnotation));
    if (said != device_class->metadata.annotations.end() &&
        allocator::parse_strategy(said->second) == allocator::Strategy::kBestFit)
      return true;
  }
  return false;
}

void warn_of_extended_resources(reconcile::Scheduling mode, const reconcile::View& view) {
  if (mode == reconcile::Scheduling::kObserve) return;
  for (const api::DeviceClass* device_class : view.device_classes())
    if (device_class->extended_resource_name)
      log::warning("Gated pods that ask for this extended resource wait, unless a device plugin advertises it",
                   {{"deviceClass", device_class->metadata.name}, {"resource", *device_class->extended_resource_name}});
}

}  // namespace dra::manager
