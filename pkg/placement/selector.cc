#include "pkg/placement/selector.h"

#include <algorithm>
#include <tuple>

#include "pkg/api/selectors.h"

namespace dra::placement {
namespace {

// Neither labels nor operators contain these.
constexpr char kNext = '\x1f';
constexpr char kEnd = '\x1e';

bool requirement_matches(const api::LabelSelectorRequirement& r, const api::StringMap& labels) {
  const auto label = labels.find(r.key);
  const bool has = label != labels.end();
  if (r.op == "Exists") return has;
  if (r.op == "DoesNotExist") return !has;
  const bool listed = has && std::binary_search(r.values.begin(), r.values.end(), label->second);
  return r.op == "In" ? listed : !listed;
}

}  // namespace

Selector::Selector(const std::optional<api::LabelSelector>& selector) {
  if (!selector || !api::well_formed(*selector)) return;
  nothing_ = false;
  for (const auto& [key, value] : selector->match_labels) requirements_.push_back({key, "In", {value}});
  for (const api::LabelSelectorRequirement& r : selector->match_expressions) requirements_.push_back(r);
  describe();
}

void Selector::require(api::LabelSelectorRequirement requirement) {
  if (nothing_) return;
  requirements_.push_back(std::move(requirement));
  describe();
}

void Selector::describe() {
  for (api::LabelSelectorRequirement& r : requirements_) std::sort(r.values.begin(), r.values.end());
  std::sort(requirements_.begin(), requirements_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.key, a.op, a.values) < std::tie(b.key, b.op, b.values);
  });
  requirements_.erase(std::unique(requirements_.begin(), requirements_.end()), requirements_.end());
  text_ = "+";
  anchor_.clear();
  for (const api::LabelSelectorRequirement& r : requirements_) {
    text_ += r.key + kNext + r.op;
    for (const std::string& value : r.values) text_ += kNext + value;
    text_ += kEnd;
    if (anchor_.empty() && r.op == "In" && r.values.size() == 1) anchor_ = anchor_text(r.key, r.values[0]);
  }
}

bool Selector::matches(const api::StringMap& labels) const {
  return !nothing_ && std::all_of(requirements_.begin(), requirements_.end(),
                                  [&](const auto& r) { return requirement_matches(r, labels); });
}

std::string anchor_text(std::string_view key, std::string_view value) {
  std::string out(key);
  out += kNext;
  out += value;
  return out;
}

bool NamespaceSet::contains(const std::string& name) const {
  return all || std::binary_search(names.begin(), names.end(), name);
}

void NamespaceSet::append_to(std::string& text) const {
  if (all) text += '*';
  for (const std::string& name : names) {
    if (!all) text += name + kNext;
  }
  text += kEnd;
}

}  // namespace dra::placement
