// ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings
// (k8s.io/kubernetes/pkg/apis/admissionregistration/validation, without the compilation of expressions).
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/apiserver/kinds/admission/kinds.h"
#include "pkg/apiserver/kinds/described_kind.h"
#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMaxConditions = 64;
constexpr size_t kMaxAuditAnnotations = 20;
using Texts = std::vector<std::string>;

void check_one_of(FieldErrors& out, const FieldPath& path, const std::string& value, const Texts& known) {
  for (const std::string& k : known)
    if (k == value) return;
  out.push_back(value.empty() ? required(path, "") : not_supported(path, value, known));
}

// A rule's list: not empty; "*" must be alone.
void check_wildcards(FieldErrors& out, const FieldPath& path, const Json& list, const char* what) {
  if (list.empty()) return out.push_back(required(path, ""));
  for (const Json& item : list) {
    if (item == "*" && list.size() > 1)
      return out.push_back(invalid_value(path, list, std::string("if '*' is present, must not specify other ") + what));
  }
}

void check_policy_rule(FieldErrors& out, const FieldPath& path, const Json& rule, const Texts& operations) {
  const Json& asked = list_of(rule, "operations");
  check_wildcards(out, path.child("operations"), asked, "operations");
  size_t i = 0;
  for (const Json& o : asked) check_one_of(out, path.child("operations").index(i++), as_text(o), operations);
  check_wildcards(out, path.child("apiGroups"), list_of(rule, "apiGroups"), "API groups");
  check_wildcards(out, path.child("apiVersions"), list_of(rule, "apiVersions"), "API versions");
  if (list_of(rule, "resources").empty()) out.push_back(required(path.child("resources"), ""));
  if (is_set(rule, "scope"))
    check_one_of(out, path.child("scope"), text_of(rule, "scope"), {"*", "Cluster", "Namespaced"});
}

void check_match_resources(FieldErrors& out, const FieldPath& path, const Json& match, const Texts& operations) {
  if (match.is_null()) return;
  check_one_of(out, path.child("matchPolicy"), text_of(match, "matchPolicy"), {"Equivalent", "Exact"});
  check_label_selector(out, path.child("namespaceSelector"), member(match, "namespaceSelector"));
  check_label_selector(out, path.child("objectSelector"), member(match, "objectSelector"));
  for (const char* key : {"resourceRules", "excludeResourceRules"}) {
    size_t i = 0;
    for (const Json& rule : list_of(match, key)) check_policy_rule(out, path.child(key).index(i++), rule, operations);
  }
}

void check_expression(FieldErrors& out, const FieldPath& path, const Json& object, const char* key,
                      const char* detail) {
  if (trim(text_of(object, key)).empty()) out.push_back(required(path.child(key), detail));
}

void check_match_conditions(FieldErrors& out, const FieldPath& path, const Json& conditions) {
  if (conditions.size() > kMaxConditions)
    out.push_back(too_many(path, static_cast<int64_t>(conditions.size()), kMaxConditions));
  std::set<std::string> names;
  size_t i = 0;
  for (const Json& c : conditions) {
    const FieldPath at = path.index(i++);
    const std::string& name = text_of(c, "name");
    check_expression(out, at, c, "expression", "");
    if (name.empty())
      out.push_back(required(at.child("name"), ""));
    else
      add_problems(out, at.child("name"), name, qualified_name_problems(name));
    if (!name.empty() && !names.insert(name).second) out.push_back(duplicate(at.child("name"), name));
  }
}

// What both kinds of policies share.
void check_policy(FieldErrors& out, const FieldPath& path, const Json& spec, const Texts& operations) {
  check_one_of(out, path.child("failurePolicy"), text_of(spec, "failurePolicy"), {"Fail", "Ignore"});
  if (is_set(spec, "paramKind")) {
    for (const char* key : {"apiVersion", "kind"})
      if (text_of(member(spec, "paramKind"), key).empty())
        out.push_back(required(path.child("paramKind").child(key), ""));
  }
  const FieldPath match = path.child("matchConstraints");
  if (!is_set(spec, "matchConstraints")) {
    out.push_back(required(match, ""));
  } else {
    check_match_resources(out, match, member(spec, "matchConstraints"), operations);
    if (list_of(member(spec, "matchConstraints"), "resourceRules").empty())
      out.push_back(required(match.child("resourceRules"), ""));
  }
  check_match_conditions(out, path.child("matchConditions"), list_of(spec, "matchConditions"));
  size_t i = 0;
  for (const Json& variable : list_of(spec, "variables")) {
    const FieldPath at = path.child("variables").index(i++);
    const std::string& name = text_of(variable, "name");
    if (trim(name).empty())
      out.push_back(required(at.child("name"), "name is not specified"));
    else if (!c_identifier_problems(name).empty())
      out.push_back(invalid(at.child("name"), name, "must be a valid CEL identifier"));
    check_expression(out, at, variable, "expression", "expression is not specified");
  }
}

