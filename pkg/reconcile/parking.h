// ParkingLot: keys that wait for a cause ("class/gpu"), and which of them are tried when it changes.
//
// Keys of one shape want the same (Park::shape), so one of them is tried first: when it parks again, all have failed;
// when it does not, the next one follows. A change hands out at most kBatch keys at once, round-robin by namespace and
// at most kBatchOfNamespace of each, by priority, then age. The other shapes of the change follow in further batches,
// those that were tried longest ago first, so that none that fits waits forever behind others that do not; a shape is
// tried at most once for one change.
//
// What is handed out has a rank in the queue (rank_of()), so that the next one of a shape is run before younger keys
// that were handed out with the first. A round ends after kBatch first keys, or when all were run: keys of the next one
// pass none of this one, so nothing that waits in the queue is passed forever.
//
// A key that runs for whatever reason is announced (begin()), and so is how its run ended: park(), end() or fail().
//
// Not thread-safe: one thread owns it. Bounded by the keys parked in it, times the causes each has.
#pragma once

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

namespace dra::reconcile {

class ParkingLot {
 public:
  static constexpr size_t kBatch = 64;
  static constexpr size_t kBatchOfNamespace = 16;

  // The key waits for these causes from now on (in place of those it waited for before): nothing fits it. Returns the
  // key to be run in its place where it was handed out here for a shape that it no longer has; mostly nothing.
  std::vector<std::string> park(const std::string& key, const Park& park);
  // The key is being run, for whatever reason: it waits no longer.
  void begin(const std::string& key);
  // Its run ended without parking it, or its object is gone. The key of its shape that is to be run next, if it was
  // handed out here; else nothing.
  std::vector<std::string> end(const std::string& key);
  // Its run ended undecided: that costs as much for every key of its shape, so the next one waits for a change, or
  // until the key ends after all.
  void fail(const std::string& key);
  // Forgets everything.
  void clear();

  // Something about the cause changed. The keys to run now; more of them come from next_batch(). `since`: only keys
  // whose shape was tried after that time.
  std::vector<std::string> wake(const Cause& cause, uint64_t since = 0);
  // The lot's time: a counter.
  uint64_t time() const { return time_; }
  // More keys of changes whose first keys were already handed out: to be called when those have been run, and now and
  // then meanwhile. Empty when nothing is left over.
  std::vector<std::string> next_batch();
  bool has_leftovers() const { return !sweeps_.empty(); }
  // Of a key that was handed out and has neither parked, ended nor failed since; of others nothing.
  std::optional<Rank> rank_of(const std::string& key) const;

  size_t size() const { return parked_.size(); }
  size_t shapes() const { return shapes_.size(); }
  size_t waiting_for(const Cause& cause) const;

 private:
  // Thousands of keys and shapes may be parked, so each text is kept once, where its map has it: the nodes of parked_
  // and shapes_ stay where they are.
  struct Shape;
  struct Entry {
    std::vector<Cause> causes;
    int32_t priority = 0;
    std::string since;
    Shape* shape = nullptr;
  };
  using Parked = std::unordered_map<std::string, Entry>;
  using Member = const Parked::value_type*;
  struct GoesFirst {  // higher priority, then older, then by key
    bool operator()(Member a, Member b) const {
      return std::tie(b->second.priority, a->second.since, a->first) <
             std::tie(a->second.priority, b->second.since, b->first);
    }
    bool operator()(const Shape* a, const Shape* b) const { return (*this)(*a->members.begin(), *b->members.begin()); }
  };
  // Keys that want the same; also while none of them is parked but one is on trial.
  struct Shape {
    const std::string* id = nullptr;
    std::string ns;
    std::set<Member, GoesFirst> members;
    std::map<Cause, size_t> causes;  // -> how many members wait for it
    uint64_t tried_at = 0;           // the last time that one of them did not fit
    std::string on_trial;            // handed out, and not ended yet
  };
  // The shapes of one namespace that wait for one cause. A shape is in lines only while its first member stays.
  struct Line {
    std::set<Shape*, GoesFirst> by_order;
    std::map<uint64_t, Shape*> by_trial;  // of tried_at, which no two shapes share
  };
  using Lines = std::map<std::string, Line>;  // by namespace

  // Shapes that were tried after `since` and before `until` are to be tried once more.
  struct Sweep {
    uint64_t since, until;
    bool covers(uint64_t tried_at) const { return tried_at > since && tried_at < until; }
  };

  static std::string shape_id(const std::string& key, const Park& park);
  // Takes the shape out of every line, lets `change` change it, and puts it back.
  void update(Shape& shape, const std::function<void(Shape&)>& change);
  void enter_lines(Shape& shape);
  void leave_lines(Shape& shape);
  // The shape's first member, taken out and on trial.
  std::string hand_out(Shape& shape, uint64_t round);
  // The round of keys that are handed out now for the first time.
  uint64_t current_round();
  // Shapes of the namespace that the sweep covers, in the order in which they are to be tried; at most `limit`.
  std::vector<Shape*> candidates(const Line& line, Sweep sweep, bool by_order, size_t limit) const;
  std::vector<std::string> take(const Cause& cause, Sweep sweep, bool by_order, size_t limit, bool& more);

  uint64_t time_ = 0;
  Parked parked_;
  std::unordered_map<std::string, Shape> shapes_;
  struct Trial {
    std::string shape;
    Rank rank;
  };
  // Keys that were handed out and have neither parked nor ended since. Those that failed are no longer on trial, but
  // when they end the next one of their shape follows.
  std::unordered_map<std::string, Trial> trials_;
  uint64_t round_ = 0;
  size_t begun_in_round_ = 0;  // first keys handed out
  std::map<Cause, Lines> by_cause_;
  std::map<Cause, Sweep> sweeps_;  // what is still to be tried
  Cause last_swept_;               // whose turn it was last
};

}  // namespace dra::reconcile
