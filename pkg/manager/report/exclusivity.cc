#include "pkg/manager/report/exclusivity.h"

#include <set>

#include "pkg/protocol/pod_claims.h"

namespace dra::manager {

namespace {

std::set<std::string> drivers_taken_by_others(const api::ResourceClaim* claim) {
  std::set<std::string> drivers;
  if (!claim || !claim->status.allocation || protocol::needs_proof(*claim)) return drivers;
  for (const api::DeviceRequestAllocationResult& result : claim->status.allocation->results)
    if (!result.admin_access) drivers.insert(result.driver);
  return drivers;
}

std::string why(const Exclusivity::Driver& driver, bool ignores_taints) {
  if (driver.tainted && ignores_taints)
    return "every device bears a taint, and --ignore-taints names one; that a policy keeps claims from tolerating it "
           "is not checked";
  if (driver.foreign_claims == 0) return "no claim that somebody else allocated holds a device of the driver";
  return std::to_string(driver.foreign_claims) + (driver.foreign_claims == 1 ? " claim holds" : " claims hold") +
         " devices of the driver and " + (driver.foreign_claims == 1 ? "was" : "were") +
         " allocated by others: opt in all of its consumers, or taint its devices (docs/install.md, exclusivity)";
}

}  // namespace

void Exclusivity::changed(const api::ResourceClaim* before, const api::ResourceClaim* after) {
  for (const std::string& driver : drivers_taken_by_others(after)) ++foreign_[driver];
  for (const std::string& driver : drivers_taken_by_others(before)) {
    const auto found = foreign_.find(driver);
    if (found != foreign_.end() && --found->second == 0) foreign_.erase(found);
  }
}

std::map<std::string, Exclusivity::Driver> Exclusivity::drivers(const std::map<std::string, inventory::Usage>& devices,
                                                                bool ignores_taints) const {
  std::map<std::string, Driver> drivers;
  for (const auto& [name, usage] : devices) {
    Driver& driver = drivers[name];
    const auto foreign = foreign_.find(name);
    driver.foreign_claims = foreign == foreign_.end() ? 0 : foreign->second;
    driver.tainted = usage.tainted == usage.total;
    driver.exclusive = driver.foreign_claims == 0 || (driver.tainted && ignores_taints);
    driver.why = why(driver, ignores_taints);
  }
  return drivers;
}

}  // namespace dra::manager
