// PendingPods: the pods that their last decision left waiting, counted by DeviceClass and main cause.
//
//   pending.waits({.key = "ns/pod", .uid = ..., .gated = true, .device_class = "gpu", .cause = "InUse"});
//   pending.count(view)  ->  {{"gpu", "InUse"}: 1}
//
// A pod leaves the count when it is gone, finished, bound or ungated. Bounded: by the number of waiting pods; the
// result by kMaxClasses classes times the causes of allocation::failure_causes(), and ClaimMissing.
//
// Not thread-safe: belongs to the reactor's thread.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::manager {

class PendingPods {
 public:
  // Classes counted under their own name, first by name; the others are counted together as "(others)".
  static constexpr size_t kMaxClasses = 50;

  struct Waiting {
    std::string key;  // namespace/name
    std::string uid;
    bool gated = false;  // it waits at our gate; false: for a node
    std::string device_class;
    std::string cause;
  };
  using Counts = std::map<std::pair<std::string, std::string>, size_t>;  // {class, cause} -> pods

  // Replaces what is known of the pod.
  void waits(Waiting waiting);
  // The same, from the labels of the metric dra_pending_pods that a reconciler emits: pod, uid, gated, class, cause.
  void waits(const reconcile::Labels& labels);
  // The pod is gone.
  void gone(const std::string& key) { waiting_.erase(key); }
  // Forgets pods that no longer wait.
  Counts count(const reconcile::View& view);
  void clear() { waiting_.clear(); }

 private:
  std::unordered_map<std::string, Waiting> waiting_;  // by key
};

}  // namespace dra::manager
