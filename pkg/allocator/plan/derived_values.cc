// Selectors: derived attributes (KEP-6080), which are expressions with a value instead of a verdict.
#include "pkg/allocator/plan/selectors.h"
#include "pkg/api/semver.h"
#include "pkg/inventory/value_code.h"

namespace dra::allocator {

using inventory::Pool;

namespace {

// The code of a scalar; empty: a value of no kind that an attribute can have.
std::string scalar_code(const cel::Value& value) {
  switch (value.kind) {
    case cel::Kind::kBool:
      return inventory::encode_value(value.b);
    case cel::Kind::kInt:
      return inventory::encode_value(value.i);
    case cel::Kind::kString:
      return inventory::encode_value(std::string(value.str()));
    case cel::Kind::kSemver:
      return inventory::encode_value(api::VersionText{value.semver->to_string()});
    default:
      return "";
  }
}

DerivedValue refused_value(std::string why) {
  return {"", std::move(why), true};
}

DerivedValue derived_value_of(const cel::Value& value) {
  constexpr const char* kWanted = "must be a string, integer, boolean or version, or a list of one of these, not ";
  if (value.kind != cel::Kind::kList) {
    std::string code = scalar_code(value);
    return code.empty() ? refused_value(kWanted + std::string(cel::type_name(value))) : DerivedValue{code, "", false};
  }
  std::vector<std::string> elements;
  for (uint32_t i = 0; i < value.list->size; ++i) {
    elements.push_back(scalar_code(value.list->items[i]));
    if (elements.back().empty())
      return refused_value(kWanted + ("a list with " + std::string(cel::type_name(value.list->items[i]))));
    if (elements.back()[0] != elements.front()[0])
      return refused_value(kWanted + std::string("a list of several kinds"));
  }
  return {inventory::encode_list(elements), "", false};
}

}  // namespace

const DerivedValue& Selectors::derive(SelectorId id, const Pool& pool, uint32_t device) {
  const Entry& entry = *entries_[id];
  follow_reuse();
  const inventory::Hash128 key = make_key(id, pool, device);
  const auto known = derived_.find(key);
  if (known != derived_.end()) return known->second;
  if (derived_.size() >= kMaxDerived) deferred_frees_.add(derived_, 2);
  DerivedValue made;
  if (!entry.program) {
    made = refused_value("does not compile: " + entry.error);
  } else {
    cel::Arena arena;
    cel::EvalResult result;
    const cel::DeviceInput input = device_input(device_index_, pool, device);
    const cel::Value value = entry.program->evaluate_value(input, arena, result);
    meter_.charge(steps_of(result));
    made = result.ok() ? derived_value_of(value) : refused_value(result.message);
  }
  return derived_.emplace(key, std::move(made)).first->second;
}

SelectorId Selectors::intern_derived(const std::string& expression) {
  return intern_in(derived_environment_, kDerivedKey + expression, expression);
}

}  // namespace dra::allocator
