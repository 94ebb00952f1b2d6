#include "pkg/apiserver/validation/node_selector.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

void check_node_expression(FieldErrors& out, const FieldPath& path, const Json& requirement) {
  const std::string& op = text_of(requirement, "operator");
  const Json& values = list_of(requirement, "values");
  if (op == "In" || op == "NotIn") {
    if (values.empty()) {
      out.push_back(required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) {
      out.push_back(
          forbidden(path.child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    }
  } else if (op == "Gt" || op == "Lt") {
    if (values.size() != 1) {
      out.push_back(required(path.child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'"));
    }
  } else {
    out.push_back(invalid(path.child("operator"), op, "not a valid selector operator"));
  }
  check_label_name(out, path.child("key"), text_of(requirement, "key"));
  for (size_t i = 0; i < values.size(); ++i) {
    add_problems(out, path.child("values").index(i), as_text(values[i]), label_value_problems(as_text(values[i])));
  }
}

void check_node_field(FieldErrors& out, const FieldPath& path, const Json& requirement) {
  const std::string& op = text_of(requirement, "operator");
  const std::string& key = text_of(requirement, "key");
  const Json& values = list_of(requirement, "values");
  if (op == "In" || op == "NotIn") {
    if (values.size() != 1) {
      out.push_back(required(path.child("values"),
                             "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"));
    }
  } else {
    out.push_back(invalid(path.child("operator"), op, "not a valid selector operator"));
  }
  if (key != "metadata.name") {
    out.push_back(invalid(path.child("key"), key, "not a valid field selector key"));
    return;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    add_problems(out, path.child("values").index(i), as_text(values[i]), dns_subdomain_problems(as_text(values[i])));
  }
}

}  // namespace

void check_node_selector_term(FieldErrors& out, const FieldPath& path, const Json& term) {
  size_t i = 0;
  for (const auto& r : list_of(term, "matchExpressions")) {
    check_node_expression(out, path.child("matchExpressions").index(i++), r);
  }
  i = 0;
  for (const auto& r : list_of(term, "matchFields")) check_node_field(out, path.child("matchFields").index(i++), r);
}

void check_node_selector(FieldErrors& out, const FieldPath& path, const Json& selector) {
  const FieldPath terms_path = path.child("nodeSelectorTerms");
  const Json& terms = list_of(selector, "nodeSelectorTerms");
  if (terms.empty()) {
    out.push_back(required(terms_path, "must have at least one node selector term"));
    return;
  }
  for (size_t i = 0; i < terms.size(); ++i) check_node_selector_term(out, terms_path.index(i), terms[i]);
}

}  // namespace dra::apiserver
