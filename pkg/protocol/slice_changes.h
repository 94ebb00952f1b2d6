// SliceChanges: which claims a change of a ResourceSlice concerns. Usually those with one of its devices that changed;
// all claims on the pool only when the pool as a whole changed: its newest generation, or whether it is complete.
//
//   changes_.visit(view, inventory, before, after, is_published, [](view, claim, out) { out.add(...); }, out);
//
// A pool of thousands of slices is published one slice at a time. So what was last seen of each pool is remembered,
// only to recognise a change: a new instance takes every pool for changed, which costs reconciles and changes nothing
// else. A pool may have 100,000 claims: they are visited in portions (EnqueueRequests::walks), by one walk per pool at
// a time, which begins again if more changed meanwhile. Bounded by the pools and devices that exist. Call it after the
// inventory took the change, on the inventory's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/inventory/inventory.h"
#include "pkg/reconcile/event_handler.h"
#include "pkg/reconcile/view.h"

namespace dra::protocol {

class SliceChanges {
 public:
  static constexpr size_t kClaimsAtOnce = 250;

  // What matters about a device, as text; equal texts mean that nothing changed. Empty: the same as if it were not
  // published.
  using Fact = std::string (*)(const api::Device& device);
  using Visit = std::function<void(const reconcile::View& view, const api::ResourceClaim& claim,
                                   reconcile::EnqueueRequests& out)>;

  // Before or after may be null, as in Changed. Visits the first claims at once, the others in walks. A
  // claim is visited again if more of its pool changes meanwhile, or if it has devices of two pools that changed.
  void visit(const reconcile::View& view, const inventory::Inventory& inventory, const api::ResourceSlice* before,
             const api::ResourceSlice* after, Fact fact, const Visit& visit, reconcile::EnqueueRequests& out);
  // For State::events_end: the walks under way are dropped.
  void events_end() { walking_.clear(); }

 private:
  using PoolName = std::pair<std::string, std::string>;  // driver, pool
  struct Seen {
    int64_t generation = 0;
    inventory::PoolState state = inventory::PoolState::kComplete;
    bool operator==(const Seen&) const = default;
  };
  // Of the claims on a pool: all, or those with one of these devices.
  struct Which {
    bool all = false;
    std::set<std::string, std::less<>> devices;
    bool empty() const { return !all && devices.empty(); }
  };
  struct Walking {
    PoolName pool;
    std::string at;    // the key of the last claim that was visited
    Which now, again;  // `again`: what changed since the walk began
  };
  bool pool_changed(const inventory::Inventory& inventory, const PoolName& name);
  void begin(const reconcile::View& view, const PoolName& pool, Which which, const Visit& visit,
             reconcile::EnqueueRequests& out);
  // False when nothing is left.
  static bool visit_portion(Walking& walking, const reconcile::View& view, const Visit& visit,
                            reconcile::EnqueueRequests& out);

  std::map<PoolName, Seen> seen_;
  std::map<PoolName, std::weak_ptr<Walking>> walking_;  // each is owned by its walk
};

}  // namespace dra::protocol
