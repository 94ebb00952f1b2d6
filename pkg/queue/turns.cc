#include "pkg/queue/turns.h"

#include <algorithm>
#include <cmath>

namespace dra::queue {

namespace {

// How far a sum of fractions may fall short of a whole token.
constexpr double kShort = 1e-6;
// More namespaces than this are looked through for idle ones.
constexpr size_t kManyNamespaces = 1024;

}  // namespace

double Turns::tokens_of(const Bucket& bucket, double per_second) const {
  const double passed = std::chrono::duration<double>(clock_.mono_now() - bucket.at).count();
  return std::min(rates_.burst, bucket.tokens + passed * per_second);
}

void Turns::take(Bucket& bucket, double per_second) {
  bucket.tokens = std::max(0.0, tokens_of(bucket, per_second) - 1);
  bucket.at = clock_.mono_now();
}

Duration Turns::until_token(const Bucket& bucket, double per_second) const {
  const double missing = std::max(0.0, 1 - tokens_of(bucket, per_second));
  return Duration(static_cast<Duration::rep>(std::ceil(missing / per_second * 1e9)));
}

Turns::Namespace& Turns::namespace_of(const std::string& name) {
  if (namespaces_.size() > kManyNamespaces) forget_idle();
  return namespaces_.try_emplace(name, Namespace{{rates_.burst, clock_.mono_now()}, {}}).first->second;
}

void Turns::forget_idle() {
  std::erase_if(namespaces_, [&](const auto& entry) {
    const Namespace& ns = entry.second;
    return ns.line.empty() && tokens_of(ns.bucket, rates_.of_namespace) >= rates_.burst;
  });
}

bool Turns::enter(std::string_view key, const std::string& ns, const std::string& since) {
  if (granted_.erase(std::string(key)) > 0) return true;
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

void Turns::leave(std::string_view key) {
  if (granted_.erase(std::string(key)) > 0) {
    all_ = {std::min(rates_.burst, tokens_of(all_, rates_.per_second) + 1), clock_.mono_now()};
    due_known_ = false;
    return;
  }
  const auto place = places_.find(key);
  if (place == places_.end()) return;
  auto& line = namespaces_.at(place->second.ns).line;
  line.erase({place->second.since, std::string(key)});
  if (line.empty()) due_known_ = false;
  places_.erase(place);
}

void Turns::clear() {
  for (auto& [name, ns] : namespaces_) ns.line.clear();
  places_.clear();
  granted_.clear();
  due_known_ = false;
}

Turns::Namespace* Turns::next() {
  Namespace* best = nullptr;
  if (places_.empty()) return best;
  for (auto& [name, ns] : namespaces_) {
    if (ns.line.empty() || tokens_of(ns.bucket, rates_.of_namespace) + kShort < 1) continue;
    if (best == nullptr || *ns.line.begin() < *best->line.begin()) best = &ns;
  }
  return best;
}

std::vector<std::string> Turns::let_in() {
  std::vector<std::string> keys;
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
    std::string key = ns->line.begin()->second;
    ns->line.erase(ns->line.begin());
    places_.erase(key);
    granted_.insert(key);
    keys.push_back(std::move(key));
  }
  return keys;
}

std::optional<MonoTime> Turns::next_due() const {
  if (!due_known_) due_ = find_due();
  due_known_ = true;
  return due_;
}

std::optional<MonoTime> Turns::find_due() const {
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
