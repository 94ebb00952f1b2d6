#include "pkg/apiserver/kinds/rbac/rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

using Names = std::vector<std::string>;

Names names_of(const Json& object, const char* key) {
  Names out;
  for (const auto& item : list_of(object, key)) {
    if (item.is_string()) out.push_back(item.get<std::string>());
  }
  return out;
}

bool lists(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool lists_or_all(const Names& names, std::string_view name) {
  return lists(names, "*") || lists(names, name);
}

bool lists_resource(const Names& resources, const AccessAttributes& what) {
  if (what.subresource.empty()) return lists_or_all(resources, what.resource.resource);
  return lists_or_all(resources, what.resource.resource + "/" + what.subresource) ||
         lists(resources, "*/" + what.subresource);
}

bool lists_path(const Names& urls, std::string_view path) {
  return std::any_of(urls.begin(), urls.end(), [&](std::string_view url) {
    if (url == "*" || url == path) return true;
    return url.ends_with('*') && path.starts_with(url.substr(0, url.size() - 1));
  });
}

}  // namespace

bool PolicyRule::allows(const AccessAttributes& what) const {
  if (!lists_or_all(verbs, what.verb)) return false;
  if (!what.path.empty()) return lists_path(non_resource_urls, what.path);
  return lists_or_all(api_groups, what.resource.group) && lists_resource(resources, what) &&
         (resource_names.empty() || lists(resource_names, what.name));
}

Json PolicyRule::to_json() const {
  Json out = {{"verbs", verbs}};
  if (!api_groups.empty()) out["apiGroups"] = api_groups;
  if (!resources.empty()) out["resources"] = resources;
  if (!resource_names.empty()) out["resourceNames"] = resource_names;
  if (!non_resource_urls.empty()) out["nonResourceURLs"] = non_resource_urls;
  return out;
}

std::vector<PolicyRule> policy_rules(const Json& role) {
  std::vector<PolicyRule> out;
  for (const auto& rule : list_of(role, "rules")) {
    out.push_back({names_of(rule, "verbs"), names_of(rule, "apiGroups"), names_of(rule, "resources"),
                   names_of(rule, "resourceNames"), names_of(rule, "nonResourceURLs")});
  }
  return out;
}

bool RbacSubject::is(const UserInfo& user) const {
  if (kind == "User") return user.name == name;
  if (kind == "Group") return lists(user.groups, name);
  return kind == "ServiceAccount" && !namespace_.empty() &&
         user.name == "system:serviceaccount:" + namespace_ + ":" + name;
}

std::string RbacSubject::text() const {
  return kind + " " + quote(kind == "ServiceAccount" ? name + "/" + namespace_ : name);
}

std::vector<RbacSubject> binding_subjects(const Json& binding, const std::string& binding_namespace) {
  std::vector<RbacSubject> out;
  for (const auto& subject : list_of(binding, "subjects")) {
    std::string ns = text_of(subject, "namespace");
    if (ns.empty()) ns = binding_namespace;
    out.push_back({text_of(subject, "kind"), text_of(subject, "name"), std::move(ns)});
  }
  return out;
}

}  // namespace dra::apiserver
