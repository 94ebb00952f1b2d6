#include "pkg/api/selectors.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace dra::api {
namespace {

bool alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Label values have no sign: a valid one begins with a letter or digit.
std::optional<int64_t> decimal_integer(std::string_view text) {
  int64_t out = 0;
  auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || stopped != text.data() + text.size()) return std::nullopt;
  return out;
}

bool contains(const std::vector<std::string>& values, std::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

const std::string* find(const StringMap& labels, const std::string& key) {
  const auto label = labels.find(key);
  return label == labels.end() ? nullptr : &label->second;
}

// `value` is nullptr when there is no such label.
bool holds(std::string_view op, const std::vector<std::string>& values, const std::string* value) {
  if (op == "In") return value && contains(values, *value);
  if (op == "NotIn") return !value || !contains(values, *value);
  if (op == "Exists") return value != nullptr;
  if (op == "DoesNotExist") return value == nullptr;
  if ((op != "Gt" && op != "Lt") || !value || values.size() != 1) return false;
  const std::optional<int64_t> have = decimal_integer(*value);
  const std::optional<int64_t> bound = decimal_integer(values[0]);
  if (!have || !bound) return false;
  return op == "Gt" ? *have > *bound : *have < *bound;
}

bool field_holds(const NodeSelectorRequirement& field, std::string_view node_name) {
  const std::string_view value = field.key == "metadata.name" ? node_name : std::string_view();
  return field.values.size() == 1 && (field.op == "In") == (field.values[0] == value);
}

bool well_formed(std::string_view op, const std::vector<std::string>& values) {
  if (!std::all_of(values.begin(), values.end(), valid_label_value)) return false;
  if (op == "In" || op == "NotIn") return !values.empty();
  if (op == "Exists" || op == "DoesNotExist") return values.empty();
  return (op == "Gt" || op == "Lt") && values.size() == 1 && decimal_integer(values[0]);
}

}  // namespace

bool valid_label_value(std::string_view value) {
  if (value.empty()) return true;
  if (value.size() > 63 || !alphanumeric(value.front()) || !alphanumeric(value.back())) return false;
  return std::all_of(value.begin(), value.end(),
                     [](char c) { return alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool well_formed(const NodeSelectorTerm& term) {
  return std::all_of(term.match_expressions.begin(), term.match_expressions.end(),
                     [](const NodeSelectorRequirement& r) { return well_formed(r.op, r.values); }) &&
         std::all_of(term.match_fields.begin(), term.match_fields.end(), [](const NodeSelectorRequirement& r) {
           return (r.op == "In" || r.op == "NotIn") && r.values.size() == 1;
         });
}

bool matches(const NodeSelectorTerm& term, std::string_view node_name, const StringMap& labels) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  for (const NodeSelectorRequirement& r : term.match_expressions)
    if (!holds(r.op, r.values, find(labels, r.key))) return false;
  for (const NodeSelectorRequirement& r : term.match_fields)
    if (!field_holds(r, node_name)) return false;
  return well_formed(term);
}

bool matches(const NodeSelector& selector, std::string_view node_name, const StringMap& labels) {
  return std::any_of(selector.terms.begin(), selector.terms.end(),
                     [&](const NodeSelectorTerm& term) { return matches(term, node_name, labels); });
}

bool well_formed(const LabelSelector& selector) {
  return std::all_of(selector.match_labels.begin(), selector.match_labels.end(),
                     [](const auto& entry) { return valid_label_value(entry.second); }) &&
         std::all_of(selector.match_expressions.begin(), selector.match_expressions.end(),
                     [](const LabelSelectorRequirement& r) {
                       return r.op != "Gt" && r.op != "Lt" && well_formed(r.op, r.values);
                     });
}

bool matches(const LabelSelector& selector, const StringMap& labels) {
  if (!has_labels(selector.match_labels, labels)) return false;
  for (const LabelSelectorRequirement& r : selector.match_expressions)
    if (!holds(r.op, r.values, find(labels, r.key))) return false;
  return well_formed(selector);
}

bool has_labels(const StringMap& wanted, const StringMap& labels) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& entry) {
    const std::string* value = find(labels, entry.first);
    return value && *value == entry.second;
  });
}

namespace {

// k8s.io/api/core/v1 and k8s.io/dynamic-resource-allocation/resourceclaim have the same ToleratesTaint.
template <class AToleration, class ATaint>
bool same_key_and_value(const AToleration& toleration, const ATaint& taint) {
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op == "Exists") return true;
  return (toleration.op.empty() || toleration.op == "Equal") && toleration.value == taint.value;
}

template <class AToleration, class ATaint>
bool one_tolerates(const AToleration& toleration, const ATaint& taint) {
  return (toleration.effect.empty() || toleration.effect == taint.effect) && same_key_and_value(toleration, taint);
}

template <class AToleration, class ATaint>
bool any_tolerates(const std::vector<AToleration>& tolerations, const ATaint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(), [&](const auto& t) { return one_tolerates(t, taint); });
}

}  // namespace

bool tolerates(const Toleration& toleration, const Taint& taint) {
  return one_tolerates(toleration, taint);
}
bool tolerates(const DeviceToleration& toleration, const DeviceTaint& taint) {
  return one_tolerates(toleration, taint);
}
bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return any_tolerates(tolerations, taint);
}
bool tolerates(const std::vector<DeviceToleration>& tolerations, const DeviceTaint& taint) {
  return any_tolerates(tolerations, taint);
}

bool keeps_new_pods_away(const DeviceTaint& taint, const std::vector<DeviceToleration>& tolerations,
                         const std::vector<std::string>& ignored) {
  if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return false;
  if (taint.effect == "NoSchedule" && std::find(ignored.begin(), ignored.end(), taint.key) != ignored.end())
    return false;
  return !tolerates(tolerations, taint);
}

bool is_about(const DeviceToleration& toleration, const DeviceTaint& taint) {
  return same_key_and_value(toleration, taint);
}

}  // namespace dra::api
