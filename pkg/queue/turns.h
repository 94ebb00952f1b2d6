// Turns: who may go next when many keys want to be notified at once: a few at once, then so many a second, so
// many of one namespace, and those that wait for the longest first.
//
//   if (turns.enter(key, "team-a", "2026-05-01T10:00:00Z")) ...   // go ahead
//   else ...                                                      // the key waits; let_in() returns it later
//
// Two token buckets: one for all keys, one for each namespace; each has `burst` tokens at first. As soon as keys wait
// because the bucket of all is empty, no namespace has more than one token: from then on each goes at its own pace.
//
// As with Pacer, let_in() reserves a turn for each key that it returns until the key enters or leaves; the owner calls
// it at next_due(). Bounded by kMost keys: further ones are refused and may ask again. Not thread-safe.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/queue/item.h"

namespace dra::queue {

struct TurnRates {
  double burst = 100;
  double per_second = 50;
  double of_namespace = 10;  // a second
};

template <typename Key = std::string>
class Turns {
 public:
  static constexpr size_t kMost = 100'000;

  using Rates = TurnRates;
  // The clock must outlive this.
  Turns(const Clock& clock, Rates rates) : clock_(clock), rates_(rates), all_{rates.burst, clock.mono_now()} {}

  // True: go ahead. False: the key waits. Keys with a smaller `since` go first.
  bool enter(const Key& key, const std::string& ns, const std::string& since);
  // The key no longer wants a turn.
  void leave(const Key& key);
  void clear();
  // The keys whose turn has come.
  std::vector<Key> let_in();
  // When the next key may be let in; nullopt if none waits.
  std::optional<MonoTime> next_due() const;
  size_t waiting() const { return places_.size(); }

 private:
  using Traits = ItemTraits<Key>;
  // How far a sum of fractions may fall short of a whole token.
  static constexpr double kShort = 1e-6;
  // More namespaces than this are looked through for idle ones.
  static constexpr size_t kManyNamespaces = 1024;

  struct Bucket {
    double tokens = 0;
    MonoTime at{};
  };
  struct Namespace {
    Bucket bucket;
    std::set<std::pair<std::string, Key>> line;  // since, key
  };
  struct Place {
    std::string ns, since;
  };

  double tokens_of(const Bucket& bucket, double per_second) const;
  void take(Bucket& bucket, double per_second);
  Duration until_token(const Bucket& bucket, double per_second) const;
  Namespace& namespace_of(const std::string& name);
  // The namespace whose oldest key is the oldest of those that have a token; null: none has.
  Namespace* next();
  void forget_idle();
  std::optional<MonoTime> find_due() const;

