#include <chrono>
#include <nlohmann/json.hpp>

#include "pkg/manager/manager.h"

namespace dra::manager {

reconcile::Settings settings_of(const ManagerOptions& o) {
  reconcile::Settings settings;
  settings.controllers = o.controllers;
  settings.scheduling = static_cast<reconcile::Scheduling>(o.allocation.mode);
  settings.scheduler_names = o.allocation.scheduler_names;
  settings.release_gates = o.allocation.release_gates;
  settings.own_claim_templates = o.claim_templates == ClaimTemplates::kOwn;
  settings.own_taint_eviction = o.device_taint_eviction == DeviceTaintEviction::kOwn;
  settings.taint_eviction_rate = o.device_taint_eviction_rate;
  settings.max_evictions_per_rule = o.max_evictions_per_rule;
  settings.device_taints = o.features.on("").device_taints;
  settings.gang_hold_timeout = o.allocation.gang_hold_timeout;
  settings.gang_starvation_after = o.allocation.gang_starvation_after;
  settings.topology_levels = o.allocation.topology_levels;
  settings.flags = o.controller_flags;
  return settings;
}

namespace {

nlohmann::json drivers_json(const Drivers& drivers) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, driver] : drivers)
    out[name] = {{"exclusive", driver.exclusive},
                 {"foreignClaims", driver.foreign_claims},
                 {"allDevicesTainted", driver.tainted},
                 {"why", driver.why}};
  return out;
}

}  // namespace

std::string config_json(const ManagerOptions& o, const Drivers& drivers) {
  static constexpr const char* kModes[] = {"observe", "gate", "bind"};
  const nlohmann::json config{
      {"claimTemplates", o.claim_templates == ClaimTemplates::kOwn ? "own" : "observe"},
      {"claimControllerIsOff", o.claim_controller_is_off},
      {"deviceTaintEviction", o.device_taint_eviction == DeviceTaintEviction::kOwn ? "own" : "observe"},
      {"deviceTaintEvictionRate", o.device_taint_eviction_rate},
      {"maxEvictionsPerRule", o.max_evictions_per_rule},
      {"scheduling", kModes[static_cast<int>(o.allocation.mode)]},
      {"schedulerNames", o.allocation.scheduler_names},
      {"releaseGates", o.allocation.release_gates},
      {"gangHoldTimeoutSeconds", std::chrono::duration<double>(o.allocation.gang_hold_timeout).count()},
      {"gangStarvationAfterSeconds", std::chrono::duration<double>(o.allocation.gang_starvation_after).count()},
      {"topologyLevels", o.allocation.topology_levels},
      {"controllers", o.controllers},
      {"controllerFlags", o.controller_flags},
      {"ignoredTaints", o.ignored_taints},
      {"stepBudget", o.step_budget},
      {"strategy", allocator::strategy_name(o.strategy)},
      {"stalePoolGenerations", o.stale_generations},
      {"strictSelectorErrors", o.strict_selector_errors},
      {"quantityOperators", o.quantity_operators},
      {"auditPeriodSeconds", std::chrono::duration<double>(o.audit_period).count()}};
  return nlohmann::json{{"dracontrollermanager.config", config},
                        {"dracontrollermanager.drivers", drivers_json(drivers)}}
      .dump();
}

}  // namespace dra::manager
