#include "pkg/base/fair_line.h"

#include <algorithm>
#include <utility>

namespace dra {

void FairLine::push(std::string key, const Place& place) {
  Group& group = groups_[place.group];
  if (group.size++ == 0 && !group.blocked) turns_.push_back(place.group);
  Keys& keys = group.keys[place.priority];
  if (place.rank) {
    keys.places.emplace_back();
    keys.ranked.emplace(place.rank->round, place.rank->age, std::move(key));
  } else {
    keys.places.emplace_back(std::move(key));
  }
  ++size_;
}

std::string FairLine::take(Groups::iterator group, int32_t priority) {
  const auto keys = group->second.keys.find(priority);
  auto& [places, ranked] = keys->second;
  std::optional<std::string> key = std::move(places.front());
  places.pop_front();
  if (!key) key = std::move(std::get<2>(ranked.extract(ranked.begin()).value()));
  if (places.empty()) group->second.keys.erase(keys);
  --size_;
  if (--group->second.size == 0 && !group->second.blocked) groups_.erase(group);
  return *std::move(key);
}

std::optional<FairLine::Taken> FairLine::pop() {
  if (turns_.empty()) return std::nullopt;
  Taken taken{"", std::move(turns_.front())};
  turns_.pop_front();
  const auto group = groups_.find(taken.group);
  if (group->second.size > 1) turns_.push_back(taken.group);
  taken.key = take(group, group->second.keys.begin()->first);
  return taken;
}

std::optional<FairLine::Taken> FairLine::evict() {
  const auto largest = std::max_element(groups_.begin(), groups_.end(),
                                        [](const auto& a, const auto& b) { return a.second.size < b.second.size; });
  if (largest == groups_.end() || largest->second.size == 0) return std::nullopt;
  Taken taken{"", largest->first};
  if (largest->second.size == 1) std::erase(turns_, taken.group);
  taken.key = take(largest, largest->second.keys.rbegin()->first);
  return taken;
}

void FairLine::block(const std::string& group) {
  groups_[group].blocked = true;
  std::erase(turns_, group);
}

void FairLine::unblock(const std::string& group) {
  const auto known = groups_.find(group);
  if (known == groups_.end() || !known->second.blocked) return;
  known->second.blocked = false;
  if (known->second.size == 0)
    groups_.erase(known);
  else
    turns_.push_back(group);
}

void FairLine::clear() {
  turns_.clear();
  size_ = 0;
  for (auto& [name, group] : groups_) {
    group.keys.clear();
    group.size = 0;
  }
  std::erase_if(groups_, [](const auto& entry) { return !entry.second.blocked; });
}

}  // namespace dra
