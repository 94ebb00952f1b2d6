// FairLine: a queue of keys for one worker, served round-robin by group; within a group by priority, then in order of
// arrival. A blocked group keeps its keys but gets no turns.
//
// Ranked keys share the places at which they arrived: the first of these places goes to the key with the lowest rank,
// whichever key arrived there. So a ranked key may overtake other ranked keys, but never a key without a rank.
//
// A key is any value with an order; the default is a text.
//
// Five thousand keys of one group delay a key of another group by one turn. Not thread-safe. The size is bounded only
// by what is pushed; an owner that needs a bound calls evict().
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

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

template <typename Key = std::string>
class FairLine {
 public:
  void push(Key key, const Place& place);
  // The key whose turn it is, and its group; nullopt if every key is in a blocked group.
  struct Taken {
    Key key;
    std::string group;
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
  struct Keys {                                                    // of one group and priority
    std::deque<std::optional<Key>> places;                         // nullopt: a place shared by the ranked keys
    std::multiset<std::tuple<uint64_t, std::string, Key>> ranked;  // round, age, key; one per shared place
  };
  struct Group {
    std::map<int32_t, Keys, std::greater<>> keys;
    size_t size = 0;
    bool blocked = false;
  };
  using Groups = std::map<std::string, Group>;

  Key take(typename Groups::iterator group, int32_t priority);

  Groups groups_;                  // groups with keys, and blocked groups
  std::deque<std::string> turns_;  // groups with keys that are not blocked
  size_t size_ = 0;
};

template <typename Key>
void FairLine<Key>::push(Key key, const Place& place) {
  Group& group = groups_[place.group];
  if (group.size++ == 0 && !group.blocked) turns_.push_back(place.group);
  Keys& keys = group.keys[place.priority];
  if (place.rank) {
    keys.places.emplace_back();
    keys.ranked.emplace(place.rank->round, place.rank->age, std::move(key));
  } else {
    keys.places.emplace_back(std::move(key));
  }
  ++size_;
}

template <typename Key>
Key FairLine<Key>::take(typename Groups::iterator group, int32_t priority) {
  const auto keys = group->second.keys.find(priority);
  auto& [places, ranked] = keys->second;
  std::optional<Key> key = std::move(places.front());
  places.pop_front();
  if (!key) key = std::move(std::get<2>(ranked.extract(ranked.begin()).value()));
  if (places.empty()) group->second.keys.erase(keys);
  --size_;
  if (--group->second.size == 0 && !group->second.blocked) groups_.erase(group);
  return *std::move(key);
}

template <typename Key>
std::optional<typename FairLine<Key>::Taken> FairLine<Key>::pop() {
  if (turns_.empty()) return std::nullopt;
  std::string name = std::move(turns_.front());
  turns_.pop_front();
  const auto group = groups_.find(name);
  if (group->second.size > 1) turns_.push_back(name);
  Key key = take(group, group->second.keys.begin()->first);
  return Taken{std::move(key), std::move(name)};
}

template <typename Key>
std::optional<typename FairLine<Key>::Taken> FairLine<Key>::evict() {
  const auto largest = std::max_element(groups_.begin(), groups_.end(),
                                        [](const auto& a, const auto& b) { return a.second.size < b.second.size; });
  if (largest == groups_.end() || largest->second.size == 0) return std::nullopt;
  std::string name = largest->first;
  if (largest->second.size == 1) std::erase(turns_, name);
  Key key = take(largest, largest->second.keys.rbegin()->first);
  return Taken{std::move(key), std::move(name)};
}

template <typename Key>
void FairLine<Key>::block(const std::string& group) {
  groups_[group].blocked = true;
  std::erase(turns_, group);
}

template <typename Key>
void FairLine<Key>::unblock(const std::string& group) {
  const auto known = groups_.find(group);
  if (known == groups_.end() || !known->second.blocked) return;
  known->second.blocked = false;
  if (known->second.size == 0)
    groups_.erase(known);
  else
    turns_.push_back(group);
}

template <typename Key>
void FairLine<Key>::clear() {
  turns_.clear();
  size_ = 0;
  for (auto& [name, group] : groups_) {
    group.keys.clear();
    group.size = 0;
  }
  std::erase_if(groups_, [](const auto& entry) { return !entry.second.blocked; });
}

}  // namespace dra
