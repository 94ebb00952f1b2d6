#include "pkg/gang/parts/part_choices.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace dra::gang {

PartChoices::PartChoices(Tree tree) : tree_(std::move(tree)) {
  const size_t parts = tree_.parts.size();
  children_.resize(parts);
  kinds_.resize(parts);
  allowed_.resize(parts);
  for (uint32_t p = 0; p < parts; ++p) {
    if (tree_.parts[p].parent) children_[*tree_.parts[p].parent].push_back(p);
    std::map<uint32_t, size_t> at;
    for (const uint32_t member : tree_.parts[p].members) {
      const auto [known, added] = at.try_emplace(tree_.kind_of[member], kinds_[p].size());
      if (added) kinds_[p].emplace_back();
      kinds_[p][known->second].push_back(member);
    }
  }
}

bool PartChoices::begin() {
  levels_.clear();
  chosen_.clear();
  std::fill(allowed_.begin(), allowed_.end(), nullptr);
  const bool leaf = children_[0].empty();
  agenda_ = {{0, leaf ? What::kMembers : What::kChildren}};
  return deeper();
}

bool PartChoices::deeper() {
  if (agenda_.empty()) return skip();
  Level level;
  std::tie(level.part, level.what) = agenda_.back();
  level.agenda_before = agenda_;
  level.chosen_before = chosen_.size();
  level.allowed_before = allowed_[level.part];
  if (!first_way(level)) return levels_.empty() ? false : skip();
  levels_.push_back(std::move(level));
  apply(levels_.back());
  return true;
}

bool PartChoices::skip() {
  while (!levels_.empty()) {
    Level& level = levels_.back();
    undo(level);
    if (next_way(level)) {
      apply(level);
      return true;
    }
    levels_.pop_back();
  }
  return false;
}

bool PartChoices::at_members() const {
  return !levels_.empty() && levels_.back().what == What::kMembers;
}

bool PartChoices::first_way(Level& level) const {
  const uint32_t need = tree_.parts[level.part].need;
  level.way.clear();
  if (level.what == What::kDomain) {
    level.way.assign(1, 0);
    return !tree_.domains[level.part].empty();
  }
  if (level.what == What::kChildren) {
    if (children_[level.part].size() < need) return false;
    level.way.resize(need);
    std::iota(level.way.begin(), level.way.end(), 0u);
    return true;
  }
  uint32_t missing = need;
  for (const std::vector<uint32_t>& kind : kinds_[level.part]) {
    level.way.push_back(std::min(missing, static_cast<uint32_t>(kind.size())));
    missing -= level.way.back();
  }
  return missing == 0;
}

bool PartChoices::next_way(Level& level) const {
  std::vector<uint32_t>& way = level.way;
  if (level.what == What::kDomain) return ++way[0] < tree_.domains[level.part].size();
  if (level.what == What::kChildren) {
    const size_t n = children_[level.part].size(), k = way.size();
    for (size_t i = k; i-- > 0;)
      if (way[i] < n - (k - i)) {
        ++way[i];
        for (size_t j = i + 1; j < k; ++j) way[j] = way[j - 1] + 1;
        return true;
      }
    return false;
  }
  // One member less of a kind, from the last but one on, and as many more of the kinds behind it as early as possible.
  const auto& kinds = kinds_[level.part];
  uint32_t freed = 0;
  size_t room = 0;
  for (size_t i = way.size(); i-- > 0;) {
    if (way[i] > 0 && freed < room) {
      --way[i];
      ++freed;
      for (size_t j = i + 1; j < way.size(); ++j) {
        way[j] = std::min(freed, static_cast<uint32_t>(kinds[j].size()));
        freed -= way[j];
      }
      return true;
    }
    freed += way[i];
    room += kinds[i].size();
  }
  return false;
}

NodeBits PartChoices::narrowed(uint32_t part, const NodeBits& domain) const {
  if (allowed_[part] == nullptr) return domain;
  auto both = std::make_shared<std::vector<bool>>(*domain);
  for (size_t n = 0; n < both->size(); ++n)
    (*both)[n] = (*both)[n] && n < allowed_[part]->size() && (*allowed_[part])[n];
  return both;
}

void PartChoices::apply(Level& level) {
  agenda_.pop_back();
  if (level.what == What::kDomain) {
    allowed_[level.part] = narrowed(level.part, tree_.domains[level.part][level.way[0]]);
    agenda_.emplace_back(level.part, children_[level.part].empty() ? What::kMembers : What::kChildren);
    return;
  }
  if (level.what == What::kChildren) {
    for (size_t i = level.way.size(); i-- > 0;) {
      const uint32_t child = children_[level.part][level.way[i]];
      allowed_[child] = allowed_[level.part];
      What what = children_[child].empty() ? What::kMembers : What::kChildren;
      if (tree_.parts[child].topology.required) what = What::kDomain;
      agenda_.emplace_back(child, what);
    }
    return;
  }
  for (size_t kind = 0; kind < level.way.size(); ++kind)
    for (uint32_t i = 0; i < level.way[kind]; ++i)
      chosen_.push_back({kinds_[level.part][kind][i], allowed_[level.part]});
}

void PartChoices::undo(const Level& level) {
  agenda_ = level.agenda_before;
  chosen_.resize(level.chosen_before);
  allowed_[level.part] = level.allowed_before;
}

}  // namespace dra::gang
