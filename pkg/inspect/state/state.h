// State: loads Objects into the packages that decide: the inventory, placement's facts and an allocator over them.
//
//   State state(objects, {});
//   Placed placed = state.place(pod, claims);   // the decision that the manager would make
//
// The rules are the manager's: placement names the nodes that a pod may go to, and the allocator chooses node and
// devices by the strategy. best-fit learns from the claims and templates what requests ask for, like a manager that has
// just started. Groups: groups.h. Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/identity/rules.h"
#include "pkg/inspect/state/objects.h"
#include "pkg/inspect/state/promises.h"
#include "pkg/inventory/inventory.h"
#include "pkg/nodes/plugin_nodes.h"
#include "pkg/placement/assumed_volumes.h"
#include "pkg/placement/cluster.h"
#include "pkg/placement/decision.h"
#include "pkg/placement/node_numbers.h"
#include "pkg/sharing/rules.h"

namespace dra::verdict {
struct Facts;
}

namespace dra::inspect {

struct StateOptions {
  // With Objects::server_version: decides State::inventory's features.
  inventory::FeatureChoice features;
  std::vector<std::string> ignored_taints;
  // The manager's --strategy; classes may name another one.
  allocator::Strategy strategy = allocator::Strategy::kBestFit;
  identity::Rules identities;                        // the manager's --identity, --device-plugin and so on
  sharing::Rules sharing = sharing::Rules::usual();  // and its --shared-device-requests and so on
  std::vector<std::string> topology_levels;          // the manager's --topology-levels
  uint64_t step_budget = allocator::kDefaultMaxStepBudget;
  // Explaining refusals examines nodes and devices again; if false, Placed::why stays empty if devices are lacking.
  bool explain_refusals = true;
  // As if no claim were allocated and no pod were on a node. Claims passed to place() must not be allocated.
  bool empty = false;
};

using Claim = std::shared_ptr<const api::ResourceClaim>;

struct Placed {
  allocator::Outcome outcome = allocator::Outcome::kInfeasible;
  std::string node;                            // kFeasible; empty for claims whose devices any node can use
  std::vector<api::AllocationResult> results;  // of the claims that were not allocated, in order
  std::string why;                             // for all other outcomes: one sentence
  std::string cause{};                         // its code, where `why` explains a refusal (pkg/verdict/causes.h)
};

class State {
 public:
  // `objects` must outlive it.
  State(const Objects& objects, StateOptions options);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const Objects& objects;
  StateOptions options;
  inventory::Inventory inventory;
  placement::Cluster cluster;
  // Where device plugins serve what drivers publish, too; without those to which --device-plugin says apart.
  std::vector<nodes::PluginNodes::Overlap> plugin_overlaps;
  // Proven ones; decisions about others keep what they hold (KeptPromises). None on an empty cluster.
  std::vector<Promised> promises;
  bool keeps_promises = false;  // a KeptPromises lives
  allocator::Allocator& allocator() { return *allocator_; }
  placement::Volumes volumes() const { return volumes_; }
  // The input of pkg/verdict; holders are named as far as they can be seen. Valid while this lives.
  verdict::Facts facts();

  // `claims`: all of the pod; allocated ones restrict where it may go. `pod` null: claims alone, on any node. `only`:
  // this node alone; empty: any. What was promised to others (promises.h) is kept for them.
  Placed place(const api::Pod* pod, const std::vector<Claim>& claims, const std::string& only = "");
  // The nodes that the pod (null: claims alone) may go to, and placement's facts about them; none: `refused` says why.
  // `quickly`: examines only `among`, and the reason counts only those.
  struct Nodes {
    std::vector<inventory::NodeId> ids;
    std::vector<allocator::NodeFacts> facts;  // of `ids`, or none
    int64_t cpu_milli = 0;                    // requested by the pod
  };
  Nodes nodes_for(const api::Pod* pod, const std::vector<Claim>& allocated, const std::vector<std::string>& among,
                  Placed& refused, bool quickly = false);
  // Learns the recent requests for best-fit; called once, before the first decision.
  void learn();
  // take() counts the answer as taken, under these uids: devices, resources of the node, and volumes to bind or
  // provision; release() undoes that. `pod_uid` is empty for claims alone.
  void take(const api::Pod* pod, const std::vector<Claim>& claims, const Placed& placed);
  void release(const std::string& pod_uid, const std::vector<Claim>& claims);
  // Undoes what take() counted on the node, and keeps the devices.
  void leave_node(const std::string& pod_uid);
  // Whether the pod fits where device plugins serve its extended resources.
  bool fits_as_is(const api::Pod& pod, const std::vector<Claim>& claims);

 private:
  void find_plugins();
  // Ignores extended resources that classes provide; `among`: only these nodes; empty: all.
  Placed place_as_is(const api::Pod* pod, const std::vector<Claim>& claims, const std::vector<std::string>& among);
  bool usable(const std::vector<Claim>& allocated, const std::string& node) const;
  void take_volumes(const api::Pod& pod, const std::string& node);

  placement::NodeNumbers numbers_;
  placement::Volumes volumes_ = placement::Volumes::kIgnored;
  SystemClock clock_;
  placement::AssumedVolumes assumed_volumes_;
  SeededRandom random_;
  std::unique_ptr<allocator::Allocator> allocator_;
  bool learned_ = false;
};

// The current claims of a pod; an error names the first entry without a usable claim.
Result<std::vector<Claim>> claims_of(const Objects& objects, const api::Pod& pod);
// The claim that the template would give for the pod (or for no pod).
Claim claim_from_template(const api::ResourceClaimTemplate& from, const std::string& ns, const std::string& name,
                          const std::string& uid);

}  // namespace dra::inspect
