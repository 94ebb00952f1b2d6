// FairLine: keys in line for one worker, taken round-robin by group; within a group by priority, then in the order of
// arrival. A group that is blocked keeps its keys and loses its turns.
//
// Five thousand keys of one group delay a key of another by one turn. Not thread-safe; bounded by what was pushed: an
// owner that has to bound it evicts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dra {

struct Place {
  std::string group;
  int32_t priority = 0;  // higher ones first
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
  struct Group {
    std::map<int32_t, std::deque<std::string>, std::greater<>> keys;
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
