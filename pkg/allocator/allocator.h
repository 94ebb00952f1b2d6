// Allocator: chooses devices for the claims of one pod, on one node or on the first node that fits.
//
//   Allocator allocator(inventory, options, random);
//   Decision d = allocator.allocate(Request{claims}, inventory.node_id("n0"));
//   if (d.outcome == Outcome::kFeasible) for each claim i: inventory.assume(uid_i, d.results[i]);
//
// Exact: a decision is feasible, infeasible, or "budget spent"; never a guess. Pure: no I/O, and no clock except to end
// a slice (Options::slice); it reads the inventory and changes only its own caches. Semantics: resource.k8s.io/v1 (API
// documentation) and k8s.io/dynamic-resource-allocation/structured of 1.36, first-fit in upstream's order (claims,
// requests, alternatives; pools by driver and name with binding conditions last; slices by name; devices as listed;
// combinations, not permutations). docs/decisions and README.md list where upstream is wrong and the API's
// documentation is followed.
//
// Not thread-safe: one thread owns an allocator and its inventory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "pkg/allocator/decision.h"
#include "pkg/allocator/explain/same_silicon.h"
#include "pkg/allocator/reasons.h"
#include "pkg/api/resource.h"
#include "pkg/base/error.h"
#include "pkg/base/random.h"
#include "pkg/inventory/inventory.h"

namespace dra::inventory {
class Pool;
}

namespace dra::allocator {

class Allocator {
 public:
  // The inventory and the random source (shareIDs) must outlive the allocator.
  Allocator(inventory::Inventory& inventory, Options options, Random& random);
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  const Options& options() const;

  Decision allocate(const Request& request, NodeId node);

  // How long find_nodes() would only answer kUnfinished because the namespace has used much more than its share; zero:
  // call it now.
  Duration must_wait(const std::string& ns);
  // How long until the namespace has made up for what it used beyond its share. For callers whose work is worth a full
  // slice or none.
  Duration share_wait(const std::string& ns);

  // Charges the namespace for everything that happens while it lives, also between calls; calls made meanwhile charge
  // nobody. May be nested: the outermost counts.
  class Bill {
   public:
    Bill(Allocator& allocator, std::string ns);
    ~Bill();
    Bill(const Bill&) = delete;
    Bill& operator=(const Bill&) = delete;

   private:
    Allocator& allocator_;
    const std::string ns_;
  };

  // The first `limit` nodes of `order` on which the request fits, without a search on nodes that summaries refute. With
  // a strategy other than first-fit: the best of all nodes that the slice reaches.
  FoundNodes find_nodes(const Request& request, std::span<const NodeId> order, size_t limit = 1);

  // Counts this request in strategies that weigh recent requests, as if find_nodes() had been called (cpu_milli below
  // 0: unknown). False: the slice ended first, call again. Costs about as much as planning the request.
  bool learn(const Request& request);

  // The ways to serve the request on the node, in upstream's order: `limit` solutions after the first `skip`. For a
  // caller who combines requests on several nodes. One step budget covers all of them; slices do not apply.
  Solutions solutions(const Request& request, NodeId node, size_t skip, size_t limit);

  // An upper bound, never a guess: more cannot fit. Costs a few nanoseconds per node once masks exist.
  FitCounts fit_counts(const Request& request, std::span<const NodeId> order);

  // What the candidates of Request::lists[0] offer on the node now, each alone. A step per node and eight lines.
  ValueSupply value_supply(const Request& request, NodeId node);

  // How many groups of Request::pairs[entry] each node has free, counting no further than `most`: devices that the
  // entry's requests could each take now, other requests, constraints and shared counters left aside. How many devices
  // the requests take does not matter, if each takes those of one group at least. Nodes that are unknown, or for which
  // the budget of counting ended, are left out; stops early when the slice ends, with the nodes counted so far.
  std::vector<GroupsOnNode> count_groups(const Request& request, uint32_t entry, std::span<const NodeId> nodes,
                                         uint32_t most);

  // Why the request does not fit on these nodes. Visits their devices, as many as a slice allows; meant for use after a
  // failure.
  Reasons explain(const Request& request, const ExplainScope& scope);
  Reasons explain(const Request& request, std::span<const NodeId> nodes) {
    return explain(request, {false, nodes, {}});
  }

  // What of the request's devices another name of the same silicon, or a device plugin, keeps from it on these nodes.
  SiliconReasons silicon_reasons(const Request& request, std::span<const NodeId> nodes);
  // See same_silicon.h. The caller hands the first to DeviceIndex::set_plugin_drivers.
  std::map<std::string, std::string> plugin_drivers(NodeId node, std::span<const PluginResource> resources);
  std::set<std::string> drivers_of_resource(NodeId node, const std::string& resource);

  // The devices of complete pools that the class selects. Nullopt if the class is unknown, one of its selectors is
  // invalid, or the budget or a slice ends before all devices are judged. Judged devices are cached, so that the next
  // call gets further. The budget decreases by the devices newly judged; a slice that ends sets it to 0.
  std::optional<inventory::Usage> class_usage(const std::string& class_name, uint64_t& budget);
  // Pool by pool, beginning with number `next`, which moves on: `usable` has a bit for each device that the class
  // selects and that neither a taint nor an unknown field keeps from claims. Ends after the last pool, or when `visit`
  // returns false; false: as class_usage() without a value, and `next` is the pool that is still to be judged.
  using VisitPool = std::function<bool(const inventory::Pool& pool, const uint64_t* usable)>;
  bool each_pool_of_class(const std::string& class_name, inventory::PoolId& next, uint64_t& budget,
                          const VisitPool& visit);

  // Drops all caches (plans, masks, summaries); required after Inventory::set_features. Later decisions and tidy() free
  // the memory in portions.
  void clear_caches();
  // Frees a portion of the dropped memory, 1 to 2 ms; returns whether more is left.
  bool tidy();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dra::allocator
