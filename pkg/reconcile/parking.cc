#include "pkg/reconcile/parking.h"

#include <algorithm>

namespace dra::reconcile {

// Shapes belong to a namespace, so that trials in one namespace do not affect turns in another.
std::string ParkingLot::shape_id(const Key& key, const Park& park) {
  if (park.shape.empty()) return "key " + to_text(key);
  std::string id = "shape ";
  id += namespace_of(key);
  id += ' ';
  return id += park.shape;
}

void ParkingLot::enter_lines(Shape& shape) {
  if (shape.members.empty()) return;
  for (const auto& [cause, members] : shape.causes) {
    Line& line = cause->second.lines[shape.ns];
    line.by_order.insert(&shape);
    line.by_trial.emplace(shape.tried_at, &shape);
  }
}

void ParkingLot::leave_lines(Shape& shape) {
  if (shape.members.empty()) return;
  for (const auto& [cause, members] : shape.causes) {
    Lines& lines = cause->second.lines;
    const auto line = lines.find(shape.ns);
    line->second.by_order.erase(&shape);
    line->second.by_trial.erase(shape.tried_at);
    if (line->second.by_order.empty()) lines.erase(line);
  }
}

void ParkingLot::update(Shape& shape, const std::function<void(Shape&)>& change) {
  leave_lines(shape);
  change(shape);
  enter_lines(shape);
  if (shape.members.empty() && !shape.on_trial) shapes_.erase(*shape.id);
}

std::vector<Key> ParkingLot::park(const Key& key, const Park& park) {
  begin(key);
  const std::string id = shape_id(key, park);
  std::vector<Key> instead;
  if (const auto trial = trials_.find(key); trial != trials_.end() && trial->second.shape != id)
    instead = end(key);
  else
    fail(key);
  trials_.erase(key);
  const auto [at, made] = shapes_.try_emplace(id);
  if (made) {
    at->second.id = &at->first;
    at->second.ns = namespace_of(key);
  }
  std::vector<OfCause*> causes;
  causes.reserve(park.causes.size());
  for (const Cause& cause : park.causes) causes.push_back(&*by_cause_.try_emplace(cause).first);
  std::sort(causes.begin(), causes.end(), std::less<>());
  causes.erase(std::unique(causes.begin(), causes.end()), causes.end());
  const auto parked = parked_.emplace(key, Entry{std::move(causes), park.priority, park.since, &at->second}).first;
  update(at->second, [&](Shape& shape) {
    shape.members.insert(&*parked);
    for (OfCause* cause : parked->second.causes) {
      ++cause->second.keys;
      const auto place = place_of(shape, cause);
      if (place != shape.causes.end() && place->first == cause)
        ++place->second;
      else
        shape.causes.insert(place, {cause, 1});
    }
    shape.tried_at = ++time_;
  });
  return instead;
}

void ParkingLot::begin(const Key& key) {
  const auto known = parked_.find(key);
  if (known == parked_.end()) return;
  update(*known->second.shape, [&](Shape& shape) {
    shape.members.erase(&*known);
    for (const OfCause* cause : known->second.causes)
      if (const auto place = place_of(shape, cause); --place->second == 0) shape.causes.erase(place);
  });
  for (OfCause* cause : known->second.causes)
    if (--cause->second.keys == 0) by_cause_.erase(by_cause_.find(cause->first));
  parked_.erase(known);
}

std::vector<Key> ParkingLot::end(const Key& key) {
  begin(key);
  const auto trial = trials_.find(key);
  if (trial == trials_.end()) return {};
  const auto of_trial = shapes_.find(trial->second.shape);
  const uint64_t round = trial->second.rank.round;
  trials_.erase(trial);
  if (of_trial == shapes_.end()) return {};
  bool more = false;
  update(of_trial->second, [&](Shape& shape) {
    if (shape.on_trial == key) shape.on_trial.reset();
    more = !shape.on_trial && !shape.members.empty();
  });
  if (!more) return {};
  return {hand_out(of_trial->second, round)};
}

void ParkingLot::fail(const Key& key) {
  const auto trial = trials_.find(key);
  if (trial == trials_.end()) return;
  const auto of_trial = shapes_.find(trial->second.shape);
  if (of_trial == shapes_.end()) return;
  update(of_trial->second, [&](Shape& shape) {
    if (shape.on_trial != key) return;
    shape.on_trial.reset();
    shape.tried_at = ++time_;
  });
}

void ParkingLot::clear() {
  by_cause_.clear();
  shapes_.clear();
  parked_.clear();
  trials_.clear();
  sweeps_.clear();
  last_swept_.clear();
}

uint64_t ParkingLot::current_round() {
  if (trials_.empty() || begun_in_round_ >= kBatch) {
    ++round_;
    begun_in_round_ = 0;
  }
  return round_;
}

std::optional<Rank> ParkingLot::rank_of(const Key& key) const {
  const auto trial = trials_.find(key);
  if (trial == trials_.end()) return std::nullopt;
  const auto shape = shapes_.find(trial->second.shape);
  if (shape == shapes_.end() || shape->second.on_trial != key) return std::nullopt;
  return trial->second.rank;
}

Key ParkingLot::hand_out(Shape& shape, uint64_t round) {
  const auto& [key_of_first, first] = **shape.members.begin();
  const Key key = key_of_first;
  shape.on_trial = key;
  trials_[key] = {*shape.id, {round, first.since}};
  begin(key);
  return key;
}

std::vector<ParkingLot::Shape*> ParkingLot::candidates(const Line& line, Sweep sweep, bool by_order,
                                                       size_t limit) const {
  std::vector<Shape*> found;
  const auto consider = [&](Shape* shape) {
    if (!shape->on_trial && sweep.covers(shape->tried_at)) found.push_back(shape);
    return found.size() < limit;
  };
  if (by_order) {
    for (Shape* shape : line.by_order)
      if (!consider(shape)) break;
  } else {
    for (auto next = line.by_trial.upper_bound(sweep.since); next != line.by_trial.end() && next->first < sweep.until;
         ++next)
      if (!consider(next->second)) break;
  }
  return found;
}

// `more`: a limit kept some shapes from being taken.
std::vector<Key> ParkingLot::take(const Cause& cause, Sweep sweep, bool by_order, size_t limit, bool& more) {
  more = false;
  const auto waiting = by_cause_.find(cause);
  if (waiting == by_cause_.end()) return {};
  std::vector<std::vector<Shape*>> found;
  for (const auto& [ns, line] : waiting->second.lines) {
    // One more than may be taken, to detect whether there are more.
    found.push_back(candidates(line, sweep, by_order, kBatchOfNamespace + 1));
    if (found.back().size() > kBatchOfNamespace) {
      more = true;
      found.back().pop_back();
    }
  }
  std::vector<Shape*> taken;
  for (size_t round = 0; round < kBatchOfNamespace; ++round)
    for (const std::vector<Shape*>& of_namespace : found) {
      if (round >= of_namespace.size()) continue;
      if (taken.size() < limit)
        taken.push_back(of_namespace[round]);
      else
        more = true;
    }
  std::vector<Key> keys;
  if (taken.empty()) return keys;
  const uint64_t round = current_round();
  begun_in_round_ += taken.size();
  for (Shape* shape : taken) keys.push_back(hand_out(*shape, round));
  return keys;
}

std::vector<Key> ParkingLot::wake(const Cause& cause, uint64_t since) {
  const Sweep sweep{since, ++time_};
  bool more = false;
  std::vector<Key> keys = take(cause, sweep, since == 0, kBatch, more);
  if (more) {
    Sweep& left = sweeps_.try_emplace(cause, sweep).first->second;
    left = {std::min(left.since, sweep.since), std::max(left.until, sweep.until)};
  }
  return keys;
}

std::vector<Key> ParkingLot::next_batch() {
  std::vector<Key> keys;
  // Causes take turns: one with many waiting keys does not block the others.
  for (size_t left = sweeps_.size(); left > 0 && keys.size() < kBatch; --left) {
    auto sweep = sweeps_.upper_bound(last_swept_);
    if (sweep == sweeps_.end()) sweep = sweeps_.begin();
    last_swept_ = sweep->first;
    bool more = false;
    for (Key& key : take(sweep->first, sweep->second, false, kBatch - keys.size(), more))
      keys.push_back(std::move(key));
    if (!more) sweeps_.erase(sweep);
  }
  return keys;
}

size_t ParkingLot::waiting_for(const Cause& cause) const {
  size_t count = 0;
  const auto waiting = by_cause_.find(cause);
  if (waiting == by_cause_.end()) return 0;
  for (const auto& [ns, line] : waiting->second.lines)
    for (Shape* shape : line.by_order) count += place_of(*shape, &*waiting)->second;
  return count;
}

}  // namespace dra::reconcile
