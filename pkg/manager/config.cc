#include <chrono>
#include <nlohmann/json.hpp>

#include "pkg/manager/manager.h"

namespace dra::manager {

reconcile::Settings settings_of(const ManagerOptions& o) {
  reconcile::Settings settings = o.settings;
  settings.device_taints = o.features.on("").device_taints;
  return settings;
}

namespace {

constexpr const char* kModes[] = {"observe", "gate", "bind"};

nlohmann::json identities_json(const identity::Rules& rules) {
  nlohmann::json exclusive = nlohmann::json::object(), plugin = nlohmann::json::object();
  for (const auto& [driver, pairs] : rules.exclusive)
    for (const auto& [type, other] : pairs) exclusive[driver].push_back(type + "+" + other);
  for (const auto& [driver, use] : rules.plugin) plugin[driver] = identity::plugin_use_name(use);
  return {{"own", rules.own},
          {"parent", rules.parent},
          {"parts", rules.parts},
          {"exclusive", std::move(exclusive)},
          {"annotations", rules.annotations},
          {"devicePlugin", std::move(plugin)},
          {"devicePluginResources", rules.plugin_resources}};
}

nlohmann::json sharing_json(const sharing::Rules& rules) {
  nlohmann::json requests = nlohmann::json::object(), parameters = nlohmann::json::object();
  requests["*"] = sharing::requests_name(rules.others);
  for (const auto& [driver, value] : rules.requests) requests[driver] = sharing::requests_name(value);
  for (const auto& [driver, value] : rules.parameters) parameters[driver] = sharing::parameters_name(value);
  return {{"requests", std::move(requests)}, {"parameters", std::move(parameters)}};
}

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

protocol::ManagerNotes lease_notes(const ManagerOptions& o, const Drivers& drivers, std::string_view version) {
  protocol::ManagerNotes notes;
  notes.version = version;
  notes.mode = kModes[static_cast<int>(o.settings.scheduling)];
  if (o.settings.scheduling == reconcile::Scheduling::kBind) notes.scheduler_names = o.settings.scheduler_names;
  for (const auto& [name, driver] : drivers) (driver.exclusive ? notes.exclusive : notes.shared).push_back(name);
  return notes;
}

std::string config_json(const ManagerOptions& o, const Drivers& drivers) {
  const nlohmann::json config{
      {"claimTemplates", o.settings.claim_templates == ClaimTemplates::kOwn ? "own" : "observe"},
      {"claimControllerIsOff", o.claim_controller_is_off},
      {"deviceTaintEviction", o.settings.device_taint_eviction == DeviceTaintEviction::kOwn ? "own" : "observe"},
      {"deviceTaintEvictionRate", o.settings.device_taint_eviction_rate},
      {"maxEvictionsPerRule", o.settings.max_evictions_per_rule},
      {"scheduling", kModes[static_cast<int>(o.settings.scheduling)]},
      {"schedulerNames", o.settings.scheduler_names},
      {"releaseGates", o.settings.release_gates},
      {"gangHoldTimeoutSeconds", std::chrono::duration<double>(o.settings.gang_hold_timeout).count()},
      {"gangStarvationAfterSeconds", std::chrono::duration<double>(o.settings.gang_starvation_after).count()},
      {"topologyLevels", o.settings.topology_levels},
      {"maxMoves", o.settings.max_moves},
      {"moveAfterSeconds", std::chrono::duration<double>(o.settings.move_after).count()},
      {"movesPerHour", o.settings.moves_per_hour},
      {"controllers", o.settings.controllers},
      {"controllerFlags", o.settings.flags},
      {"ignoredTaints", o.ignored_taints},
      {"identities", identities_json(o.identities)},
      {"sharedDevices", sharing_json(o.sharing)},
      {"stepBudget", o.step_budget},
      {"usage", o.usage ? "on" : "off"},
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
