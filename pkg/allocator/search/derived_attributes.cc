// Search: constraints in which an expression of a request replaces the devices' attribute (plan/derived_columns.h).
//
// An expression that fails ends the decision, wherever the search meets it first: so, if a candidate could fail, the
// search takes no short cut.
#include <algorithm>

#include "pkg/allocator/search/search.h"
#include "pkg/base/strings.h"

namespace dra::allocator {

using inventory::Words;

uint32_t Search::derived_number(uint32_t constraint, const PlanAlternative* by) {
  if (by == nullptr) return 0;
  for (const auto& [of, column] : by->derived_columns)
    if (of == constraint) return column;
  return 0;
}

const Column& Search::derived_column(uint32_t constraint, const PlanAlternative* by) const {
  const DerivedColumns* derived = derived_[constraint];
  return derived == nullptr ? *plan_columns_[plan_->constraints[constraint].column]
                            : derived->column(derived_number(constraint, by));
}

// False: the slice ended before all candidates had their values; the next run continues.
bool Search::lay_out_derived() {
  derived_.assign(plan_->constraints.size(), nullptr);
  size_t values = 0;
  for (const PlanConstraint& spec : plan_->constraints)
    if (!spec.derived.empty()) values += (1 + spec.derived.size()) * matrix_.words() * 64;
  if (values > kMaxDerivedValues) {
    error_ = "the derived attributes of the claims have " + std::to_string(values) +
             " values on this node, and at most " + std::to_string(kMaxDerivedValues) +
             " are supported: use fewer different expressions, or fewer constraints that read them";
    derived_.clear();
    return true;
  }
  for (uint32_t c = 0; c < plan_->constraints.size(); ++c) {
    const PlanConstraint& spec = plan_->constraints[c];
    if (spec.derived.empty()) continue;
    DerivedColumns& derived = derived_cache_.get(matrix_.view(), spec.attribute, spec.derived);
    for (uint32_t column = 1; column <= spec.derived.size(); ++column) {
      Words wanted(matrix_.words(), 0);
      for (const uint32_t r : spec.requests)
        for (const PlanAlternative& alternative : plan_->requests[r].alternatives)
          if (derived_number(c, &alternative) == column)
            for (size_t w = 0; w < wanted.size(); ++w) wanted[w] |= matrix_.usable(alternative.slot)[w];
      if (!derived.evaluate(column, wanted, matrix_.view(), device_index_, selectors_, meter_)) return false;
    }
    derived.finish();
    derived_[c] = &derived;
  }
  return true;
}

// Whether an expression fails on a candidate of a request that has it.
bool Search::derived_may_fail() const {
  for (uint32_t c = 0; c < derived_.size(); ++c) {
    if (derived_[c] == nullptr || !derived_[c]->any_failed()) continue;
    for (const uint32_t r : plan_->constraints[c].requests)
      for (const PlanAlternative& alternative : plan_->requests[r].alternatives) {
        const uint32_t column = derived_number(c, &alternative);
        if (column == 0) continue;
        const Words& failures = derived_[c]->failures(column);
        for (size_t w = 0; w < failures.size(); ++w)
          if ((failures[w] & pool_of_choice(alternative)[w]) != 0) return true;
      }
  }
  return false;
}

bool Search::joins_derived(uint32_t constraint, const PlanAlternative* by, uint32_t local) {
  const DerivedColumns* derived = derived_[constraint];
  if (derived == nullptr) return true;
  const uint32_t column = derived_number(constraint, by);
  if (derived->failed(column, local)) {
    const MatrixSegment& segment = matrix_.segment_of(local);
    const uint32_t device = matrix_.device_of(segment, local);
    error_ = "request " + quote(by->name) + ": derived attribute " + quote(plan_->constraints[constraint].attribute) +
             " failed on device " + segment.pool->driver_text + "/" + segment.pool->name_text + "/" +
             std::string(device_index_.strings().text(segment.pool->device_name(device))) + ": " +
             selectors_.derive(derived->expression(column), *segment.pool, device).error;
    return false;
  }
  if (!derived->any_alone()) return true;
  // Its value is no other device's; but the device itself may be there already, by another share.
  if (!plan_->constraints[constraint].distinct)
    return match_[constraint].members == 0 || !derived->alone(column, local);
  const uint8_t* counts = used_values_[constraint].data() + derived->values();
  return counts[1] == 0 && (counts[0] == 0 || !derived->alone(column, local));
}

// Only for devices that stand alone: lists without their gate are distinct from nothing.
void Search::count_distinct(uint32_t constraint, const PlanAlternative* by, uint32_t local, int more) {
  const DerivedColumns* derived = derived_[constraint];
  if (derived == nullptr || !derived->any_alone()) return;
  uint8_t* counts = used_values_[constraint].data() + derived->values();
  counts[0] = static_cast<uint8_t>(counts[0] + more);
  if (derived->alone(derived_number(constraint, by), local)) counts[1] = static_cast<uint8_t>(counts[1] + more);
}

void Search::append_derived(uint32_t local, std::string& key) const {
  for (uint32_t c = 0; c < derived_.size(); ++c)
    for (uint32_t column = 0; derived_[c] != nullptr && column <= plan_->constraints[c].derived.size(); ++column) {
      const uint32_t value = derived_[c]->column(column).value[local];
      key.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
}

}  // namespace dra::allocator
