// DeviceJudge: what speaks against one device for a filter, other devices aside. Internal to
// explain.cc.
#pragma once

#include <string>
#include <vector>

#include "pkg/allocator/plan.h"
#include "pkg/allocator/reasons.h"

namespace dra::allocator {

struct DeviceCause {
  Cause cause = Cause::kCombination;
  int index = -1;      // of a selector
  std::string detail;  // what is counted together
};

class DeviceJudge {
 public:
  DeviceJudge(inventory::Core& core, Selectors& selectors, Filters& filters)
      : core_(core), selectors_(selectors), filters_(filters) {}

  // In the order of Cause; nodes and constraints are not looked at.
  DeviceCause alone(FilterId filter, bool admin, const inventory::Pool& pool, uint32_t device);
  // The same for people, with the figures of this device. Empty: `detail` says it all.
  std::string example(FilterId filter, const inventory::Pool& pool, uint32_t device, const DeviceCause& found);
  // Codes of an attribute's values, comparable across pools; empty: it has none.
  std::vector<std::string> values_of(const inventory::Pool& pool, uint32_t device, const std::string& attribute) const;

 private:
  bool selectors(const std::vector<SelectorId>& list, Cause cause, const inventory::Pool& pool, uint32_t device,
                 DeviceCause& out);
  bool capacity(Filter& filter, const inventory::Pool& pool, uint32_t device, DeviceCause& out);
  const inventory::CounterUse* short_counter(const inventory::Pool& pool, uint32_t device) const;
  std::string counter_example(const inventory::Pool& pool, uint32_t device) const;
  std::string capacity_example(Filter& filter, const inventory::Pool& pool, uint32_t device, const std::string& name);

  inventory::Core& core_;
  Selectors& selectors_;
  Filters& filters_;
};

}  // namespace dra::allocator
