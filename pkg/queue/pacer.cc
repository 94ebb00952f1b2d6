#include "pkg/queue/pacer.h"

#include <algorithm>
#include <cmath>

namespace dra::queue {

namespace {

// How far a sum of fractions may fall short of a whole token.
constexpr double kRounding = 1e-6;

}  // namespace

Pacer::Pacer(const Clock& clock, double per_second, double burst)
    : clock_(clock), per_second_(per_second), burst_(burst), tokens_(burst), counted_at_(clock.mono_now()) {}

double Pacer::tokens_now() const {
  const double passed = std::chrono::duration<double>(clock_.mono_now() - counted_at_).count();
  return std::min(burst_, tokens_ + passed * per_second_);
}

bool Pacer::take() {
  const double have = tokens_now();
  if (have + kRounding < 1) return false;
  tokens_ = std::max(0.0, have - 1);
  counted_at_ = clock_.mono_now();
  return true;
}

bool Pacer::enter(std::string_view key) {
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

void Pacer::leave(std::string_view key) {
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

std::vector<std::string> Pacer::let_in() {
  std::vector<std::string> keys;
  while (!line_.empty() && take()) {
    std::string key = std::move(line_.begin()->second);
    line_.erase(line_.begin());
    places_.erase(key);
    granted_.insert(key);
    keys.push_back(std::move(key));
  }
  return keys;
}

std::optional<MonoTime> Pacer::next_due() const {
  if (line_.empty()) return std::nullopt;
  const double missing = std::max(0.0, 1 - tokens_now());
  const double nanoseconds = std::ceil(missing / per_second_ * 1e9);
  return clock_.mono_now() + Duration(static_cast<Duration::rep>(std::min(nanoseconds, 3.6e12)));
}

}  // namespace dra::queue
