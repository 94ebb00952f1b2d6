// Memory: what the process remembers beside the objects, all of it bounded and none of it needed for correctness: which
// instances are known to be gone, what was last said about which object, and since when an object is as it is.
//
// Not thread-safe: the reactor's thread owns it.
#pragma once

#include <cstdint>
#include <iterator>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "pkg/base/clock.h"

namespace dra::manager {

// A map that forgets its oldest entries when it is full. A key that is put again keeps its age.
template <typename V>
class BoundedMap {
 public:
  explicit BoundedMap(size_t limit) : limit_(limit) {}
  BoundedMap(const BoundedMap&) = delete;  // the index points into the entries
  BoundedMap& operator=(const BoundedMap&) = delete;

  void put(std::string_view key, V value) {
    if (auto known = index_.find(key); known != index_.end()) {
      known->second->value = std::move(value);
      return;
    }
    entries_.push_back({std::string(key), std::move(value)});
    index_.emplace(entries_.back().key, std::prev(entries_.end()));
    if (entries_.size() > limit_) erase(entries_.front().key);
  }
  const V* find(std::string_view key) const {
    auto found = index_.find(key);
    return found == index_.end() ? nullptr : &found->second->value;
  }
  void erase(std::string_view key) {
    auto found = index_.find(key);
    if (found == index_.end()) return;
    const auto entry = found->second;
    index_.erase(found);  // before the text that it points to
    entries_.erase(entry);
  }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string key;
    V value;
  };

  size_t limit_;
  std::list<Entry> entries_;  // oldest first
  std::unordered_map<std::string_view, typename std::list<Entry>::iterator> index_;
};

struct Noted {
  std::string text;
  MonoTime at{};
};

struct Memory {
  BoundedMap<bool> gone_uids{65'536};           // uids of pods whose deletion the stream delivered
  BoundedMap<std::string> last_events{32'768};  // "uid/reason" -> signature
  BoundedMap<uint64_t> tallies{8'192};          // uid -> writes that counted for it (reconcile::Write::tally)
  BoundedMap<Noted> notes{65'536};              // "uid/topic"
  BoundedMap<MonoTime> changed_at{4'000'000};   // "kind:key" -> when this process saw the last change
};

}  // namespace dra::manager
