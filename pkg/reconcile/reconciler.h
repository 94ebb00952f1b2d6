// Reconciler: a function from (a const view, a key) to effects. It does no I/O, never waits, and keeps nothing between
// reconciles: a protocol of several steps is a state that every reconcile derives anew from the objects.
//
// The on_* functions say which keys a change of an object concerns; before is null for a new object, after for a
// deleted one. An object that was replaced under the same name comes as a deletion and an addition.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::reconcile {

struct EnqueueRequests;

// Looks at the next portion of a list that may be long, and adds its keys; false when nothing is left. Every portion is
// a task of its own, so objects change between them: an object that changes is reported by itself, and one that is
// added behind the walk too.
using Walk = std::function<bool(const View& view, EnqueueRequests& out)>;

struct EnqueueRequests {
  std::vector<Key> keys;
  std::vector<std::pair<Key, Duration>> delayed;  // keys to reconcile after a while
  // Keys parked under these causes are unparked, some at a time (parking.h).
  std::vector<Cause> causes;
  // What is left to visit. Dropped when reconciles stop: the next start enqueues everything anew.
  std::vector<Walk> walks;
  void add(Key key) { keys.push_back(std::move(key)); }
  void add_after(Key key, Duration delay) {
    if (delay > Duration::zero())
      delayed.emplace_back(std::move(key), delay);
    else
      keys.push_back(std::move(key));
  }
  void unpark(Cause cause) { causes.push_back(std::move(cause)); }
};

// How many paced outcomes (Outcome::paced) are performed; per_second 0 means no limit. The live GETs that one run of a
// key asks for and its actions on their answers count once.
struct Pace {
  double per_second = 0;
  double burst = 1;
};

class Reconciler {
 public:
  virtual ~Reconciler() = default;
  // The name of its queue in metrics, and of the controller in --controllers: "lifecycle".
  virtual std::string_view name() const = 0;
  virtual Outcome reconcile(const View& view, const Key& key) const = 0;
  virtual Pace pace() const { return {}; }
  // The names of the controllers that run here: called at the start and when they change, never during a run.
  virtual void others_run(const std::set<std::string_view>& /*names*/) {}

  // From now on no events are delivered: forget what was derived from them. All objects are delivered anew before the
  // next run.
  virtual void events_end() const {}

  virtual void on_pod(const View&, const api::Pod* /*before*/, const api::Pod* /*after*/, EnqueueRequests&) const {}
  virtual void on_claim(const View&, const api::ResourceClaim* /*before*/, const api::ResourceClaim* /*after*/,
                        EnqueueRequests&) const {}
  // Only the watch layer changed: it has caught up with an answer, or moved on.
  virtual void on_streamed_claim(const View&, const api::ResourceClaim* /*before*/, const api::ResourceClaim* /*after*/,
                                 EnqueueRequests&) const {}
  // A write of this reconciler that assumed devices or capacity on a node certainly did not happen: both are free
  // again, and no object changed. Unparks only keys parked after the write was decided: keys parked earlier did not fit
  // then either, and a write that is refused again and again must not run them again and again.
  virtual void on_write_given_up(const View&, const Write&, EnqueueRequests&) const {}
  // The resources that an assumed pod held on its node are free (Write::release_pod). The watch may have delivered the
  // write before; keys that it unparked did not see this capacity yet.
  virtual void on_capacity_released(const View&, EnqueueRequests&) const {}
  // Of a key whose requests fail: the keys that wait for its run, without failing themselves (members of its group).
  virtual std::vector<Key> wait_with(const View&, const Key&) const { return {}; }
  // Requests of the pod fail for a while, as the sentence says, and its key waits until they succeed: a write for
  // people that says so, if this reconciler has one. It is sent without running the key.
  virtual std::optional<Write> show_outage(const View&, const Key&, const std::string& /*sentence*/) const {
    return std::nullopt;
  }
  virtual void on_claim_template(const View&, const api::ResourceClaimTemplate* /*before*/,
                                 const api::ResourceClaimTemplate* /*after*/, EnqueueRequests&) const {}
  virtual void on_node(const View&, const api::Node* /*before*/, const api::Node* /*after*/, EnqueueRequests&) const {}
  // A change in where volumes can be used. `claim`: the PersistentVolumeClaim that changed ("namespace/name"); empty: a
  // volume, a storage class or what a CSI driver reports changed.
  virtual void on_volumes(const View&, std::string_view /*claim*/, EnqueueRequests&) const {}
  // A PodGroup was added, changed or deleted, or whether PodGroups can be read. `group`: GroupRef::key() of
  // pkg/protocol/groups.h.
  virtual void on_group(const View&, std::string_view /*group*/, EnqueueRequests&) const {}
  virtual void on_class(const View&, const api::DeviceClass* /*before*/, const api::DeviceClass* /*after*/,
                        EnqueueRequests&) const {}
  virtual void on_slice(const View&, const api::ResourceSlice* /*before*/, const api::ResourceSlice* /*after*/,
                        EnqueueRequests&) const {}
  virtual void on_taint_rule(const View&, const api::DeviceTaintRule* /*before*/, const api::DeviceTaintRule* /*after*/,
                             EnqueueRequests&) const {}
};

}  // namespace dra::reconcile
