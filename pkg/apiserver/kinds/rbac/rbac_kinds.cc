// Validation, defaults and tables of roles and bindings (k8s.io/kubernetes/pkg/apis/rbac/validation).
#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/rbac/escalation.h"
#include "pkg/apiserver/kinds/rbac/kinds.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr const char* kRbacGroup = "rbac.authorization.k8s.io";

Problems path_segment_problems(const std::string& name) {
  if (name == "." || name == "..") return {"may not be '" + name + "'"};
  Problems out;
  for (char c : {'/', '%'}) {
    if (name.find(c) != std::string::npos) out.push_back(std::string("may not contain '") + c + "'");
  }
  return out;
}

void check_rule(FieldErrors& out, const FieldPath& path, const Json& rule, bool namespaced) {
  if (list_of(rule, "verbs").empty()) {
    out.push_back(required(path.child("verbs"), "verbs must contain at least one value"));
  }
  const Json& urls = list_of(rule, "nonResourceURLs");
  const bool has_resources = !list_of(rule, "apiGroups").empty() || !list_of(rule, "resources").empty() ||
                             !list_of(rule, "resourceNames").empty();
  if (!urls.empty()) {
    const FieldPath at = path.child("nonResourceURLs");
    if (namespaced) out.push_back(invalid_value(at, urls, "namespaced rules cannot apply to non-resource URLs"));
    if (has_resources) {
      out.push_back(invalid_value(at, urls, "rules cannot apply to both regular resources and non-resource URLs"));
    }
    return;
  }
  if (list_of(rule, "apiGroups").empty()) {
    out.push_back(required(path.child("apiGroups"), "resource rules must supply at least one api group"));
  }
  if (list_of(rule, "resources").empty()) {
    out.push_back(required(path.child("resources"), "resource rules must supply at least one resource"));
  }
}

// Role and ClusterRole.
class AnyRoleKind : public Kind {
 public:
  using Kind::Kind;

