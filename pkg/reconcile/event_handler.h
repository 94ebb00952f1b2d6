// EventHandler: says which keys a change concerns, as controller-runtime's handlers do. It returns requests and does no
// I/O; what it changes is in the state that it is handed (state.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pkg/reconcile/change.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/state.h"
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

class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void changed(const Change& change, const View& view, State& state, EnqueueRequests& out) const = 0;
  // Of a key whose requests fail: the keys that wait for its run, without failing themselves (members of its group).
  virtual std::vector<Key> wait_with(const Key&, const View&, State&) const { return {}; }
  // Requests of the pod fail for a while, as the sentence says, and its key waits until they succeed: a write for
  // people that says so, if this controller has one. It is sent without running the key.
  virtual std::optional<Write> show_outage(const Key&, const View&, State&, const std::string& /*sentence*/) const {
    return std::nullopt;
  }
};

}  // namespace dra::reconcile
