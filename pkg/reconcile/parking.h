// ParkingLot: keys that wait for a cause ("class/gpu"), and which of them are tried when it changes.
//
// Keys of one shape want the same (Park::shape), so one of them is tried first: if it parks again, all have failed; if
// it does not, the next one follows. A change hands out at most kBatch keys at once, round-robin by namespace, at most
// kBatchOfNamespace of each, ordered by priority, then age. The change's other shapes follow in further batches, those
// tried longest ago first, so that no key that fits waits forever behind keys that do not. One change tries a shape at
// most once.
//
// A key that is handed out has a rank in the queue (rank_of()), so that the next key of its shape runs before younger
// keys that were handed out with the first. A round ends after kBatch first keys, or when all were run: keys of the
// next round never overtake keys of this one, so no key in the queue is overtaken forever.
//
// The caller reports each run of a key, whatever caused it: its start by begin(), its end by park(), end() or fail().
//
// Not thread-safe: one thread owns it. Bounded by the keys parked in it, times the causes each has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pkg/base/fair_line.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/key.h"

namespace dra::reconcile {

class ParkingLot {
 public:
  static constexpr size_t kBatch = 64;
  static constexpr size_t kBatchOfNamespace = 16;

  // From now on the key waits for these causes (in place of earlier ones): it fits nothing. If it was handed out here
  // for a shape that it no longer has, returns the key to run in its place; mostly nothing.
  std::vector<Key> park(const Key& key, const Park& park);
  // The key is being run, whatever caused it: it is no longer parked.
  void begin(const Key& key);
  // Its run ended without parking it, or its object is gone. If it was handed out here, returns the next key of its
  // shape to run; else nothing.
  std::vector<Key> end(const Key& key);
  // Its run ended undecided. Every key of its shape would cost as much, so the next one waits for a change, or until
  // this key ends after all.
  void fail(const Key& key);
  // Forgets everything.
  void clear();

  // Something about the cause changed. Returns the keys to run now; more come from next_batch(). `since`: only keys
  // whose shape was tried after that time.
  std::vector<Key> wake(const Cause& cause, uint64_t since = 0);
  // The lot's time: a counter.
  uint64_t time() const { return time_; }
  // More keys of changes whose first keys were already handed out. Call it when those have been run, and now and then
  // before that. Empty if nothing is left.
  std::vector<Key> next_batch();
  bool has_leftovers() const { return !sweeps_.empty(); }
  // The rank of a key that was handed out and has not parked, ended or failed since; nothing for other keys.
  std::optional<Rank> rank_of(const Key& key) const;

  size_t size() const { return parked_.size(); }
  size_t shapes() const { return shapes_.size(); }
  size_t waiting_for(const Cause& cause) const;

 private:
  // Thousands of keys and shapes may be parked, so each text is kept once, in the map that owns it: the nodes of
  // parked_, shapes_ and by_cause_ do not move.
  struct Shape;
  struct Waiting;
  using OfCause = std::pair<const Cause, Waiting>;
  struct Entry {
    std::vector<OfCause*> causes;
    int32_t priority = 0;
    std::string since;
    Shape* shape = nullptr;
  };
  using Parked = std::unordered_map<Key, Entry, KeyHash>;
  using Member = const Parked::value_type*;
  struct GoesFirst {  // higher priority, then older, then by key
    bool operator()(Member a, Member b) const {
      return std::tie(b->second.priority, a->second.since, a->first) <
             std::tie(a->second.priority, b->second.since, b->first);
    }
    bool operator()(const Shape* a, const Shape* b) const { return (*this)(*a->members.begin(), *b->members.begin()); }
  };
  // Keys that want the same; exists while one of them is parked or on trial.
  struct Shape {
    const std::string* id = nullptr;
    std::string ns;
    std::set<Member, GoesFirst> members;
    std::vector<std::pair<OfCause*, size_t>> causes;  // sorted; how many members wait for each
    uint64_t tried_at = 0;                            // the last time that one of them did not fit
    std::optional<Key> on_trial;                      // handed out and not ended yet
  };
  // One namespace's shapes that wait for one cause. While a shape is in lines, its first member must not change.
  struct Line {
    std::set<Shape*, GoesFirst> by_order;
    std::map<uint64_t, Shape*> by_trial;  // keyed by tried_at, which no two shapes share
  };
  using Lines = std::map<std::string, Line>;  // by namespace
  struct Waiting {
    Lines lines;
    size_t keys = 0;  // parked with this cause
  };

  // Shapes that were tried after `since` and before `until` are to be tried once more.
  struct Sweep {
    uint64_t since, until;
    bool covers(uint64_t tried_at) const { return tried_at > since && tried_at < until; }
  };

  static std::string shape_id(const Key& key, const Park& park);
  // The place in the shape's causes where this one is or belongs.
  static auto place_of(Shape& shape, const OfCause* cause) {
    return std::lower_bound(shape.causes.begin(), shape.causes.end(), cause,
                            [](const auto& one, const OfCause* other) { return std::less<>()(one.first, other); });
  }
  // Takes the shape out of every line, applies `change` to it, and puts it back.
  void update(Shape& shape, const std::function<void(Shape&)>& change);
  void enter_lines(Shape& shape);
  void leave_lines(Shape& shape);
  // Unparks the shape's first member and puts it on trial.
  Key hand_out(Shape& shape, uint64_t round);
  // The round of keys that are handed out now for the first time.
  uint64_t current_round();
  // The namespace's shapes that the sweep covers, in the order in which to try them; at most `limit`.
  std::vector<Shape*> candidates(const Line& line, Sweep sweep, bool by_order, size_t limit) const;
  std::vector<Key> take(const Cause& cause, Sweep sweep, bool by_order, size_t limit, bool& more);

  uint64_t time_ = 0;
  Parked parked_;
  std::unordered_map<std::string, Shape> shapes_;
  struct Trial {
    std::string shape;
    Rank rank;
  };
  // Keys that were handed out and have not parked or ended since. A key that failed is no longer on trial, but when it
  // ends, the next one of its shape follows.
  std::unordered_map<Key, Trial, KeyHash> trials_;
  uint64_t round_ = 0;
  size_t begun_in_round_ = 0;          // first keys handed out
  std::map<Cause, Waiting> by_cause_;  // causes of parked keys
  std::map<Cause, Sweep> sweeps_;      // what is still to be tried
  Cause last_swept_;                   // the cause whose turn it was last
};

}  // namespace dra::reconcile
