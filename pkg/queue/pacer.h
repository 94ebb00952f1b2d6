// Pacer: limits how many keys per second may begin something costly, in the order in which they asked.
//
// A token bucket with a waiting line. A key that asks when no token is free joins the line; let_in() returns the keys
// whose turn has come and reserves a token for each until it asks again. A key that no longer wants to enter leaves and
// frees its place or token. The line is bounded by the number of distinct keys that asked.
//
// Not thread-safe: one thread owns it. It sets no timers: the owner calls let_in() at next_due().
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/queue/item.h"

namespace dra::queue {

template <typename Key = std::string>
class Pacer {
 public:
  // per_second > 0, burst >= 1; the bucket starts full. The clock must outlive this.
  Pacer(const Clock& clock, double per_second, double burst);

  // True: go ahead, a token is taken. False: the key waits in line.
  bool enter(const Key& key);
  // The key no longer wants to enter.
  void leave(const Key& key);
  // The keys whose turn has come; each has a token reserved for its next enter().
  std::vector<Key> let_in();
  // When the next key in line may be let in; nullopt if none waits.
  std::optional<MonoTime> next_due() const;
  size_t waiting() const { return line_.size(); }

 private:
  using Traits = ItemTraits<Key>;
  // How far a sum of fractions may fall short of a whole token.
  static constexpr double kRounding = 1e-6;

  double tokens_now() const;
  bool take();

  const Clock& clock_;
  double per_second_;
  double burst_;
  double tokens_;
  MonoTime counted_at_;
  uint64_t sequence_ = 0;
  std::map<uint64_t, Key> line_;
  std::unordered_map<Key, uint64_t, typename Traits::Hash, typename Traits::Equal> places_;
  std::unordered_set<Key, typename Traits::Hash, typename Traits::Equal> granted_;
};

template <typename Key>
Pacer<Key>::Pacer(const Clock& clock, double per_second, double burst)
    : clock_(clock), per_second_(per_second), burst_(burst), tokens_(burst), counted_at_(clock.mono_now()) {}

template <typename Key>
double Pacer<Key>::tokens_now() const {
  const double passed = std::chrono::duration<double>(clock_.mono_now() - counted_at_).count();
  return std::min(burst_, tokens_ + passed * per_second_);
}

template <typename Key>
bool Pacer<Key>::take() {
  const double have = tokens_now();
  if (have + kRounding < 1) return false;
  tokens_ = std::max(0.0, have - 1);
  counted_at_ = clock_.mono_now();
  return true;
}

template <typename Key>
bool Pacer<Key>::enter(const Key& key) {
  if (auto granted = granted_.find(key); granted != granted_.end()) {
    granted_.erase(granted);
    return true;
  }
  if (places_.find(key) != places_.end()) return false;
  if (line_.empty() && take()) return true;
  const uint64_t place = ++sequence_;
  line_.emplace(place, key);
  places_.emplace(key, place);
  return false;
}

template <typename Key>
void Pacer<Key>::leave(const Key& key) {
  if (auto granted = granted_.find(key); granted != granted_.end()) {
    granted_.erase(granted);
    tokens_ = std::min(burst_, tokens_now() + 1);
    counted_at_ = clock_.mono_now();
  }
  if (auto place = places_.find(key); place != places_.end()) {
    line_.erase(place->second);
    places_.erase(place);
  }
}

template <typename Key>
std::vector<Key> Pacer<Key>::let_in() {
  std::vector<Key> keys;
  while (!line_.empty() && take()) {
    Key key = std::move(line_.begin()->second);
    line_.erase(line_.begin());
    places_.erase(key);
    granted_.insert(key);
    keys.push_back(std::move(key));
  }
  return keys;
}

template <typename Key>
std::optional<MonoTime> Pacer<Key>::next_due() const {
  if (line_.empty()) return std::nullopt;
  const double missing = std::max(0.0, 1 - tokens_now());
  const double nanoseconds = std::ceil(missing / per_second_ * 1e9);
  return clock_.mono_now() + Duration(static_cast<Duration::rep>(std::min(nanoseconds, 3.6e12)));
}

}  // namespace dra::queue
