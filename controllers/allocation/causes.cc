#include "controllers/allocation/causes.h"

namespace dra::allocation {

reconcile::Cause class_cause(std::string_view name) {
  return "class/" + std::string(name);
}
reconcile::Cause driver_cause(std::string_view driver) {
  return "driver/" + std::string(driver);
}

void add_class_causes(const api::ResourceClaimSpec& spec, std::set<reconcile::Cause>& out) {
  for (const api::DeviceRequest& request : spec.requests) {
    if (request.exactly) out.insert(class_cause(request.exactly->device_class_name));
    for (const api::DeviceSubRequest& alternative : request.first_available)
      out.insert(class_cause(alternative.device_class_name));
  }
}

void add_driver_causes(const api::AllocationResult& allocation, std::set<reconcile::Cause>& out) {
  for (const api::DeviceRequestAllocationResult& result : allocation.results) out.insert(driver_cause(result.driver));
}

}  // namespace dra::allocation
