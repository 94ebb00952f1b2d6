#include "pkg/apiserver/auth/authorizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr std::string_view kRoleTables[] = {"rbac.authorization.k8s.io/clusterroles",
                                            "rbac.authorization.k8s.io/roles"};
constexpr std::string_view kBindingTables[] = {"rbac.authorization.k8s.io/clusterrolebindings",
                                               "rbac.authorization.k8s.io/rolebindings"};

bool is_master(const UserInfo& user) {
  return std::find(user.groups.begin(), user.groups.end(), "system:masters") != user.groups.end();
}

}  // namespace

Authorizer::Authorizer(Store& store, AuthorizationMode mode) : store_(store), mode_(mode) {
  for (const auto& tables : {kRoleTables, kBindingTables}) {
    for (int i = 0; i < 2; ++i) {
      const std::string table(tables[i]);
      listeners_.emplace_back(table, store.listen(table, [this](const ChangePtr&) { stale_ = true; }));
    }
  }
}

Authorizer::~Authorizer() {
  for (const auto& [table, id] : listeners_) store_.unlisten(table, id);
}

void Authorizer::compile_bindings(const std::string& table, bool namespaced) {
  for (const auto& [key, object] : store_.objects(table)) {
    const auto document = object->document();
    const std::string& name = text_of(member(*document, "metadata"), "name");
    const std::string ns = namespaced ? text_of(member(*document, "metadata"), "namespace") : "";
    const Json& role = member(*document, "roleRef");
    const std::string& role_name = text_of(role, "name");
    const std::string& role_kind = text_of(role, "kind");
    Binding binding;
    binding.title = namespaced ? "RoleBinding " + quote(name + "/" + ns) : "ClusterRoleBinding " + quote(name);
    binding.role_title = role_kind + " " + quote(role_name);
    binding.role_table = kRoleTables[role_kind == "Role" ? 1 : 0];
    binding.role_key = role_kind == "Role" ? ns + "/" + role_name : role_name;
    binding.subjects = binding_subjects(*document, ns);
    bindings_[ns].push_back(std::move(binding));
  }
}

void Authorizer::compile() {
  if (!stale_) return;
  stale_ = false;
  roles_.clear();
  bindings_.clear();
  for (std::string_view table : kRoleTables) {
    for (const auto& [key, object] : store_.objects(table)) {
      roles_[std::string(table) + " " + key] = policy_rules(*object->document());
    }
  }
  compile_bindings(std::string(kBindingTables[0]), false);
  compile_bindings(std::string(kBindingTables[1]), true);
}

template <typename F>
std::string Authorizer::each_rule(const UserInfo& user, const std::string& namespace_, F&& visit) {
  compile();
  std::vector<std::string> missing;
  auto scan = [&](const std::string& where) {
    const auto found = bindings_.find(where);
    if (found == bindings_.end()) return true;
    for (const Binding& binding : found->second) {
      const auto subject = std::find_if(binding.subjects.begin(), binding.subjects.end(),
                                        [&](const RbacSubject& s) { return s.is(user); });
      if (subject == binding.subjects.end()) continue;
      const auto role = roles_.find(binding.role_table + " " + binding.role_key);
      if (role == roles_.end()) {
        const std::string kind = binding.role_table == kRoleTables[1] ? "role" : "clusterrole";
        const std::string name = binding.role_key.substr(binding.role_key.rfind('/') + 1);
        missing.push_back(kind + ".rbac.authorization.k8s.io " + quote(name) + " not found");
        continue;
      }
      for (const PolicyRule& rule : role->second) {
        if (!visit(rule, binding, *subject)) return false;
      }
    }
    return true;
  };
  if (scan("") && !namespace_.empty()) scan(namespace_);
  if (missing.size() == 1) return missing.front();
  return missing.empty() ? "" : "[" + join(missing, ", ") + "]";
}

AccessDecision Authorizer::decide(const UserInfo& user, const AccessAttributes& what) {
  if (mode_ == AuthorizationMode::kAlwaysAllow || is_master(user)) return {true, ""};
  AccessDecision decision;
  const std::string trouble =
      each_rule(user, what.namespace_, [&](const PolicyRule& rule, const Binding& binding, const RbacSubject& subject) {
        if (!rule.allows(what)) return true;
        decision = {true, "RBAC: allowed by " + binding.title + " of " + binding.role_title + " to " + subject.text()};
        return false;
      });
  if (!decision.allowed && !trouble.empty()) decision.reason = "RBAC: " + trouble;
  return decision;
}

Authorizer::Granted Authorizer::rules_for(const UserInfo& user, const std::string& namespace_) {
  Granted granted;
  if (mode_ == AuthorizationMode::kAlwaysAllow) {
    granted.rules.push_back({{"*"}, {"*"}, {"*"}, {}, {}});
    granted.rules.push_back({{"*"}, {}, {}, {}, {"*"}});
    return granted;
  }
  granted.trouble = each_rule(user, namespace_, [&](const PolicyRule& rule, const Binding&, const RbacSubject&) {
    granted.rules.push_back(rule);
    return true;
  });
  return granted;
}

}  // namespace dra::apiserver
