// Memory: what the process remembers besides the objects, all bounded and none needed for correctness: which instances
// are known to be gone, the last events and notes about each object, and since when an object is unchanged.
//
// Not thread-safe: the reactor's thread owns it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pkg/base/clock.h"

namespace dra::manager {

// A map that forgets its oldest entries when it is full. Putting a key again does not renew its age. After a burst,
// when few entries are left of many, its memory is freed.
template <typename V>
class BoundedMap {
 public:
  explicit BoundedMap(size_t limit) : limit_(limit) {}
  BoundedMap(const BoundedMap&) = delete;  // the index points into the entries
  BoundedMap& operator=(const BoundedMap&) = delete;

  void put(std::string_view key, V value) { at(key) = std::move(value); }
  // Inserts the key if it is unknown. Valid until the next call that is not const.
  V& at(std::string_view key) {
    if (auto known = kept_->index.find(key); known != kept_->index.end()) return known->second->value;
    V& value = kept_->add(key).value;
    if (size() > limit_) erase(kept_->entries.front().key);
    most_ = std::max(most_, size());
    return value;
  }
  const V* find(std::string_view key) const {
    auto found = kept_->index.find(key);
    return found == kept_->index.end() ? nullptr : &found->second->value;
  }
  void erase(std::string_view key) {
    auto found = kept_->index.find(key);
    if (found == kept_->index.end()) return;
    const auto entry = found->second;
    kept_->index.erase(found);  // before the text that it points to
    kept_->entries.erase(entry);
    if (size() <= kFew && most_ >= 8 * kFew) move_to_fresh_memory();
  }
  size_t size() const { return kept_->entries.size(); }

 private:
  static constexpr size_t kFew = 512;

  struct Entry {
    std::pmr::string key;
    V value;
  };
  using Entries = std::pmr::list<Entry>;
  struct Kept {
    // Small, long-lived pieces would lie between those of short-lived objects and keep whole pages. Blocks of memory
    // are bounded, since the resource would double each, and gives none back before it ends.
    std::pmr::unsynchronized_pool_resource pool{{.max_blocks_per_chunk = 256, .largest_required_pool_block = 0}};
    Entries entries{&pool};  // oldest first
    std::pmr::unordered_map<std::string_view, typename Entries::iterator> index{&pool};

    Entry& add(std::string_view key) {
      entries.push_back({std::pmr::string(key, &pool), {}});
      index.emplace(entries.back().key, std::prev(entries.end()));
      return entries.back();
    }
  };

  void move_to_fresh_memory() {
    auto fresh = std::make_unique<Kept>();
    for (Entry& entry : kept_->entries) fresh->add(entry.key).value = std::move(entry.value);
    kept_ = std::move(fresh);
    most_ = size();
  }

  size_t limit_;
  size_t most_ = 0;  // entries at a time, since the memory is in use
  std::unique_ptr<Kept> kept_ = std::make_unique<Kept>();
};

struct Noted {
  std::string text;
  MonoTime at{};
};

// The last note about an object, by topic; kept until the object is gone, or kMostObjects newer ones push it out.
class Said {
  using Topics = std::vector<std::pair<std::string, Noted>>;
  struct Is {
    std::string_view topic;
    bool operator()(const std::pair<std::string, Noted>& said) const { return said.first == topic; }
  };

 public:
  static constexpr size_t kMostObjects = 32'768;
  static constexpr size_t kMostTopics = 32;  // per object; the oldest topic goes first

  explicit Said(size_t most_objects = kMostObjects) : objects_(most_objects) {}

  const Noted* find(std::string_view uid, std::string_view topic) const {
    const Topics* topics = objects_.find(uid);
    const auto at = topics ? std::find_if(topics->begin(), topics->end(), Is{topic}) : Topics::const_iterator();
    return topics && at != topics->end() ? &at->second : nullptr;
  }
  void put(std::string_view uid, std::string_view topic, Noted noted) {
    Topics& topics = objects_.at(uid);
    const auto at = std::find_if(topics.begin(), topics.end(), Is{topic});
    if (at != topics.end()) {
      at->second = std::move(noted);
      return;
    }
    if (topics.size() >= kMostTopics) topics.erase(topics.begin());
    topics.emplace_back(topic, std::move(noted));
  }
  void erase(std::string_view uid, std::string_view topic) {
    if (objects_.find(uid)) std::erase_if(objects_.at(uid), Is{topic});
  }
  // Whether there is a note of any topic.
  bool knows(std::string_view uid) const {
    const Topics* topics = objects_.find(uid);
    return topics && !topics->empty();
  }
  void forget(std::string_view uid) { objects_.erase(uid); }
  size_t objects() const { return objects_.size(); }

 private:
  BoundedMap<Topics> objects_;
};

struct Memory {
  BoundedMap<bool> gone_uids{16'384};   // uids of pods whose deletion the stream delivered
  Said events;                          // the signature of the last event, by reason
  BoundedMap<uint64_t> tallies{8'192};  // uid -> writes that counted for it (reconcile::Write::tally)
  // Uid of a pod -> until when no second Binding is sent: while one is listed, and a little while after its answer.
  BoundedMap<MonoTime> being_bound{16'384};
  Said notes;
  BoundedMap<MonoTime> changed_at{4'000'000};  // "kind:key" -> when this process saw the last change

  // The object is gone: no further event or note will be about it.
  void forget(const std::string& uid) {
    events.forget(uid);
    notes.forget(uid);
  }
};

}  // namespace dra::manager
