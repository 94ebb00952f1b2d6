#include "pkg/apiserver/kinds/workload/template.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/core/pod_spec.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

void default_template(Json& object) {
  default_pod_spec(object_member(object_member(object_member(object, "spec"), "template"), "spec"));
}

void check_selector_matches(FieldErrors& out, const Json& spec) {
  const Json& selector = member(spec, "selector");
  const Json& labels = member_at(spec, "template.metadata.labels");
  const bool empty = map_of(selector, "matchLabels").empty() && list_of(selector, "matchExpressions").empty();
  if (!selector.is_null() && (empty || label_selector_matches(selector, labels))) return;
  out.push_back(
      invalid_value(FieldPath("spec.template.metadata.labels"), labels, "`selector` does not match template `labels`"));
}

void check_template(FieldErrors& out, const Json& spec) {
  const FieldPath path("spec.template");
  const Json& pod_template = member(spec, "template");
  const Json& meta = member(pod_template, "metadata");
  check_labels(out, path.child("labels"), member(meta, "labels"));
  check_annotations(out, path.child("annotations"), member(meta, "annotations"));
  check_pod_spec(out, path.child("spec"), member(pod_template, "spec"));
}

void check_workload_selector(FieldErrors& out, const Json& spec, const char* what) {
  const FieldPath path("spec.selector");
  const Json& selector = member(spec, "selector");
  if (selector.is_null()) {
    out.push_back(required(path, ""));
    return;
  }
  check_label_selector(out, path, selector);
  if (map_of(selector, "matchLabels").empty() && list_of(selector, "matchExpressions").empty()) {
    out.push_back(invalid_value(path, selector, std::string("empty selector is invalid for ") + what));
  }
}

void check_selector_kept(FieldErrors& out, const Json& object, const Json& old) {
  const Json& selector = member_at(object, "spec.selector");
  if (semantic_equal(selector, member_at(old, "spec.selector"))) return;
  out.push_back(invalid_value(FieldPath("spec.selector"), selector, "field is immutable"));
}

void check_not_negative(FieldErrors& out, const FieldPath& path, const Json& object, const char* key) {
  const int64_t value = int_of(object, key);
  if (value < 0) out.push_back(invalid_value(path.child(key), value, "must be greater than or equal to 0"));
}

std::string selector_text(const Json& selector) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : map_of(selector, "matchLabels").items()) parts.push_back(key + "=" + as_text(value));
  for (const auto& r : list_of(selector, "matchExpressions")) {
    const std::string& op = text_of(r, "operator");
    const std::string& key = text_of(r, "key");
    std::vector<std::string> values;
    for (const auto& v : list_of(r, "values")) values.push_back(as_text(v));
    std::sort(values.begin(), values.end());
    if (op == "Exists") {
      parts.push_back(key);
    } else if (op == "DoesNotExist") {
      parts.push_back("!" + key);
    } else {
      parts.push_back(key + (op == "In" ? " in (" : " notin (") + join(values, ",") + ")");
    }
  }
  if (parts.empty()) return "<none>";
  std::sort(parts.begin(), parts.end());
  return join(parts, ",");
}

void add_template_cells(Json& cells, const Json& object) {
  std::vector<std::string> names;
  std::vector<std::string> images;
  for (const auto& c : list_of(member_at(object, "spec.template.spec"), "containers")) {
    names.push_back(text_of(c, "name"));
    images.push_back(text_of(c, "image"));
  }
  cells.push_back(join(names, ","));
  cells.push_back(join(images, ","));
  cells.push_back(selector_text(member_at(object, "spec.selector")));
}

void add_template_columns(std::vector<TableColumn>& columns, const std::string& selector_description) {
  columns.push_back({"Containers", "string", "", "Names of each container in the template.", 1});
  columns.push_back({"Images", "string", "", "Images referenced by each container in the template.", 1});
  columns.push_back({"Selector", "string", "", selector_description, 1});
}

}  // namespace dra::apiserver
