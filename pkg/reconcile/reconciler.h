// Reconciler: a function from (a const view, a key) to effects. It does no I/O, never waits, and keeps nothing between
// passes: a protocol of several steps is a state that every pass derives anew from the objects.
//
// The on_* functions say which keys a change of an object concerns; before is null for a new object, after for one that
// is gone. An object that was replaced under the same name comes as a deletion and an addition.
#pragma once

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::reconcile {

struct Triggers {
  std::vector<Key> keys;
  std::vector<std::pair<Key, Duration>> later;  // keys that want a pass after a while
  // Keys parked under these causes are woken, some at a time (parking.h).
  std::vector<Cause> wakes;
  void add(Key key) { keys.push_back(std::move(key)); }
  void add_after(Key key, Duration delay) {
    if (delay > Duration::zero())
      later.emplace_back(std::move(key), delay);
    else
      keys.push_back(std::move(key));
  }
  void wake(Cause cause) { wakes.push_back(std::move(cause)); }
};

// How many paced outcomes (Outcome::paced) are performed; per_second 0 means no limit. The questions that one run of a
// key asks and what it does upon their answers count once.
struct Pace {
  double per_second = 0;
  double burst = 1;
};

class Reconciler {
 public:
  virtual ~Reconciler() = default;
  // The name of its queue in metrics, and of itself in --controllers: "lifecycle".
  virtual std::string_view name() const = 0;
  virtual Outcome reconcile(const View& view, const Key& key) const = 0;
  virtual Pace pace() const { return {}; }
  // The controllers that run here, by name: told at the start and when that changes, never during a run.
  virtual void others_run(const std::set<std::string_view>& /*names*/) {}

  virtual void on_pod(const View&, const api::Pod* /*before*/, const api::Pod* /*after*/, Triggers&) const {}
  virtual void on_claim(const View&, const api::ResourceClaim* /*before*/, const api::ResourceClaim* /*after*/,
                        Triggers&) const {}
  // The stream layer alone changed: it has caught up with an answer, or moved on.
  virtual void on_streamed_claim(const View&, const api::ResourceClaim* /*before*/, const api::ResourceClaim* /*after*/,
                                 Triggers&) const {}
  // A write of this reconciler that assumed devices or room on a node surely did not happen: both are free again, and
  // no object changed. Woken are only the keys that parked since the write was decided on: the others did not fit
  // before it either, and a write that is refused again and again must not run them again and again.
  virtual void on_write_given_up(const View&, const Write&, Triggers&) const {}
  // The share of a pod in its node is free (Write::release_pod). The stream may have told of the write before: who was
  // woken by that found no room yet.
  virtual void on_room_released(const View&, Triggers&) const {}
  virtual void on_claim_template(const View&, const api::ResourceClaimTemplate* /*before*/,
                                 const api::ResourceClaimTemplate* /*after*/, Triggers&) const {}
  virtual void on_node(const View&, const api::Node* /*before*/, const api::Node* /*after*/, Triggers&) const {}
  // Something that decides where volumes can be used changed: this PersistentVolumeClaim ("namespace/name"), or, where
  // empty, a volume, a storage class or what a CSI driver reports.
  virtual void on_volumes(const View&, std::string_view /*claim*/, Triggers&) const {}
  // A PodGroup came, changed or went, or whether PodGroups can be read. `group`: GroupRef::key() of groups.h.
  virtual void on_group(const View&, std::string_view /*group*/, Triggers&) const {}
  virtual void on_class(const View&, const api::DeviceClass* /*before*/, const api::DeviceClass* /*after*/,
                        Triggers&) const {}
  virtual void on_slice(const View&, const api::ResourceSlice* /*before*/, const api::ResourceSlice* /*after*/,
                        Triggers&) const {}
  virtual void on_taint_rule(const View&, const api::DeviceTaintRule* /*before*/, const api::DeviceTaintRule* /*after*/,
                             Triggers&) const {}
};

}  // namespace dra::reconcile
