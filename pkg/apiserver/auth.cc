#include "pkg/apiserver/auth.h"

#include <algorithm>

#include "pkg/apiserver/tokens.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr std::string_view kMasters = "system:masters";

bool in_group(const UserInfo& user, std::string_view group) {
  return std::find(user.groups.begin(), user.groups.end(), group) != user.groups.end();
}

bool is_public_path(std::string_view path) {
  for (std::string_view p : {"/healthz", "/livez", "/readyz", "/version"}) {
    if (path == p || (path.starts_with(p) && path.size() > p.size() && path[p.size()] == '/')) return true;
  }
  return false;
}

bool is_discovery_path(std::string_view path) {
  for (std::string_view p : {"/api", "/apis", "/openapi"}) {
    if (path == p || (path.starts_with(p) && path.size() > p.size() && path[p.size()] == '/')) return true;
  }
  return false;
}

// "system:serviceaccount:NS:NAME" implies the groups of service accounts.
void add_account_groups(UserInfo& user) {
  const auto parts = split(user.name, ':');
  if (!user.groups.empty() || parts.size() != 4 || parts[0] != "system" || parts[1] != "serviceaccount") return;
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + parts[2]};
}

std::string_view target_path(const Call& call) {
  const std::string_view target = call.request.target;
  return target.substr(0, target.find('?'));
}

}  // namespace

StatusOr<void> authenticate(const Env& env, Call& call) {
  const std::string_view header = call.request.headers.get("Authorization");
  if (header.starts_with("Bearer ")) {
    auto user = user_of_token(env, trim(header.substr(7)));
    if (!user) return fail_status(unauthorized());
    call.user = std::move(*user);
    if (!in_group(call.user, "system:authenticated")) call.user.groups.emplace_back("system:authenticated");
  } else {
    call.user = {"system:anonymous", "", {"system:unauthenticated"}};
  }
  const std::string_view as = call.request.headers.get("Impersonate-User");
  if (as.empty()) {
    if (call.request.headers.has("Impersonate-Group")) {
      return fail_status(bad_request("requested groups without impersonating a user name"));
    }
    return {};
  }
  if (!in_group(call.user, kMasters)) {
    return fail_status(forbidden_status({"", "users"}, as,
                                        "User " + quote(call.user.name) +
                                            " cannot impersonate resource \"users\" in API "
                                            "group \"\" at the cluster scope"));
  }
  UserInfo user;
  user.name = as;
  for (const auto& [name, value] : call.request.headers.fields()) {
    if (to_lower(name) == "impersonate-group") user.groups.push_back(value);
    if (to_lower(name) == "impersonate-uid") user.uid = value;
  }
  if (user.name == "system:anonymous") {
    user.groups.emplace_back("system:unauthenticated");
  } else {
    add_account_groups(user);
    user.groups.emplace_back("system:authenticated");
  }
  call.user = std::move(user);
  return {};
}

std::string request_verb(const Call& call) {
  const std::string& m = call.request.method;
  if (!call.path.is_resource) return to_lower(m);
  const bool named = !call.path.name.empty();
  if (m == "POST") return "create";
  if (m == "PUT") return "update";
  if (m == "PATCH") return "patch";
  if (m == "DELETE") return named ? "delete" : "deletecollection";
  if (m == "GET" || m == "HEAD") {
    if (call.path.old_watch) return "watch";
    if (named) return "get";
    return call.query.flag("watch") ? "watch" : "list";
  }
  return to_lower(m);
}

bool is_allowed(const UserInfo& user, const AccessAttributes& what) {
  if (in_group(user, kMasters)) return true;
  if (!what.path.empty()) {
    if (what.verb != "get") return false;
    return is_public_path(what.path) || (in_group(user, "system:authenticated") && is_discovery_path(what.path));
  }
  if (!in_group(user, "system:authenticated") || what.verb != "create") return false;
  const bool self_access =
      what.resource.group == "authorization.k8s.io" &&
      (what.resource.resource == "selfsubjectaccessreviews" || what.resource.resource == "selfsubjectrulesreviews");
  return self_access ||
         (what.resource.group == "authentication.k8s.io" && what.resource.resource == "selfsubjectreviews");
}

StatusOr<void> authorize(Call& call) {
  AccessAttributes what;
  what.verb = request_verb(call);
  if (!call.path.is_resource) {
    what.path = target_path(call);
    if (is_allowed(call.user, what)) return {};
    Status s;
    s.code = 403;
    s.reason = "Forbidden";
    s.message = "forbidden: User " + quote(call.user.name) + " cannot " + what.verb + " path " + quote(what.path);
    return fail_status(s);
  }
  what.resource = {call.path.gv.group, call.path.resource};
  what.subresource = call.path.subresource;
  what.namespace_ = call.path.namespace_;
  what.name = call.path.name;
  if (is_allowed(call.user, what)) return {};
  std::string resource = call.path.resource;
  if (!what.subresource.empty()) resource += "/" + what.subresource;
  std::string text = "User " + quote(call.user.name) + " cannot " + what.verb + " resource " + quote(resource) +
                     " in API group " + quote(what.resource.group) + " ";
  text += what.namespace_.empty() ? "at the cluster scope" : "in the namespace " + quote(what.namespace_);
  return fail_status(forbidden_status(what.resource, what.name, text));
}

}  // namespace dra::apiserver
