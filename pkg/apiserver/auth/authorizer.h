// Authorizer: may this user do that? Decides by the stored roles and bindings (rbac.authorization.k8s.io/v1), or allows
// everything. Members of system:masters may do everything in either mode.
//
// Roles and bindings are compiled at the first question after one of them changed. Used on the server's thread only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/apiserver/kinds/rbac/rules.h"
#include "pkg/apiserver/model/access.h"
#include "pkg/apiserver/store/store.h"

namespace dra::apiserver {

class Authorizer {
 public:
  // `store` must outlive it.
  Authorizer(Store& store, AuthorizationMode mode);
  ~Authorizer();
  Authorizer(const Authorizer&) = delete;
  Authorizer& operator=(const Authorizer&) = delete;

  AccessDecision decide(const UserInfo& user, const AccessAttributes& what);

  struct Granted {
    std::vector<PolicyRule> rules;
    std::string trouble;  // missing roles that bindings name
  };
  // All rules that apply to the user everywhere and in this namespace ("" for cluster scope alone).
  Granted rules_for(const UserInfo& user, const std::string& namespace_);

 private:
  struct Binding {
    std::string title;  // `ClusterRoleBinding "a"`, `RoleBinding "a/ns"`
    std::string role_title;
    std::string role_table;
    std::string role_key;
    std::vector<RbacSubject> subjects;
  };
  // Calls `visit(rule, binding, subject)` until it returns false; returns what was missing.
  template <typename F>
  std::string each_rule(const UserInfo& user, const std::string& namespace_, F&& visit);
  void compile();
  void compile_bindings(const std::string& table, bool namespaced);

  Store& store_;
  const AuthorizationMode mode_;
  std::vector<std::pair<std::string, uint64_t>> listeners_;
  bool stale_ = true;
  std::map<std::string, std::vector<PolicyRule>> roles_;  // by table + key
  std::map<std::string, std::vector<Binding>> bindings_;  // by namespace; "" for cluster bindings
};

}  // namespace dra::apiserver
