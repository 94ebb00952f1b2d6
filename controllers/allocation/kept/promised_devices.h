// PromisedDevices: devices that were promised to waiting pods and groups (--preemption=on, --defragment=on,
// pkg/protocol/promise.h), which pods of no higher priority must leave. What a group was promised of its nodes, and
// what the next pods of those that move were, is told to the nodes' chooser.
//
// Derived from the pods as the events of the controller show them; nothing is lost by a restart. A promise counts while
// its pod waits and is ours to bind; whether it stands is judged by the controller that wrote it, which withdraws it
// otherwise. That of a group, and one with moves, lasts until it is removed, also when the pod that has the record is
// bound before the others. Devices that somebody holds are not kept: their claim has them. At most
// protocol::kMostPromises count, half of them of one namespace. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/inventory/inventory.h"
#include "pkg/nodes/node_chooser.h"
#include "pkg/protocol/promise.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

struct Options;

// As whose the devices count for a decision that must leave them; not the uid of a claim.
inline constexpr std::string_view kPromisedToPods = "devices-promised-to-pods";

class PromisedDevices {
 public:
  // A pod came, changed or went (`after` null). Returns the causes that are satisfied now, to be unparked.
  std::set<reconcile::Cause> pod_changed(const reconcile::View& view, const api::Pod* before, const api::Pod* after,
                                         const Options& options, nodes::NodeChooser& nodes);
  bool empty() const { return promised_.empty(); }
  // Promised to other pods than this one, and to other groups than its own, and held by nobody; from pods of this
  // priority. What is kept for the next pods of a controller is not kept from these, and not from the pod that others
  // move for while they have not left.
  api::AllocationResult promised_from(int64_t priority, const api::Pod& pod,
                                      const inventory::Inventory& inventory) const;
  // An earlier pod of its controller moves, and its place is kept: it may fit where pods like it do not.
  bool keeps_for_next(const api::Pod& pod) const { return next_places_.contains(protocol::owner_key(pod)); }

 private:
  struct Move {
    protocol::Instance pod;
    std::string owner;  // its owner_key()
    std::string node;
    api::AllocationResult devices;
    bool left = false;  // it is gone, or terminates
    std::string next;   // uid of the pod that counts on the node, since it waits for the place
  };
  struct One {
    std::string ns;
    std::string group;  // its key, where the promise is a group's
    int64_t priority = 0;
    api::AllocationResult devices;
    std::vector<protocol::Instance> pods;  // of the group
    std::vector<Move> moves;
  };
  bool within_limits(const api::Pod& pod) const;
  static void tell(const reconcile::View& view, const std::string& owner, const One& one,
                   const std::vector<protocol::Instance>& before, const std::vector<protocol::Promise::Place>& places,
                   nodes::NodeChooser& nodes);
  void set_moves(const reconcile::View& view, const std::string& uid, One& one, const protocol::Promise& promise,
                 nodes::NodeChooser& nodes);
  void drop_moves(const std::string& uid, const std::vector<Move>& moves, nodes::NodeChooser& nodes);
  static void add_causes(const std::vector<Move>& moves, std::set<reconcile::Cause>& causes);
  void next_pod_changed(const api::Pod& pod, bool gone, nodes::NodeChooser& nodes);
  void moved_pod_changed(const std::string& uid, bool left);

  std::map<std::string, One, std::less<>> promised_;                       // by uid of the pod that has the record
  std::map<std::string, std::set<std::string>, std::less<>> next_places_;  // records that keep places for its next pods
  std::map<std::string, std::set<std::string>, std::less<>> moving_;       // records, by uid of the pod that moves
};

}  // namespace dra::allocation
