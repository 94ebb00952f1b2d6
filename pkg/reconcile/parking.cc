#include "pkg/reconcile/parking.h"

#include <algorithm>

namespace dra::reconcile {

namespace {

// "default" of "pod:default/a".
std::string namespace_of(const std::string& key) {
  const size_t colon = key.find(':'), slash = key.find('/');
  const size_t begin = colon == std::string::npos ? 0 : colon + 1;
  return slash == std::string::npos || slash < begin ? "" : key.substr(begin, slash - begin);
}

}  // namespace

// Shapes are a namespace's own, so that one namespace's trials say nothing about another's turns.
std::string ParkingLot::shape_id(const std::string& key, const Park& park) {
  return park.shape.empty() ? "key " + key : "shape " + namespace_of(key) + " " + park.shape;
}

void ParkingLot::enter_lines(const std::string& id, const Shape& shape) {
  if (shape.members.empty()) return;
  for (const auto& [cause, members] : shape.causes) {
    Line& line = by_cause_[cause][shape.ns];
    line.by_order.emplace(*shape.members.begin(), id);
    line.by_trial.emplace(shape.tried_at, id);
  }
}

void ParkingLot::leave_lines(const Shape& shape) {
  if (shape.members.empty()) return;
  for (const auto& [cause, members] : shape.causes) {
    const auto lines = by_cause_.find(cause);
    const auto line = lines->second.find(shape.ns);
    line->second.by_order.erase(*shape.members.begin());
    line->second.by_trial.erase(shape.tried_at);
    if (line->second.by_order.empty()) lines->second.erase(line);
    if (lines->second.empty()) by_cause_.erase(lines);
  }
}

void ParkingLot::update(const std::string& id, const std::function<void(Shape&)>& change) {
  const auto known = shapes_.find(id);
  if (known == shapes_.end()) return;
  leave_lines(known->second);
  change(known->second);
  enter_lines(id, known->second);
  if (known->second.members.empty() && known->second.on_trial.empty()) shapes_.erase(known);
}

std::vector<std::string> ParkingLot::park(const std::string& key, const Park& park) {
  begin(key);
  Entry entry{park, shape_id(key, park)};
  std::vector<std::string> instead;
  if (const auto trial = trials_.find(key); trial != trials_.end() && trial->second != entry.shape)
    instead = end(key);
  else
    fail(key);
  trials_.erase(key);
  std::sort(entry.park.causes.begin(), entry.park.causes.end());
  entry.park.causes.erase(std::unique(entry.park.causes.begin(), entry.park.causes.end()), entry.park.causes.end());
  shapes_[entry.shape].ns = namespace_of(key);
  update(entry.shape, [&](Shape& shape) {
    shape.members.insert({park.priority, park.since, key});
    for (const Cause& cause : entry.park.causes) ++shape.causes[cause];
    shape.tried_at = ++time_;
  });
  parked_.emplace(key, std::move(entry));
  return instead;
}

void ParkingLot::begin(const std::string& key) {
  const auto known = parked_.find(key);
  if (known == parked_.end()) return;
  const Entry entry = std::move(known->second);
  parked_.erase(known);
  update(entry.shape, [&](Shape& shape) {
    shape.members.erase({entry.park.priority, entry.park.since, key});
    for (const Cause& cause : entry.park.causes)
      if (const auto count = shape.causes.find(cause); --count->second == 0) shape.causes.erase(count);
  });
}

std::vector<std::string> ParkingLot::end(const std::string& key) {
  begin(key);
  const auto trial = trials_.find(key);
  if (trial == trials_.end()) return {};
  const std::string id = trial->second;
  trials_.erase(trial);
  bool more = false;
  update(id, [&](Shape& shape) {
    if (shape.on_trial == key) shape.on_trial.clear();
    more = shape.on_trial.empty() && !shape.members.empty();
  });
  if (!more) return {};
  return {hand_out(id)};
}

void ParkingLot::fail(const std::string& key) {
  const auto trial = trials_.find(key);
  if (trial == trials_.end()) return;
  update(trial->second, [&](Shape& shape) {
    if (shape.on_trial != key) return;
    shape.on_trial.clear();
    shape.tried_at = ++time_;
  });
}

void ParkingLot::clear() {
  parked_.clear();
  shapes_.clear();
  trials_.clear();
  by_cause_.clear();
  sweeps_.clear();
  last_swept_.clear();
}

std::string ParkingLot::hand_out(const std::string& id) {
  Shape& shape = shapes_.at(id);
  const std::string key = shape.members.begin()->key;
  shape.on_trial = key;
  trials_[key] = id;
  begin(key);
  return key;
}

std::vector<std::string> ParkingLot::candidates(const Line& line, Sweep sweep, bool by_order, size_t limit) const {
  std::vector<std::string> found;
  const auto consider = [&](const std::string& id) {
    const Shape& shape = shapes_.at(id);
    if (shape.on_trial.empty() && sweep.covers(shape.tried_at)) found.push_back(id);
    return found.size() < limit;
  };
  if (by_order) {
    for (const auto& [order, id] : line.by_order)
      if (!consider(id)) break;
  } else {
    for (auto next = line.by_trial.upper_bound(sweep.since); next != line.by_trial.end() && next->first < sweep.until;
         ++next)
      if (!consider(next->second)) break;
  }
  return found;
}

// `more`: the limits kept some from being taken.
std::vector<std::string> ParkingLot::take(const Cause& cause, Sweep sweep, bool by_order, size_t limit, bool& more) {
  more = false;
  const auto lines = by_cause_.find(cause);
  if (lines == by_cause_.end()) return {};
  std::vector<std::vector<std::string>> found;
  for (const auto& [ns, line] : lines->second) {
    // One more than may be taken, to see whether there is more.
    found.push_back(candidates(line, sweep, by_order, kBatchOfNamespace + 1));
    if (found.back().size() > kBatchOfNamespace) {
      more = true;
      found.back().pop_back();
    }
  }
  std::vector<std::string> ids;
  for (size_t round = 0; round < kBatchOfNamespace; ++round)
    for (const std::vector<std::string>& of_namespace : found) {
      if (round >= of_namespace.size()) continue;
      if (ids.size() < limit)
        ids.push_back(of_namespace[round]);
      else
        more = true;
    }
  std::vector<std::string> keys;
  for (const std::string& id : ids) keys.push_back(hand_out(id));
  return keys;
}

std::vector<std::string> ParkingLot::wake(const Cause& cause, uint64_t since) {
  const Sweep sweep{since, ++time_};
  bool more = false;
  std::vector<std::string> keys = take(cause, sweep, since == 0, kBatch, more);
  if (more) {
    Sweep& left = sweeps_.try_emplace(cause, sweep).first->second;
    left = {std::min(left.since, sweep.since), std::max(left.until, sweep.until)};
  }
  return keys;
}

std::vector<std::string> ParkingLot::next_batch() {
  std::vector<std::string> keys;
  // Causes take turns: one that many wait for does not keep the others.
  for (size_t left = sweeps_.size(); left > 0 && keys.size() < kBatch; --left) {
    auto sweep = sweeps_.upper_bound(last_swept_);
    if (sweep == sweeps_.end()) sweep = sweeps_.begin();
    last_swept_ = sweep->first;
    bool more = false;
    for (std::string& key : take(sweep->first, sweep->second, false, kBatch - keys.size(), more))
      keys.push_back(std::move(key));
    if (!more) sweeps_.erase(sweep);
  }
  return keys;
}

size_t ParkingLot::waiting_for(const Cause& cause) const {
  size_t count = 0;
  const auto lines = by_cause_.find(cause);
  if (lines == by_cause_.end()) return 0;
  for (const auto& [ns, line] : lines->second)
    for (const auto& [order, id] : line.by_order) count += shapes_.at(id).causes.at(cause);
  return count;
}

}  // namespace dra::reconcile
