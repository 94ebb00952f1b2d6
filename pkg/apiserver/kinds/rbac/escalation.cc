#include "pkg/apiserver/kinds/rbac/escalation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/rbac/rules.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr const char* kRbac = "rbac.authorization.k8s.io";
// Up to this many combinations of one rule are checked one by one; a larger rule must be covered by a wildcard.
constexpr size_t kMostCombinations = 10'000;

bool may(const WriteContext& ctx, const AccessAttributes& what) {
  return !ctx.authorize || ctx.authorize(what).allowed;
}

// Wildcards are checked literally: only a rule with the same wildcard covers one.
bool holds(const WriteContext& ctx, const std::string& namespace_, const PolicyRule& rule) {
  AccessAttributes what;
  for (const auto& verb : rule.verbs) {
    what.verb = verb;
    for (const auto& url : rule.non_resource_urls) {
      what.path = url;
      if (!may(ctx, what)) return false;
    }
  }
  what.path.clear();
  what.namespace_ = namespace_;
  const std::vector<std::string> any_name = {""};
  const auto& names = rule.resource_names.empty() ? any_name : rule.resource_names;
  if (rule.verbs.size() * rule.api_groups.size() * rule.resources.size() * names.size() > kMostCombinations) {
    return may(ctx, {"*", {"*", "*"}, "", namespace_, "", ""});
  }
  for (const auto& verb : rule.verbs) {
    for (const auto& group : rule.api_groups) {
      for (const auto& resource : rule.resources) {
        const size_t slash = resource.find('/');
        what.verb = verb;
        what.resource = {group, resource.substr(0, slash)};
        what.subresource = slash == std::string::npos ? "" : resource.substr(slash + 1);
        for (const auto& name : names) {
          what.name = name;
          if (!may(ctx, what)) return false;
        }
      }
    }
  }
  return true;
}

std::string quoted_list(const std::vector<std::string>& items) {
  std::vector<std::string> quoted;
  for (const auto& item : items) quoted.push_back(quote(item));
  return "[" + join(quoted, ", ") + "]";
}

std::string compact_text(const PolicyRule& rule) {
  std::vector<std::string> parts;
  auto add = [&](const char* name, const std::vector<std::string>& items) {
    if (!items.empty()) parts.push_back(std::string(name) + ":" + quoted_list(items));
  };
  add("APIGroups", rule.api_groups);
  add("Resources", rule.resources);
  add("ResourceNames", rule.resource_names);
  add("NonResourceURLs", rule.non_resource_urls);
  add("Verbs", rule.verbs);
  return "{" + join(parts, ", ") + "}";
}

StatusOr<void> check_rules(const WriteContext& ctx, const GroupResource& resource, const std::string& name,
                           const std::vector<PolicyRule>& rules) {
  std::vector<std::string> missing;
  for (const auto& rule : rules) {
    if (!holds(ctx, ctx.namespace_, rule)) missing.push_back(compact_text(rule));
  }
  if (missing.empty()) return {};
  std::sort(missing.begin(), missing.end());
  return fail_status(forbidden_status(resource, name,
                                      "user " + quote(ctx.user) +
                                          " is attempting to grant RBAC permissions not currently held:\n" +
                                          join(missing, "\n")));
}

}  // namespace

StatusOr<void> check_role_escalation(const WriteContext& ctx, const GroupResource& resource, const Json& role) {
  const std::string& name = text_of(member(role, "metadata"), "name");
  if (may(ctx, {"escalate", resource, "", ctx.namespace_, name, ""})) return {};
  return check_rules(ctx, resource, name, policy_rules(role));
}

StatusOr<void> check_binding_escalation(const WriteContext& ctx, const GroupResource& resource, const Json& binding) {
  const Json& reference = member(binding, "roleRef");
  const std::string& role_name = text_of(reference, "name");
  const bool namespaced = text_of(reference, "kind") == "Role";
  const GroupResource roles{kRbac, namespaced ? "roles" : "clusterroles"};
  const std::string& name = text_of(member(binding, "metadata"), "name");
  if (may(ctx, {"bind", roles, "", ctx.namespace_, role_name, ""})) return {};
  const auto role = ctx.reader->find(kRbac, roles.resource, namespaced ? ctx.namespace_ : "", role_name);
  if (!role) return fail_status(not_found(roles, role_name));
  return check_rules(ctx, resource, name, policy_rules(*role));
}

}  // namespace dra::apiserver
