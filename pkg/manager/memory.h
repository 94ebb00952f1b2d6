// Memory: what the process remembers beside the objects, all of it bounded and none of it needed for correctness: which
// instances are known to be gone, what was last said about which object, and since when an object is as it is.
//
// Not thread-safe: the reactor's thread owns it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"

namespace dra::manager {

// A map that forgets its oldest entries when it is full.
template <typename V>
class BoundedMap {
 public:
  explicit BoundedMap(size_t limit) : limit_(limit) {}

  void put(const std::string& key, V value) {
    auto [found, added] = entries_.try_emplace(key);
    found->second.value = std::move(value);
    if (!added) return;
    found->second.place = ++places_;
    order_.emplace_back(places_, key);
    while (entries_.size() > limit_) {
      if (stands(order_.front())) entries_.erase(order_.front().second);
      order_.pop_front();
    }
    // Erased keys leave their place in the order behind: at most as many as there are entries.
    if (order_.size() > 2 * entries_.size() + 16) std::erase_if(order_, [this](const auto& o) { return !stands(o); });
  }
  const V* find(std::string_view key) const {
    auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second.value;
  }
  void erase(std::string_view key) {
    if (auto found = entries_.find(key); found != entries_.end()) entries_.erase(found);
  }
  size_t size() const { return entries_.size(); }
  // Entries and what erased ones left behind: what it costs.
  size_t places() const { return order_.size(); }

 private:
  using Place = std::pair<uint64_t, std::string>;
  struct Entry {
    V value{};
    uint64_t place = 0;
  };

  // A key that was erased and put again stands at its newer place only.
  bool stands(const Place& place) const {
    auto found = entries_.find(place.second);
    return found != entries_.end() && found->second.place == place.first;
  }

  size_t limit_;
  uint64_t places_ = 0;
  std::unordered_map<std::string, Entry, StringHash, std::equal_to<>> entries_;
  std::deque<Place> order_;
};

struct Noted {
  std::string text;
  MonoTime at{};
};

struct Memory {
  BoundedMap<bool> gone_uids{65'536};           // uids of pods whose deletion the stream delivered
  BoundedMap<std::string> last_events{32'768};  // "uid/reason" -> signature
  BoundedMap<Noted> notes{65'536};              // "uid/topic"
  BoundedMap<MonoTime> changed_at{4'000'000};   // "kind:key" -> when this process saw the last change
};

}  // namespace dra::manager
