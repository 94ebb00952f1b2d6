// Parts of metadata and of meta/v1 types that several kinds embed.
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

constexpr size_t kTotalAnnotationBytes = 256 * 1024;
constexpr size_t kConditionReasonMax = 1024;
constexpr size_t kConditionMessageMax = 32 * 1024;

void check_condition(FieldErrors& out, const FieldPath& path, const Json& condition) {
  check_label_name(out, path.child("type"), text_of(condition, "type"));
  const std::string& status = text_of(condition, "status");
  if (status != "True" && status != "False" && status != "Unknown") {
    out.push_back(not_supported(path.child("status"), status, {"False", "True", "Unknown"}));
  }
  const int64_t generation = int_of(condition, "observedGeneration");
  if (generation < 0) {
    out.push_back(invalid_value(path.child("observedGeneration"), generation, "must be greater than or equal to zero"));
  }
  if (!is_set(condition, "lastTransitionTime")) {
    out.push_back(required(path.child("lastTransitionTime"), ""));
  }
  const std::string& reason = text_of(condition, "reason");
  if (reason.empty()) {
    out.push_back(required(path.child("reason"), ""));
  } else {
    add_problems(out, path.child("reason"), reason, condition_reason_problems(reason));
    if (reason.size() > kConditionReasonMax) out.push_back(too_long(path.child("reason"), kConditionReasonMax));
  }
  if (text_of(condition, "message").size() > kConditionMessageMax) {
    out.push_back(too_long(path.child("message"), kConditionMessageMax));
  }
}

void check_selector_requirement(FieldErrors& out, const FieldPath& path, const Json& requirement) {
  const std::string& op = text_of(requirement, "operator");
  const size_t values = list_of(requirement, "values").size();
  if (op == "In" || op == "NotIn") {
    if (values == 0) {
      out.push_back(required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (values > 0) {
      out.push_back(
          forbidden(path.child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    }
  } else {
    out.push_back(invalid(path.child("operator"), op, "not a valid selector operator"));
  }
  check_label_name(out, path.child("key"), text_of(requirement, "key"));
  size_t i = 0;
  for (const auto& v : list_of(requirement, "values")) {
    add_problems(out, path.child("values").index(i++), as_text(v), label_value_problems(as_text(v)));
  }
}

bool requirement_matches(const Json& requirement, const Json& labels) {
  const std::string& op = text_of(requirement, "operator");
  const std::string& key = text_of(requirement, "key");
  const bool present = is_set(labels, key);
  if (op == "Exists") return present;
  if (op == "DoesNotExist") return !present;
  bool in = false;
  for (const auto& v : list_of(requirement, "values")) in = in || (present && as_text(v) == text_of(labels, key));
  return op == "In" ? in : !in;
}

}  // namespace

void check_label_name(FieldErrors& out, const FieldPath& path, std::string_view value) {
  add_problems(out, path, value, qualified_name_problems(value));
}

void check_labels(FieldErrors& out, const FieldPath& path, const Json& labels) {
  if (!labels.is_object()) return;
  for (const auto& [key, value] : labels.items()) {
    check_label_name(out, path, key);
    add_problems(out, path, as_text(value), label_value_problems(as_text(value)));
  }
}

void check_annotations(FieldErrors& out, const FieldPath& path, const Json& annotations) {
  if (!annotations.is_object()) return;
  size_t total = 0;
  for (const auto& [key, value] : annotations.items()) {
    std::string lower = key;
    for (char& c : lower) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    add_problems(out, path, key, qualified_name_problems(lower));
    total += key.size() + as_text(value).size();
  }
  if (total > kTotalAnnotationBytes) out.push_back(too_long(path, kTotalAnnotationBytes));
}

void check_conditions(FieldErrors& out, const FieldPath& path, const Json& conditions) {
  std::set<std::string> seen;
  for (size_t i = 0; i < count_of(conditions); ++i) {
    const std::string& type = text_of(conditions[i], "type");
    if (!seen.insert(type).second) out.push_back(duplicate(path.index(i).child("type"), type));
    check_condition(out, path.index(i), conditions[i]);
  }
}

void check_label_selector(FieldErrors& out, const FieldPath& path, const Json& selector) {
  check_labels(out, path.child("matchLabels"), member(selector, "matchLabels"));
  size_t i = 0;
  for (const auto& r : list_of(selector, "matchExpressions")) {
    check_selector_requirement(out, path.child("matchExpressions").index(i++), r);
  }
}

bool label_selector_matches(const Json& selector, const Json& labels) {
  for (const auto& [key, value] : map_of(selector, "matchLabels").items()) {
    if (!is_set(labels, key) || text_of(labels, key) != as_text(value)) return false;
  }
  for (const auto& r : list_of(selector, "matchExpressions")) {
    if (!requirement_matches(r, labels)) return false;
  }
  return true;
}

}  // namespace dra::apiserver
