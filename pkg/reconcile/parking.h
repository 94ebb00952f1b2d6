// ParkingLot: keys that wait for a cause ("class/gpu"), and who is woken when it changes.
//
// A change wakes at most kBatch keys of its cause at a time, by priority, then age. As long as woken keys park again,
// the next batch of the same change follows, so that none that fits waits for ever behind others that do not; a key is
// woken at most once for one change. Not thread-safe: one thread owns it. Bounded by the keys parked in it, times the
// causes each has.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "pkg/reconcile/effect.h"

namespace dra::reconcile {

class ParkingLot {
 public:
  static constexpr size_t kBatch = 64;

  // The key waits for these causes from now on (in place of those it waited for before).
  void park(const std::string& key, const Park& park);
  // The key waits no longer: it was decided, or its object is gone.
  void leave(const std::string& key);

  // Something about the cause changed. The keys to run now; more of them come from next_batch(). `since`: only keys
  // that parked after that time.
  std::vector<std::string> wake(const Cause& cause, uint64_t since = 0);
  // The lot's time: a counter.
  uint64_t time() const { return time_; }
  // Up to kBatch more keys of changes whose first keys were already woken: to be called when the keys handed out before
  // have been run. Empty when nothing is left over.
  std::vector<std::string> next_batch();
  bool has_leftovers() const { return !sweeps_.empty(); }

  size_t size() const { return parked_.size(); }
  size_t waiting_for(const Cause& cause) const;

 private:
  struct Order {  // who goes first: higher priority, then older, then by key
    int32_t priority;
    std::string since;
    std::string key;
    bool operator<(const Order& other) const {
      return std::tie(other.priority, since, key) < std::tie(priority, other.since, other.key);
    }
  };
  struct Entry {
    Park park;
    uint64_t parked_at;  // the lot's time of parking
  };

  // Keys that parked after `since` and before `until`.
  struct Sweep {
    uint64_t since, until;
  };

  std::vector<std::string> take(const Cause& cause, Sweep sweep);

  uint64_t time_ = 0;
  std::unordered_map<std::string, Entry> parked_;
  std::map<Cause, std::set<Order>> by_cause_;
  std::map<Cause, Sweep> sweeps_;  // what is still to be woken
};

}  // namespace dra::reconcile
