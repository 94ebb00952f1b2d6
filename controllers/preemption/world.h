// LiveWorld: the objects of now as the question of pkg/preempt: who must go, or move (Options::kind), so that a waiting
// pod fits.
//
//   LiveWorld live(view, tools, options);
//   if (std::string why = live.ask_for(pod); !why.empty()) ...   // it cannot be judged: advice only
//   const preempt::Answer answer = live.answer();
//
// Claims are those of the stream, which the inventory counts; pods are the newest known, which the cluster counts. So a
// pod or a claim with a write under way holds what it will have. Nominations are set aside while this lives: promises
// are judged instead, and others' count for their own pods only. Inventory and cluster are restored by the destructor.
// Visits every pod and claim. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controllers/preemption/options.h"
#include "pkg/allocator/allocator.h"
#include "pkg/inventory/inventory.h"
#include "pkg/nodes/node_chooser.h"
#include "pkg/preempt/preempt.h"
#include "pkg/protocol/promise.h"
#include "pkg/reconcile/view.h"

namespace dra::preemption {

struct Engines {
  inventory::Inventory& inventory;
  allocator::Allocator& allocator;
  nodes::NodeChooser& nodes;
};

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
  };
  Refusal ask_for(const api::Pod& pod);
  preempt::Answer answer();

  // What the answer, which names victims, becomes when it is written down.
  protocol::Promise promise_of(const preempt::Answer& answer) const;
  // Why somebody else could take what the answer's victims leave; empty: nobody can.
  std::string why_others_could_take(const preempt::Answer& answer);
  // A promise of the same priority does not stand beside this pod's own, which does: its owner withdraws it, or the
  // other way round. Until one is gone neither is proven.
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
  void add_facts_of_moves();
  bool stays(const preempt::Pod& pod) const;
  bool is_allocated_by_us(const preempt::Pod& pod) const;
  std::string name_of(uint32_t pod) const;
  void set_nominations_aside();
  std::string why_driver_is_shared(const std::string& driver) const;

  const reconcile::View& view_;
  const Engines engines_;
  const Options& options_;
  std::unique_ptr<preempt::World> world_;
  std::map<std::string, uint32_t, std::less<>> claims_;  // by key
  std::map<std::string, uint32_t, std::less<>> pods_;    // by key
  std::vector<std::shared_ptr<const api::Pod>> aside_;   // nominated pods that count nowhere meanwhile
  std::vector<std::string> owners_;                      // of World::promises, by number: key of the pod
  std::string asked_;                                    // key
  bool budgets_known_ = false;
};

}  // namespace dra::preemption
