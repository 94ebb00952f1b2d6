// Search: constraints with a ValueList, whose devices must each stand for an entry of their own.
#include <algorithm>
#include <map>

#include "pkg/allocator/search/search.h"
#include "pkg/base/strings.h"

namespace dra::allocator {

using inventory::Words;

void Search::begin_lists() {
  lists_agree_ = true;
  value_match_.resize(plan_->constraints.size());
  for (size_t c = 0; c < plan_->constraints.size(); ++c) {
    const PlanConstraint& spec = plan_->constraints[c];
    if (spec.list == nullptr) continue;
    lists_agree_ = value_match_[c].begin(*spec.list, *plan_columns_[spec.column]) && lists_agree_;
  }
}

// By matching: each request alone, and all of a list together, must find enough devices for entries of their own.
bool Search::prove_lists() {
  for (size_t c = 0; c < plan_->constraints.size(); ++c) {
    const PlanConstraint& spec = plan_->constraints[c];
    if (spec.list == nullptr) continue;
    Words all(matrix_.words(), 0);
    uint64_t wanted = 0;
    bool several_times = false;  // a device may stand for several entries
    for (const uint32_t r : spec.requests) {
      Words own(matrix_.words(), 0);
      uint64_t least = UINT64_MAX;
      for (const PlanAlternative& alternative : plan_->requests[r].alternatives) {
        for (size_t w = 0; w < own.size(); ++w) own[w] |= pool_of_choice(alternative)[w];
        least = std::min<uint64_t>(least, alternative.all ? 1 : alternative.count);
        several_times = several_times || alternative.admin;
      }
      if (value_match_[c].most(own.data(), own.size(), static_cast<uint32_t>(least)) < least) {
        refute("request " + quote(plan_->requests[r].spec->name) + ": fewer devices have a value of " +
               quote(spec.attribute) + " that the group can use");
        return false;
      }
      for (size_t w = 0; w < all.size(); ++w) all[w] |= own[w];
      wanted += least;
    }
    steps_ += 1 + wanted;
    if (spec.requests.size() < 2) continue;
    for (const MatrixSegment& segment : matrix_.segments())
      for (uint32_t device = 0; device < segment.pool->size() && !several_times; ++device)
        several_times = segment.pool->shareable(device);
    if (several_times || value_match_[c].most(all.data(), all.size(), static_cast<uint32_t>(wanted)) >= wanted)
      continue;
    refute("fewer than " + std::to_string(wanted) + " devices have values of " + quote(spec.attribute) +
           " that the group can use");
    return false;
  }
  return true;
}

bool Search::lists_complete() const {
  for (size_t c = 0; c < plan_->constraints.size(); ++c) {
    const ValueList* list = plan_->constraints[c].list;
    if (list != nullptr && value_match_[c].size() < list->least) return false;
  }
  return true;
}

ValueSupply Search::supply(const Plan& plan, inventory::NodeId node, uint32_t constraint) {
  ValueSupply out;
  if (!matrix_.lay_out(plan, node)) return out;
  const PlanConstraint& spec = plan.constraints[constraint];
  const PlanColumn& named = plan.columns[spec.column];
  const Column& column = columns_.get(matrix_.view(), named.key, named.which);
  Words all(matrix_.words(), 0), admin(matrix_.words(), 0);
  for (const uint32_t r : spec.requests)
    for (const PlanAlternative& alternative : plan.requests[r].alternatives)
      for (size_t w = 0; w < all.size(); ++w) {
        all[w] |= pool_of_choice(alternative)[w];
        if (alternative.admin) admin[w] |= pool_of_choice(alternative)[w];
      }
  std::map<std::pair<uint32_t, bool>, uint32_t> lines;  // value of the column, whether it can be taken several times
  for (size_t local = inventory::next_bit(all.data(), all.size(), 0); local != SIZE_MAX;
       local = inventory::next_bit(all.data(), all.size(), local + 1)) {
    if (column.value[local] == kNoValue) continue;
    const MatrixSegment& segment = matrix_.segment_of(static_cast<uint32_t>(local));
    const bool many = segment.pool->shareable(matrix_.device_of(segment, static_cast<uint32_t>(local))) ||
                      inventory::test_bit(admin.data(), local);
    ++lines[{column.value[local], many}];
  }
  for (const auto& [key, devices] : lines) {
    ValueSupply::Line& line = out.lines.emplace_back();
    line.devices = devices;
    line.many = key.second;
    if (key.first & kListFlag) {
      for (const uint32_t number : column.lists[key.first & ~kListFlag]) line.values.push_back(column.codes[number]);
    } else {
      line.values.push_back(column.codes[key.first]);
    }
    std::sort(line.values.begin(), line.values.end());
  }
  meter_.charge(1 + matrix_.words() / 8 + lines.size() / 8);
  out.finished = true;
  return out;
}

}  // namespace dra::allocator
