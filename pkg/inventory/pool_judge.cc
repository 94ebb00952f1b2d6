// Whether a pool can be used: as a whole, and as one node sees it (GatherPools of the upstream allocator).
#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/inventory/pool.h"

namespace dra::inventory {
namespace {

using Slices = std::vector<const SliceTable*>;

// A device name that these slices publish twice; kNoStr: none.
StrId name_published_twice(const Slices& slices) {
  std::vector<StrId> names;
  for (const SliceTable* slice : slices) names.insert(names.end(), slice->names.begin(), slice->names.end());
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  return twice == names.end() ? kNoStr : *twice;
}

bool announce_the_same(const Slices& slices) {
  return std::all_of(slices.begin(), slices.end(),
                     [&](const SliceTable* slice) { return slice->announced == slices.front()->announced; });
}

// Whether the slices of one node and generation are a pool of their own that can be used.
bool are_a_usable_pool(const Slices& slices) {
  return announce_the_same(slices) && static_cast<int64_t>(slices.size()) == slices.front()->announced &&
         std::all_of(slices.begin(), slices.end(),
                     [](const SliceTable* slice) { return slice->problem.empty() && slice->hidden.empty(); }) &&
         name_published_twice(slices) == kNoStr;
}

}  // namespace

// The slices of older generations that a node still uses: they are a whole pool, all on that node, and nothing newer
// is on it. Excludes generations with counters or with slices for several nodes, and all that are older than those.
std::set<const SliceTable*> Pool::usable_though_stale() const {
  std::set<const SliceTable*> usable;
  if (!features_.stale_generations || generations_.size() < 2) return usable;
  std::set<StrId> served;  // nodes with a slice of a newer generation
  for (auto of = generations_.rbegin(); of != generations_.rend() && of->second.not_of_one_node == 0; ++of) {
    std::map<StrId, Slices> by_node;
    for (const SliceTable* slice : of->second.slices)
      if (!served.contains(slice->where.node)) by_node[slice->where.node].push_back(slice);
    for (const auto& [node, slices] : by_node) {
      served.insert(node);
      if (of == generations_.rbegin() || !are_a_usable_pool(slices)) continue;
      for (const SliceTable* slice : slices)
        if (slice->size() > 0) usable.insert(slice);
    }
  }
  return usable;
}

void Pool::drop_stale_except(const std::set<const SliceTable*>& wanted) {
  for (size_t s = live_.size(); s > live_.size() - stale_parts_;)
    if (!wanted.contains(live_[--s])) remove_part(s);
}

const Pool::Places& Pool::places() const {
  if (placed_) return by_place_;
  by_place_ = {};
  for (uint32_t s = 0; s < live_.size(); ++s) {
    const Where& where = live_[s]->where;
    (where.kind == Where::kNode ? by_place_.live_of[where.node] : by_place_.live_others).push_back(s);
  }
  if (!generations_.empty())
    for (const SliceTable* slice : generations_.rbegin()->second.slices) {
      if (!counts(*slice)) continue;
      const bool of_node = slice->where.kind == Where::kNode && !slice->has_counter_sets;
      (of_node ? by_place_.newest_of[slice->where.node] : by_place_.newest_others).push_back(slice);
    }
  placed_ = true;
  return by_place_;
}

// ": nodes m0 and m1 publish ..." if the slices are too many because several nodes publish under one name.
std::string Pool::nodes_that_publish() const {
  std::set<std::string_view> nodes;
  for (const SliceTable* slice : generations_.rbegin()->second.slices) {
    if (slice->where.kind == Where::kNode) nodes.insert(strings_.text(slice->where.node));
    if (nodes.size() > 3) break;
  }
  if (nodes.size() < 2) return "";
  std::string text;
  size_t named = 0;
  for (const std::string_view node : nodes) {
    if (named == 2 && nodes.size() > 3) {
      text += " and others";
      break;
    }
    text += (named == 0 ? "" : named + 1 == nodes.size() ? " and " : ", ") + std::string(node);
    ++named;
  }
  return ": nodes " + text + " publish under this pool name, which must be one per node";
}

void Pool::judge() {
  state = PoolState::kComplete;
  reason.clear();
  refused.clear();
  refuses_some = false;
  announced = seen = obsolete = 0;
  differs_ = false;
  if (generations_.empty()) return;
  const Generation& newest = generations_.rbegin()->second;
  judge_refusals(newest);
  seen = static_cast<int64_t>(newest.slices.size());
  obsolete = static_cast<int64_t>(slices_.size() - stale_parts_) - seen;
  announced = (*newest.slices.begin())->announced;
  const auto invalid = [this](std::string text) {
    state = PoolState::kInvalid;
    reason = std::move(text);
  };
  if (!newest.hidden.empty()) {
    state = PoolState::kIncomplete;
    reason = (*newest.hidden.begin())->hidden;
  } else if (newest.announced.size() > 1 || seen != announced) {
    state = PoolState::kIncomplete;
    reason = newest.announced.size() > 1
                 ? "slices of generation " + std::to_string(generation) + " announce different resourceSliceCount"
                 : "generation " + std::to_string(generation) + " has " + std::to_string(seen) + " of " +
                       std::to_string(announced) + " announced slices" + (seen > announced ? nodes_that_publish() : "");
  } else if (!newest.unusable.empty()) {
    invalid((*newest.unusable.begin())->problem);
  } else if (!twice_.empty()) {
    invalid("device " + quote(twice_.begin()->first) + " is published twice");
  } else if (!sets_twice_.empty()) {
    invalid("counter set " + quote(*sets_twice_.begin()) + " is published twice");
  } else if (std::string missing = unpublished_reason(nullptr); !missing.empty()) {
    invalid(std::move(missing));
  }
  differs_ = state != PoolState::kComplete && newest.differ_in_place();
}

void Pool::judge_refusals(const Generation& newest) {
  if (!newest.refusing.empty()) refused = (*newest.refusing.begin())->pool_refused;
  refuses_some = !newest.refusing_some.empty();
  // Slices of an older generation that still count.
  for (size_t s = live_.size() - stale_parts_; s < live_.size(); ++s) {
    refuses_some = refuses_some || !live_[s]->refused.empty();
    if (refused.empty()) refused = live_[s]->pool_refused;
  }
}

Judgement Pool::judge_for(const std::vector<const SliceTable*>& relevant) const {
  if (state == PoolState::kComplete || !differs_ || relevant.empty()) return {state, reason};
  const int64_t promised = relevant.front()->announced;
  const bool whole = static_cast<int64_t>(relevant.size()) == promised;
  const Generation& newest = generations_.rbegin()->second;
  const auto hidden =
      std::find_if(relevant.begin(), relevant.end(), [](const SliceTable* slice) { return !slice->hidden.empty(); });
  if (hidden != relevant.end()) return {PoolState::kIncomplete, (*hidden)->hidden};
  if (!whole && !newest.hidden.empty()) return {PoolState::kIncomplete, (*newest.hidden.begin())->hidden};
  if (!announce_the_same(relevant) || (!whole && seen != promised)) return {PoolState::kIncomplete, reason};
  const auto faulty =
      std::find_if(relevant.begin(), relevant.end(), [](const SliceTable* slice) { return !slice->problem.empty(); });
  if (faulty != relevant.end()) return {PoolState::kInvalid, (*faulty)->problem};
  if (!whole && !newest.unusable.empty()) return {PoolState::kInvalid, (*newest.unusable.begin())->problem};
  if (const StrId twice = name_published_twice(relevant); twice != kNoStr)
    return {PoolState::kInvalid, "device " + quote(strings_.text(twice)) + " is published twice"};
  if (!sets_twice_.empty())
    return {PoolState::kInvalid, "counter set " + quote(*sets_twice_.begin()) + " is published twice"};
  if (std::string missing = unpublished_reason(whole ? &relevant : nullptr); !missing.empty())
    return {PoolState::kInvalid, std::move(missing)};
  return {};
}

}  // namespace dra::inventory