  const Clock& clock_;
  const Rates rates_;
  Bucket all_;
  std::map<std::string, Namespace, std::less<>> namespaces_;
  std::unordered_map<Key, Place, typename Traits::Hash, typename Traits::Equal> places_;
  std::unordered_set<Key, typename Traits::Hash, typename Traits::Equal> granted_;
  // Asked for far more often than it changes.
  mutable std::optional<MonoTime> due_;
  mutable bool due_known_ = true;
};

template <typename Key>
double Turns<Key>::tokens_of(const Bucket& bucket, double per_second) const {
  const double passed = std::chrono::duration<double>(clock_.mono_now() - bucket.at).count();
  return std::min(rates_.burst, bucket.tokens + passed * per_second);
}

template <typename Key>
void Turns<Key>::take(Bucket& bucket, double per_second) {
  bucket.tokens = std::max(0.0, tokens_of(bucket, per_second) - 1);
  bucket.at = clock_.mono_now();
}

template <typename Key>
Duration Turns<Key>::until_token(const Bucket& bucket, double per_second) const {
  const double missing = std::max(0.0, 1 - tokens_of(bucket, per_second));
  return Duration(static_cast<Duration::rep>(std::ceil(missing / per_second * 1e9)));
}

template <typename Key>
typename Turns<Key>::Namespace& Turns<Key>::namespace_of(const std::string& name) {
  if (namespaces_.size() > kManyNamespaces) forget_idle();
  return namespaces_.try_emplace(name, Namespace{{rates_.burst, clock_.mono_now()}, {}}).first->second;
}

template <typename Key>
void Turns<Key>::forget_idle() {
  std::erase_if(namespaces_, [&](const auto& entry) {
    const Namespace& ns = entry.second;
    return ns.line.empty() && tokens_of(ns.bucket, rates_.of_namespace) >= rates_.burst;
  });
}

template <typename Key>
bool Turns<Key>::enter(const Key& key, const std::string& ns, const std::string& since) {
  if (granted_.erase(key) > 0) return true;
  if (places_.contains(key)) return false;
  if (places_.size() >= kMost) return false;
  Namespace& own = namespace_of(ns);
  // Nobody waits for the bucket of all: those who wait have used up their namespaces' tokens.
  if (own.line.empty() && tokens_of(all_, rates_.per_second) + kShort >= 1 &&
      tokens_of(own.bucket, rates_.of_namespace) + kShort >= 1 && next() == nullptr) {
    take(all_, rates_.per_second);
    take(own.bucket, rates_.of_namespace);
    due_known_ = false;
    return true;
  }
  if (own.line.empty()) due_known_ = false;
  own.line.emplace(since, key);
  places_.emplace(key, Place{ns, since});
  return false;
}

template <typename Key>
void Turns<Key>::leave(const Key& key) {
  if (granted_.erase(key) > 0) {
    all_ = {std::min(rates_.burst, tokens_of(all_, rates_.per_second) + 1), clock_.mono_now()};
    due_known_ = false;
    return;
  }
  const auto place = places_.find(key);
  if (place == places_.end()) return;
  auto& line = namespaces_.at(place->second.ns).line;
  line.erase({place->second.since, key});
  if (line.empty()) due_known_ = false;
  places_.erase(place);
}

template <typename Key>
void Turns<Key>::clear() {
  for (auto& [name, ns] : namespaces_) ns.line.clear();
  places_.clear();
  granted_.clear();
  due_known_ = false;
}

template <typename Key>
typename Turns<Key>::Namespace* Turns<Key>::next() {
  Namespace* best = nullptr;
  if (places_.empty()) return best;
  for (auto& [name, ns] : namespaces_) {
    if (ns.line.empty() || tokens_of(ns.bucket, rates_.of_namespace) + kShort < 1) continue;
    if (best == nullptr || *ns.line.begin() < *best->line.begin()) best = &ns;
  }
  return best;
}

template <typename Key>
std::vector<Key> Turns<Key>::let_in() {
  std::vector<Key> keys;
  if (const std::optional<MonoTime> due = next_due(); !due || *due > clock_.mono_now()) return keys;
  due_known_ = false;
  while (Namespace* ns = next()) {
    if (tokens_of(all_, rates_.per_second) + kShort < 1) {
      // More keys want a turn than there are: each namespace goes at its own pace.
      for (auto& [name, other] : namespaces_)
        if (tokens_of(other.bucket, rates_.of_namespace) > 1) other.bucket = {1, clock_.mono_now()};
      break;
    }
    take(all_, rates_.per_second);
    take(ns->bucket, rates_.of_namespace);
    Key key = ns->line.begin()->second;
    ns->line.erase(ns->line.begin());
    places_.erase(key);
    granted_.insert(key);
    keys.push_back(std::move(key));
  }
  return keys;
}

template <typename Key>
std::optional<MonoTime> Turns<Key>::next_due() const {
  if (!due_known_) due_ = find_due();
  due_known_ = true;
  return due_;
}

template <typename Key>
std::optional<MonoTime> Turns<Key>::find_due() const {
  std::optional<Duration> soonest;
  if (places_.empty()) return std::nullopt;
  for (const auto& [name, ns] : namespaces_) {
    if (ns.line.empty()) continue;
    const Duration wait = until_token(ns.bucket, rates_.of_namespace);
    if (!soonest || wait < *soonest) soonest = wait;
  }
  return clock_.mono_now() + std::max(soonest.value_or(Duration::zero()), until_token(all_, rates_.per_second));
}

}  // namespace dra::queue