  StatusOr<void> admit_create(const WriteContext& ctx, Json& object) const override {
    return check_role_escalation(ctx, info().group_resource(), object);
  }
  StatusOr<void> admit_update(const WriteContext& ctx, Json& object, const Json& old) const override {
    if (semantic_equal(member(object, "rules"), member(old, "rules"))) return {};
    return check_role_escalation(ctx, info().group_resource(), object);
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override { return check(object); }
  FieldErrors validate_update(const WriteContext&, const Json& object, const Json&) const override {
    return check(object);
  }

  std::vector<TableColumn> columns() const override {
    return {name_column(), {"Created At", "date", "", std::string(age_column_description()), 0}};
  }
  Json cells(const Json& object, WallTime) const override {
    const Json& meta = member(object, "metadata");
    return Json::array({text_of(meta, "name"), text_of(meta, "creationTimestamp")});
  }

 private:
  FieldErrors check(const Json& object) const {
    FieldErrors out;
    const Json& rules = list_of(object, "rules");
    for (size_t i = 0; i < rules.size(); ++i) {
      check_rule(out, FieldPath("rules").index(i), rules[i], info().namespaced);
    }
    const Json& aggregation = member(object, "aggregationRule");
    if (aggregation.is_null()) return out;
    const FieldPath path("aggregationRule.clusterRoleSelectors");
    const Json& selectors = list_of(aggregation, "clusterRoleSelectors");
    if (selectors.empty()) {
      out.push_back(required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"));
    }
    for (size_t i = 0; i < selectors.size(); ++i) check_label_selector(out, path.index(i), selectors[i]);
    return out;
  }
};

void check_subject(FieldErrors& out, const FieldPath& path, const Json& subject, bool namespaced) {
  const std::string& name = text_of(subject, "name");
  const std::string& kind = text_of(subject, "kind");
  const std::string& group = text_of(subject, "apiGroup");
  if (name.empty()) out.push_back(required(path.child("name"), ""));
  if (kind == "ServiceAccount") {
    if (!name.empty()) add_problems(out, path.child("name"), name, dns_subdomain_problems(name));
    if (!group.empty()) out.push_back(not_supported(path.child("apiGroup"), group, {""}));
    if (!namespaced && text_of(subject, "namespace").empty()) out.push_back(required(path.child("namespace"), ""));
  } else if (kind == "User" || kind == "Group") {
    if (group != kRbacGroup) out.push_back(not_supported(path.child("apiGroup"), group, {kRbacGroup}));
  } else {
    out.push_back(not_supported(path.child("kind"), kind, {"ServiceAccount", "User", "Group"}));
  }
}

// RoleBinding and ClusterRoleBinding.
class AnyBindingKind : public Kind {
 public:
  using Kind::Kind;

  void set_defaults(Json& object) const override {
    Json& role = object_member(object, "roleRef");
    if (text_of(role, "apiGroup").empty()) role["apiGroup"] = kRbacGroup;
    auto subjects = object.find("subjects");
    if (subjects == object.end() || !subjects->is_array()) return;
    for (Json& subject : *subjects) {
      const std::string& kind = text_of(subject, "kind");
      if ((kind == "User" || kind == "Group") && text_of(subject, "apiGroup").empty()) subject["apiGroup"] = kRbacGroup;
    }
  }

  StatusOr<void> admit_create(const WriteContext& ctx, Json& object) const override {
    return check_binding_escalation(ctx, info().group_resource(), object);
  }
  StatusOr<void> admit_update(const WriteContext& ctx, Json& object, const Json& old) const override {
    if (semantic_equal(member(object, "roleRef"), member(old, "roleRef")) &&
        semantic_equal(member(object, "subjects"), member(old, "subjects"))) {
      return {};
    }
    return check_binding_escalation(ctx, info().group_resource(), object);
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override { return check(object); }
  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out = check(object);
    const Json& role = member(object, "roleRef");
    if (!semantic_equal(role, member(old, "roleRef"))) {
      out.push_back(invalid_raw(FieldPath("roleRef"),
                                "{\"APIGroup\":" + quote(text_of(role, "apiGroup")) + ",\"Kind\":" +
                                    quote(text_of(role, "kind")) + ",\"Name\":" + quote(text_of(role, "name")) + "}",
                                "cannot change roleRef"));
    }
    return out;
  }

  std::vector<TableColumn> columns() const override {
    return {name_column(),
            {"Role", "string", "",
             "RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the "
             "RoleRef cannot be resolved, the Authorizer must return an error.",
             0},
            age_column(),
            {"Users", "string", "", "Users in the roleBinding", 1},
            {"Groups", "string", "", "Groups in the roleBinding", 1},
            {"ServiceAccounts", "string", "", "ServiceAccounts in the roleBinding", 1}};
  }
  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    const Json& role = member(object, "roleRef");
    return Json::array({text_of(meta, "name"), text_of(role, "kind") + "/" + text_of(role, "name"),
                        age_cell(member(meta, "creationTimestamp"), now), subjects_of(object, "User"),
                        subjects_of(object, "Group"), subjects_of(object, "ServiceAccount")});
  }

 private:
  static std::string subjects_of(const Json& object, const std::string& kind) {
    std::vector<std::string> names;
    for (const auto& subject : list_of(object, "subjects")) {
      if (text_of(subject, "kind") != kind) continue;
      const std::string& ns = text_of(subject, "namespace");
      names.push_back(kind == "ServiceAccount" ? ns + "/" + text_of(subject, "name") : text_of(subject, "name"));
    }
    return join(names, ", ");
  }

  FieldErrors check(const Json& object) const {
    FieldErrors out;
    const Json& role = member(object, "roleRef");
    const FieldPath path("roleRef");
    if (text_of(role, "apiGroup") != kRbacGroup) {
      out.push_back(not_supported(path.child("apiGroup"), text_of(role, "apiGroup"), {kRbacGroup}));
    }
    const std::string& kind = text_of(role, "kind");
    if (kind != "ClusterRole" && !(info().namespaced && kind == "Role")) {
      std::vector<std::string> supported = {"ClusterRole"};
      if (info().namespaced) supported.insert(supported.begin(), "Role");
      out.push_back(not_supported(path.child("kind"), kind, supported));
    }
    const std::string& name = text_of(role, "name");
    if (name.empty()) {
      out.push_back(required(path.child("name"), ""));
    } else {
      add_problems(out, path.child("name"), name, path_segment_problems(name));
    }
    const Json& subjects = list_of(object, "subjects");
    for (size_t i = 0; i < subjects.size(); ++i) {
      check_subject(out, FieldPath("subjects").index(i), subjects[i], info().namespaced);
    }
    return out;
  }
};

KindInfo rbac_info(const std::string& kind, const std::string& plural, const std::string& singular, bool namespaced) {
  KindInfo info = kind_info({kRbacGroup, "v1"}, "rbac/v1", kind, plural, singular, namespaced);
  info.name_rule = NameRule::kPathSegment;
  return info;
}

}  // namespace

void add_rbac_kinds(KindRegistry& registry) {
  registry.add(std::make_unique<AnyRoleKind>(rbac_info("Role", "roles", "role", true)));
  registry.add(std::make_unique<AnyRoleKind>(rbac_info("ClusterRole", "clusterroles", "clusterrole", false)));
  registry.add(std::make_unique<AnyBindingKind>(rbac_info("RoleBinding", "rolebindings", "rolebinding", true)));
  registry.add(std::make_unique<AnyBindingKind>(
      rbac_info("ClusterRoleBinding", "clusterrolebindings", "clusterrolebinding", false)));
}

}  // namespace dra::apiserver
