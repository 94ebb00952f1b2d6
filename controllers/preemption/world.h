// LiveWorld: the objects of now as the question of pkg/preempt: who must go, or move (Options::kind), so that a waiting
// pod fits, or its group (not for moves).
//
//   LiveWorld live(view, tools, options);
//   if (std::string why = live.ask_for(pod); !why.empty()) ...   // it cannot be judged: advice only
//   const preempt::Answer answer = live.answer();
//
// Claims are those of the stream, which the inventory counts; pods are the newest known, which the cluster counts. So a
// pod or a claim with a write under way holds what it will have. Nominations are set aside while this lives: promises
// are judged instead, and others' count for their own pods only. Devices in quarantine, and those that the pod avoids
// (docs/design/recovery.md), are held back. Inventory and cluster are restored by the destructor.
// Visits every pod and claim. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controllers/preemption/numbers.h"
#include "controllers/preemption/options.h"
#include "pkg/allocator/allocator.h"
#include "pkg/inventory/inventory.h"
#include "pkg/nodes/node_chooser.h"
#include "pkg/preempt/order.h"
#include "pkg/preempt/preempt.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/promise.h"
#include "pkg/reconcile/view.h"

namespace dra::preemption {

struct Engines {
  inventory::Inventory& inventory;
  allocator::Allocator& allocator;
  nodes::NodeChooser& nodes;
};

// The members of the group (its key) that are ours to bind and could be placed now.
std::vector<const api::Pod*> waiting_members(const reconcile::View& view, const std::string& group,
                                             const Options& options);

// As whose the devices count that are kept for pods that moved away; not the uid of a claim.
inline constexpr std::string_view kPlacesOfMoved = "places-of-moved-pods";

class LiveWorld {
 public:
  // All must outlive it. The chooser must have a cluster.
  LiveWorld(const reconcile::View& view, const Engines& engines, const Options& options);
  ~LiveWorld();
  LiveWorld(const LiveWorld&) = delete;
  LiveWorld& operator=(const LiveWorld&) = delete;

  // Empty: it can be judged, and answer() may be called. `ordinary`: what keeps it ends by itself in a moment.
  struct Refusal {
    std::string why;  // a clause
    bool ordinary = false;
    bool too_few = false;  // fewer members wait than its group needs: what it was promised is void
  };
  // About the pod, or the waiting members of its group; the pod, which is not deleted, has or would have the record.
  Refusal ask_for(const api::Pod& pod);
  preempt::Answer answer();

  // What the answer, which names victims, becomes when it is written down.
  protocol::Promise promise_of(const preempt::Answer& answer) const;
  // Why somebody else could take what the answer's victims leave; empty: nobody can.
  std::string why_others_could_take(const preempt::Answer& answer);
  // Of an answer that names moves: who leaves first, if an order exists in which none waits for another's place.
  std::vector<uint32_t> order_of(const preempt::Answer& answer) { return preempt::order_of_moves(*world_, answer); }
  std::vector<uint32_t> with_a_free_place(const preempt::Answer& answer, const std::vector<uint32_t>& pods) {
    return preempt::with_a_free_place(*world_, answer, pods);
  }
  // Pods that plans of moves name, and that have not left yet; each once.
  std::vector<uint32_t> planned_moves() const;
  // An earlier pod of its controller moved away, and the place that the next one gets is kept.
  bool has_kept_place() const;
  std::optional<uint32_t> number_of(const protocol::Instance& pod) const;
  // The question is about its group.
  bool of_group() const { return of_group_; }
  // Another member of its group has a promise for it that precedes this pod's.
  bool is_second() const { return seconds_.contains(asked_); }
  // Its group has two promises, or a promise of the same priority does not stand beside this pod's own, which does: its
  // owner withdraws it, or the other way round. Until one is gone neither is proven.
  bool has_rival();
  // Names of the victims, for people; of pods of other namespaces none. Of those that move, the new places, too.
  std::string shown(const std::vector<uint32_t>& pods) const;
  std::string shown_moves(const preempt::Answer& answer) const;
  const api::Pod& pod(uint32_t number) const { return *world_->pods[number].object; }
  // How many promises there are, in all and in the namespace.
  struct Count {
    size_t all = 0, of_namespace = 0;
  };
  Count promises(const std::string& ns) const;

 private:
  void add_claims();
  void add_pods();
  void add_groups();
  void add_budgets();
  void add_promises();
  // Left already, or leaves, for a place that is kept for the next pod of its controller.
  struct MovedAway {
    protocol::Promise::Move move;
    std::string whose;  // key of the pod that it moved for
    api::AllocationResult devices;
  };
  void add_moves(const protocol::Promise& record, const std::string& owner, preempt::Promise& promise);
  void hold_places_of_moved();
  bool is_next_of(const MovedAway& away) const;
  void add_facts_of_moves();
  bool stays(const preempt::Pod& pod) const;
  bool is_of_one_group(const api::Pod& owner, const protocol::Promise& promise) const;
  Refusal find_members(const api::Pod& pod, std::vector<uint32_t>& pending);
  Refusal judge(uint32_t pod);
  void find_equal(const std::vector<uint32_t>& pending);
  std::string searches_more() const;
  bool is_allocated_by_us(const preempt::Pod& pod) const;
  std::string name_of(uint32_t pod) const;
  void set_nominations_aside();
  void hold_avoided_devices_back();
  bool is_promised(const inventory::DeviceName& device) const;  // to another pod
  std::string why_driver_is_shared(const std::string& driver) const;

  const reconcile::View& view_;
  const Engines engines_;
  const Options& options_;
  std::unique_ptr<preempt::World> world_;
  Numbers claims_, pods_;          // of World::claims and World::pods
  std::vector<uint32_t> grouped_;  // pods that may be of a group
  // Nominated pods that count nowhere meanwhile, and their nodes.
  std::vector<std::pair<std::shared_ptr<const api::Pod>, std::string>> aside_;
  // Devices that nobody gets, or not the pods that are asked about: no victim has to go for them.
  std::optional<protocol::DevicesHeldBack> held_back_;
  std::vector<std::string> owners_;             // of World::promises, by number: key of the pod with the record
  std::set<std::string, std::less<>> seconds_;  // keys of pods whose group has another one
  std::set<uint32_t> second_groups_;
  std::vector<MovedAway> moved_away_;
  bool holds_places_ = false;
  std::string asked_;  // key
  bool of_group_ = false;
  bool budgets_known_ = false;
};

}  // namespace dra::preemption
