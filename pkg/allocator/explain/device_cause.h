// DeviceJudge: why one device does not suit a filter, ignoring other devices. Internal to
// explain.cc.
#pragma once

#include <string>
#include <vector>

#include "pkg/allocator/plan/plan.h"
#include "pkg/allocator/reasons.h"

namespace dra::allocator {

struct DeviceCause {
  Cause cause = Cause::kCombination;
  int index = -1;      // of a selector
  std::string detail;  // causes with equal detail are counted together
};

class DeviceJudge {
 public:
  DeviceJudge(inventory::DeviceIndex& device_index, Selectors& selectors, Filters& filters)
      : device_index_(device_index), selectors_(selectors), filters_(filters) {}

  // In the order of Cause; ignores nodes and constraints.
  DeviceCause alone(FilterId filter, bool admin, const inventory::Pool& pool, uint32_t device);
  // The same as readable text, with this device's amounts. Empty: `detail` is complete.
  std::string example(FilterId filter, const inventory::Pool& pool, uint32_t device, const DeviceCause& found);
  // Codes of an attribute's values, comparable across pools; empty if the device has none.
  std::vector<std::string> values_of(const inventory::Pool& pool, uint32_t device, const std::string& attribute) const;
  // The first counter that has less left than the device takes, as `detail` of kCounterShort names it: "set/counter".
  std::string name_of_short_counter(const inventory::Pool& pool, uint32_t device) const;

 private:
  bool selectors(const std::vector<SelectorId>& list, Cause cause, const inventory::Pool& pool, uint32_t device,
                 DeviceCause& out);
  bool capacity(Filter& filter, const inventory::Pool& pool, uint32_t device, DeviceCause& out);
  const inventory::CounterUse* short_counter(const inventory::Pool& pool, uint32_t device) const;
  std::string foreign_set(const inventory::Pool& pool, uint32_t device) const;
  std::string silicon_example(const inventory::Pool& pool, uint32_t device) const;
  std::string plugin_example(const inventory::Pool& pool, uint32_t device) const;
  std::string counter_example(const inventory::Pool& pool, uint32_t device) const;
  std::string capacity_example(Filter& filter, const inventory::Pool& pool, uint32_t device, const std::string& name);

  inventory::DeviceIndex& device_index_;
  Selectors& selectors_;
  Filters& filters_;
};

}  // namespace dra::allocator
