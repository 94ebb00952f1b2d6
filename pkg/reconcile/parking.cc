#include "pkg/reconcile/parking.h"

#include <algorithm>

namespace dra::reconcile {

void ParkingLot::park(const std::string& key, const Park& park) {
  leave(key);
  Entry entry{park, ++time_};
  std::sort(entry.park.causes.begin(), entry.park.causes.end());
  entry.park.causes.erase(std::unique(entry.park.causes.begin(), entry.park.causes.end()), entry.park.causes.end());
  for (const Cause& cause : entry.park.causes) by_cause_[cause].insert({park.priority, park.since, key});
  parked_.emplace(key, std::move(entry));
}

void ParkingLot::leave(const std::string& key) {
  auto known = parked_.find(key);
  if (known == parked_.end()) return;
  const Park& park = known->second.park;
  for (const Cause& cause : park.causes) {
    auto waiting = by_cause_.find(cause);
    if (waiting == by_cause_.end()) continue;
    waiting->second.erase({park.priority, park.since, key});
    if (waiting->second.empty()) by_cause_.erase(waiting);
  }
  parked_.erase(known);
}

std::vector<std::string> ParkingLot::wake(const Cause& cause, uint64_t since) {
  return take(cause, {since, ++time_});
}

std::vector<std::string> ParkingLot::next_batch() {
  std::vector<std::string> keys;
  const std::map<Cause, Sweep> sweeps = std::move(sweeps_);
  sweeps_.clear();
  for (const auto& [cause, sweep] : sweeps) {
    if (keys.size() >= kBatch) {
      sweeps_.emplace(cause, sweep);
      continue;
    }
    std::vector<std::string> more = take(cause, sweep);
    keys.insert(keys.end(), more.begin(), more.end());
  }
  return keys;
}

std::vector<std::string> ParkingLot::take(const Cause& cause, Sweep sweep) {
  std::vector<std::string> keys;
  auto waiting = by_cause_.find(cause);
  if (waiting == by_cause_.end()) return keys;
  bool more = false;
  for (const Order& order : waiting->second) {
    const uint64_t parked_at = parked_.at(order.key).parked_at;
    if (parked_at <= sweep.since || parked_at >= sweep.until) continue;
    if (keys.size() == kBatch) {
      more = true;
      break;
    }
    keys.push_back(order.key);
  }
  for (const std::string& key : keys) leave(key);
  if (more) {
    Sweep& left = sweeps_.try_emplace(cause, sweep).first->second;
    left = {std::min(left.since, sweep.since), std::max(left.until, sweep.until)};
  }
  return keys;
}

size_t ParkingLot::waiting_for(const Cause& cause) const {
  auto waiting = by_cause_.find(cause);
  return waiting == by_cause_.end() ? 0 : waiting->second.size();
}

}  // namespace dra::reconcile
