// FairLine: a queue of keys for one worker, served round-robin by group; within a group by priority, then in order of
// arrival. A blocked group keeps its keys but gets no turns.
//
// Ranked keys share the places at which they arrived: the first of these places goes to the key with the lowest rank,
// whichever key arrived there. So a ranked key may overtake other ranked keys, but never a key without a rank.
//
// Five thousand keys of one group delay a key of another group by one turn. Not thread-safe. The size is bounded only
// by what is pushed; an owner that needs a bound calls evict().
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

struct Rank {  // lower ranks first; equal ranks in the order of their keys
  uint64_t round = 0;
  std::string age;
};

struct Place {
  std::string group;
  int32_t priority = 0;        // higher ones first
  std::optional<Rank> rank{};  // orders the ranked keys of this group and priority
};

class FairLine {
 public:
  void push(std::string key, const Place& place);
  // The key whose turn it is, and its group; nullopt if every key is in a blocked group.
  struct Taken {
    std::string key, group;
  };
  std::optional<Taken> pop();
  // Removes the least important key: in the group with the most keys, the oldest key of the lowest priority.
  std::optional<Taken> evict();
  void block(const std::string& group);
  void unblock(const std::string& group);
  // Removes every key; blocked groups stay blocked.
  void clear();

  // True if pop() would return a key.
  bool ready() const { return !turns_.empty(); }
  size_t size() const { return size_; }

 private:
  struct Keys {                                                            // of one group and priority
    std::deque<std::optional<std::string>> places;                         // nullopt: a place shared by the ranked keys
    std::multiset<std::tuple<uint64_t, std::string, std::string>> ranked;  // round, age, key; one per shared place
  };
  struct Group {
    std::map<int32_t, Keys, std::greater<>> keys;
    size_t size = 0;
    bool blocked = false;
  };
  using Groups = std::map<std::string, Group>;

  std::string take(Groups::iterator group, int32_t priority);

  Groups groups_;                  // groups with keys, and blocked groups
  std::deque<std::string> turns_;  // groups with keys that are not blocked
  size_t size_ = 0;
};

}  // namespace dra
