// FairLine: keys in line for one worker, taken round-robin by group; within a group by priority, then in the order of
// arrival. A group that is blocked keeps its keys and loses its turns.
//
// Keys that carry a rank share the places at which they arrived: the first of these places goes to the key of the least
// rank, whichever arrived there. So a ranked key may pass other ranked keys, but never a key without a rank.
//
// Five thousand keys of one group delay a key of another by one turn. Not thread-safe; bounded by what was pushed: an
// owner that has to bound it evicts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

namespace dra {

struct Rank {  // lesser ones first; of equal ones the lesser key
  uint64_t round = 0;
  std::string age;
};

struct Place {
  std::string group;
  int32_t priority = 0;        // higher ones first
  std::optional<Rank> rank{};  // among the ranked keys of the group and priority
};

class FairLine {
 public:
  void push(std::string key, const Place& place);
  // The key whose turn it is, and its group; nothing when every key waits in a blocked group.
  struct Taken {
    std::string key, group;
  };
  std::optional<Taken> pop();
  // Takes out what is missed least: of the group with the most keys the oldest one of the lowest priority.
  std::optional<Taken> evict();
  void block(const std::string& group);
  void unblock(const std::string& group);
  // Forgets every key; blocked groups stay blocked.
  void clear();

  // Some key may be popped.
  bool ready() const { return !turns_.empty(); }
  size_t size() const { return size_; }

 private:
  struct Keys {                                                            // of one group and priority
    std::deque<std::optional<std::string>> places;                         // nothing: a place of the ranked keys
    std::multiset<std::tuple<uint64_t, std::string, std::string>> ranked;  // round, age, key; one for each such place
  };
  struct Group {
    std::map<int32_t, Keys, std::greater<>> keys;
    size_t size = 0;
    bool blocked = false;
  };
  using Groups = std::map<std::string, Group>;

  std::string take(Groups::iterator group, int32_t priority);

  Groups groups_;                  // those with keys, and the blocked ones
  std::deque<std::string> turns_;  // groups with keys that are not blocked
  size_t size_ = 0;
};

}  // namespace dra
