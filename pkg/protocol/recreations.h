// Recreations: evictions of one kind that are under way (of pods that kube-scheduler does not place, or whose devices
// cannot be prepared), so that an owner loses few pods at a time.
//
// At most kAtOnce pods of an owner are evicted; the next ones only when these are gone and every pod that the owner
// made since then runs. An owner that makes none (it was scaled down) may lose the next ones after kNoneComes. So a
// cluster without room costs a workload kAtOnce pods, not all that wait.
//
// Kept in memory: after a restart it begins anew, with kAtOnce pods of each owner. Bounded: kMostOwners owners; while
// all of these are under way no pod of another owner is evicted. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/base/clock.h"
#include "pkg/base/timestamp.h"
#include "pkg/reconcile/view.h"

namespace dra::protocol {

class Recreations {
 public:
  static constexpr size_t kAtOnce = 3;
  static constexpr size_t kMostOwners = 1024;
  static constexpr size_t kMostMade = 256;  // that are followed, of an owner
  static constexpr Duration kNoneComes = std::chrono::minutes(10);
  // An eviction that has not taken place by then was refused.
  static constexpr Duration kRefused = std::chrono::seconds(30);

  // Why this pod of a controller may not be evicted yet, as a clause; empty: it may.
  std::string why_later(const reconcile::View& view, const api::Pod& pod);
  // The pod is evicted now.
  void begin(const api::Pod& pod, WallTime now);
  // A pod came: it may have been made in place of an evicted one.
  void pod_came(const api::Pod& pod);
  bool empty() const { return rounds_.empty(); }

 private:
  struct One {
    std::string key, uid;
    Timestamp at{};
  };
  struct Round {
    std::vector<One> evicted, made;
    WallTime began{}, last{};
  };

  // Forgets what is over; true: the whole round is.
  static bool settle(const reconcile::View& view, Round& round);

  std::map<std::string, Round, std::less<>> rounds_;  // by owner_key()
};

}  // namespace dra::protocol