void check_message(FieldErrors& out, const FieldPath& path, const std::string& message) {
  const std::string_view words = trim(message);
  if (!message.empty() && words.empty())
    out.push_back(invalid(path, message, "must be non-empty if specified"));
  else if (words.find_first_of("\n\r") != std::string_view::npos)
    out.push_back(invalid(path, message, "must not contain line breaks"));
}

FieldErrors check_validating_policy(const Json& object) {
  FieldErrors out;
  const FieldPath path("spec");
  const Json& spec = member(object, "spec");
  check_policy(out, path, spec, {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"});
  const Json& validations = list_of(spec, "validations");
  const Json& annotations = list_of(spec, "auditAnnotations");
  if (validations.empty() && annotations.empty()) {
    for (const char* key : {"validations", "auditAnnotations"})
      out.push_back(required(path.child(key), "validations or auditAnnotations must contain at least one item"));
  }
  size_t i = 0;
  for (const Json& v : validations) {
    const FieldPath at = path.child("validations").index(i++);
    check_expression(out, at, v, "expression", "expression is not specified");
    const std::string& expression = text_of(v, "messageExpression");
    if (!expression.empty() && trim(expression).empty())
      out.push_back(invalid(at.child("messageExpression"), expression, "must be non-empty if specified"));
    check_message(out, at.child("message"), text_of(v, "message"));
    if (is_set(v, "reason"))
      check_one_of(out, at.child("reason"), text_of(v, "reason"),
                   {"Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"});
  }
  if (annotations.size() > kMaxAuditAnnotations)
    out.push_back(
        invalid_value(path.child("auditAnnotations"), annotations, "must not have more than 20 auditAnnotations"));
  i = 0;
  for (const Json& a : annotations)
    check_expression(out, path.child("auditAnnotations").index(i++), a, "valueExpression",
                     "valueExpression is not specified");
  return out;
}

FieldErrors check_mutating_policy(const Json& object) {
  FieldErrors out;
  const FieldPath path("spec");
  const Json& spec = member(object, "spec");
  check_policy(out, path, spec, {"*", "CREATE", "UPDATE"});
  const Json& mutations = list_of(spec, "mutations");
  if (mutations.empty()) out.push_back(required(path.child("mutations"), "mutations must contain at least one item"));
  size_t i = 0;
  for (const Json& m : mutations) {
    const FieldPath at = path.child("mutations").index(i++);
    const std::string& type = text_of(m, "patchType");
    check_one_of(out, at.child("patchType"), type, {"ApplyConfiguration", "JSONPatch"});
    const bool json = type == "JSONPatch";
    const char* wanted = json ? "jsonPatch" : "applyConfiguration";
    const char* other = json ? "applyConfiguration" : "jsonPatch";
    if (!json && type != "ApplyConfiguration") continue;
    if (!is_set(m, wanted))
      out.push_back(required(at.child(wanted), "must be specified when patchType is " + type));
    else
      check_expression(out, at.child(wanted), member(m, wanted), "expression", "expression is not specified");
    if (is_set(m, other))
      out.push_back(
          invalid(at.child(other), "{" + std::string(other) + "}", "must not be specified when patchType is " + type));
  }
  check_one_of(out, path.child("reinvocationPolicy"), text_of(spec, "reinvocationPolicy"), {"IfNeeded", "Never"});
  return out;
}

void check_param_ref(FieldErrors& out, const FieldPath& path, const Json& ref) {
  if (ref.is_null()) return;
  const bool named = !text_of(ref, "name").empty();
  const bool selected = is_set(ref, "selector");
  constexpr const char* kBoth = "name and selector are mutually exclusive";
  if (named && selected) {
    out.push_back(forbidden(path.child("name"), kBoth));
    out.push_back(forbidden(path.child("selector"), kBoth));
  }
  if (!named && !selected) out.push_back(required(path, "one of name or selector must be specified"));
  check_label_selector(out, path.child("selector"), member(ref, "selector"));
  check_one_of(out, path.child("parameterNotFoundAction"), text_of(ref, "parameterNotFoundAction"), {"Deny", "Allow"});
}

void check_binding(FieldErrors& out, const FieldPath& path, const Json& spec, const Texts& operations) {
  const std::string& name = text_of(spec, "policyName");
  if (name.empty())
    out.push_back(required(path.child("policyName"), ""));
  else
    add_problems(out, path.child("policyName"), name, dns_subdomain_problems(name));
  check_param_ref(out, path.child("paramRef"), member(spec, "paramRef"));
  check_match_resources(out, path.child("matchResources"), member(spec, "matchResources"), operations);
}

FieldErrors check_validating_binding(const Json& object) {
  FieldErrors out;
  const FieldPath path("spec");
  const Json& spec = member(object, "spec");
  check_binding(out, path, spec, {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"});
  const FieldPath at = path.child("validationActions");
  std::set<std::string> seen;
  size_t i = 0;
  for (const Json& a : list_of(spec, "validationActions")) {
    check_one_of(out, at.index(i), as_text(a), {"Audit", "Deny", "Warn"});
    if (!seen.insert(as_text(a)).second) out.push_back(duplicate(at.index(i), as_text(a)));
    ++i;
  }
  if (seen.contains("Deny") && seen.contains("Warn"))
    out.push_back(invalid_value(at, list_of(spec, "validationActions"),
                                "must not contain both Deny and Warn (repeating the same validation failure "
                                "information in the API response and headers serves no purpose)"));
  if (seen.empty()) out.push_back(required(at, "at least one validation action is required"));
  return out;
}

FieldErrors check_mutating_binding(const Json& object) {
  FieldErrors out;
  check_binding(out, FieldPath("spec"), member(object, "spec"), {"*", "CREATE", "UPDATE"});
  return out;
}

void set_match_defaults(Json& parent, const char* key) {
  if (!is_set(parent, key)) return;
  Json& match = parent[key];
  set_default(match, "matchPolicy", "Equivalent");
  for (const char* selector : {"namespaceSelector", "objectSelector"}) set_default(match, selector, Json::object());
  for (const char* rules : {"resourceRules", "excludeResourceRules"}) {
    if (!member(match, rules).is_array()) continue;
    for (Json& rule : match[rules]) set_default(rule, "scope", "*");
  }
}

void set_policy_defaults(Json& object) {
  Json& spec = object_member(object, "spec");
  set_default(spec, "failurePolicy", "Fail");
  set_match_defaults(spec, "matchConstraints");
}

void set_binding_defaults(Json& object) {
  set_match_defaults(object_member(object, "spec"), "matchResources");
  Json& spec = object["spec"];
  if (is_set(spec, "paramRef")) set_default(spec["paramRef"], "parameterNotFoundAction", "Deny");
}

Json param_kind_cell(const Json& object) {
  const Json& kind = member_at(object, "spec.paramKind");
  return kind.is_null() ? "<unset>" : text_of(kind, "apiVersion") + "/" + text_of(kind, "kind");
}

Json param_ref_cell(const Json& object) {
  const Json& ref = member_at(object, "spec.paramRef");
  const std::string& name = text_of(ref, "name");
  if (name.empty()) return is_set(ref, "selector") ? "<selector>" : "<unset>";
  const std::string& ns = text_of(ref, "namespace");
  return (ns.empty() ? "*" : ns) + "/" + name;
}

KindDescription policy_description(const std::string& kind, const std::string& plural, const std::string& singular) {
  KindDescription d;
  d.info = kind_info({"admissionregistration.k8s.io", "v1"}, "admissionregistration/v1", kind, plural, singular, false);
  d.info.categories = {"api-extensions"};
  d.info.has_generation = true;
  return d;
}

}  // namespace

void add_admission_kinds(KindRegistry& registry) {
  const DescribedColumn param_kind = {{"ParamKind", "string", "", "The kind that holds the policy's parameters.", 0},
                                      param_kind_cell};
  const DescribedColumn policy_name = {{"PolicyName", "string", "", "The policy that is bound.", 0},
                                       [](const Json& o) -> Json { return text_of(member(o, "spec"), "policyName"); }};
  const DescribedColumn param_ref = {{"ParamRef", "string", "", "The object with the parameters.", 0}, param_ref_cell};

  KindDescription validating =
      policy_description("ValidatingAdmissionPolicy", "validatingadmissionpolicies", "validatingadmissionpolicy");
  with_status(validating.info);
  validating.defaults = set_policy_defaults;
  validating.check = check_validating_policy;
  validating.columns = {{{"Validations", "integer", "", "How many rules the policy has.", 0},
                         [](const Json& o) -> Json { return count_of(member_at(o, "spec.validations")); }},
                        param_kind,
                        described_age()};
  registry.add(std::make_unique<DescribedKind>(std::move(validating)));

  KindDescription mutating =
      policy_description("MutatingAdmissionPolicy", "mutatingadmissionpolicies", "mutatingadmissionpolicy");
  mutating.defaults = set_policy_defaults;
  mutating.check = check_mutating_policy;
  mutating.columns = {{{"Mutations", "integer", "", "How many mutations the policy makes.", 0},
                       [](const Json& o) -> Json { return count_of(member_at(o, "spec.mutations")); }},
                      param_kind,
                      described_age()};
  registry.add(std::make_unique<DescribedKind>(std::move(mutating)));

  KindDescription validating_binding = policy_description(
      "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", "validatingadmissionpolicybinding");
  validating_binding.defaults = set_binding_defaults;
  validating_binding.check = check_validating_binding;
  validating_binding.columns = {policy_name, param_ref, described_age()};
  registry.add(std::make_unique<DescribedKind>(std::move(validating_binding)));

  KindDescription mutating_binding = policy_description(
      "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", "mutatingadmissionpolicybinding");
  mutating_binding.defaults = set_binding_defaults;
  mutating_binding.check = check_mutating_binding;
  mutating_binding.columns = {policy_name, param_ref, described_age()};
  registry.add(std::make_unique<DescribedKind>(std::move(mutating_binding)));
}

}  // namespace dra::apiserver
