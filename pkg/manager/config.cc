#include <chrono>
#include <nlohmann/json.hpp>

#include "pkg/manager/manager.h"

namespace dra::manager {

std::string config_json(const ManagerOptions& o) {
  static constexpr const char* kModes[] = {"observe", "gate", "bind"};
  const nlohmann::json config{
      {"claimTemplates", o.claim_templates == ClaimTemplates::kOwn ? "own" : "observe"},
      {"deviceTaintEviction", o.device_taint_eviction == DeviceTaintEviction::kOwn ? "own" : "observe"},
      {"deviceTaintEvictionRate", o.device_taint_eviction_rate},
      {"scheduling", kModes[static_cast<int>(o.allocation.mode)]},
      {"schedulerNames", o.allocation.scheduler_names},
      {"releaseGates", o.allocation.release_gates},
      {"controllers", o.controllers},
      {"ignoredTaints", o.ignored_taints},
      {"stepBudget", o.step_budget},
      {"strictSelectorErrors", o.strict_selector_errors},
      {"quantityOperators", o.quantity_operators},
      {"auditPeriodSeconds", std::chrono::duration<double>(o.audit_period).count()}};
  return nlohmann::json{{"dracontrollermanager.config", config}}.dump();
}

}  // namespace dra::manager
