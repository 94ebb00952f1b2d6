// Memory: what the process remembers beside the objects, all of it bounded and none of it needed for correctness: which
// instances are known to be gone, what was last said about which object, and since when an object is as it is.
//
// Not thread-safe: the reactor's thread owns it.
#pragma once

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
    auto [place, added] = entries_.insert_or_assign(key, std::move(value));
    if (!added) return;
    order_.push_back(key);
    while (entries_.size() > limit_ && !order_.empty()) {
      entries_.erase(order_.front());
      order_.pop_front();
    }
    // Erased keys leave their place in the order behind.
    if (order_.size() > 2 * limit_ + 16) compact();
  }
  const V* find(std::string_view key) const {
    auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second;
  }
  void erase(std::string_view key) {
    if (auto found = entries_.find(key); found != entries_.end()) entries_.erase(found);
  }
  size_t size() const { return entries_.size(); }

 private:
  void compact() {
    std::deque<std::string> kept;
    for (std::string& key : order_)
      if (entries_.contains(key)) kept.push_back(std::move(key));
    order_ = std::move(kept);
  }

  size_t limit_;
  std::unordered_map<std::string, V, StringHash, std::equal_to<>> entries_;
  std::deque<std::string> order_;
};

struct Memory {
  BoundedMap<bool> gone_uids{65'536};           // uids of pods whose deletion the stream delivered
  BoundedMap<std::string> last_events{32'768};  // "uid/reason" -> signature
  BoundedMap<MonoTime> changed_at{4'000'000};   // "kind:key" -> when this process saw the last change
};

}  // namespace dra::manager
