// SliceChanges: which claims a change of a ResourceSlice concerns. Usually those with one of its devices that changed;
// all claims on the pool only when the pool as a whole changed: its newest generation, or whether it is complete.
//
//   for (const api::ResourceClaim* claim : changes_.concerned(view, inventory, before, after, is_published)) ...
//
// A pool of thousands of slices is published one slice at a time. So what was last seen of each pool is remembered,
// only to recognise a change: a new instance takes every pool for changed, which costs reconciles and changes nothing
// else. Bounded by the pools that exist. Call it after the inventory took the change, on the inventory's thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/inventory/inventory.h"
#include "pkg/reconcile/view.h"

namespace dra::reconcile {

class SliceChanges {
 public:
  // What matters about a device, as text; equal texts mean that nothing changed. Empty: the same as if it were not
  // published.
  using Fact = std::string (*)(const api::Device& device);

  // Before or after may be null, as for Reconciler::on_slice. Each claim once.
  std::vector<const api::ResourceClaim*> concerned(const View& view, const inventory::Inventory& inventory,
                                                   const api::ResourceSlice* before, const api::ResourceSlice* after,
                                                   Fact fact);

 private:
  using PoolName = std::pair<std::string, std::string>;  // driver, pool
  struct Seen {
    int64_t generation = 0;
    inventory::PoolState state = inventory::PoolState::kComplete;
    bool operator==(const Seen&) const = default;
  };
  bool pool_changed(const inventory::Inventory& inventory, const PoolName& name);

  std::map<PoolName, Seen> seen_;
};

}  // namespace dra::reconcile
