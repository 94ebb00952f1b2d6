#include "pkg/apiserver/rest/auth.h"

#include <algorithm>

#include "pkg/apiserver/auth/authorizer.h"
#include "pkg/apiserver/auth/tokens.h"
#include "pkg/apiserver/model/selectors.h"
#include "pkg/base/strings.h"
#include "pkg/base/utf8.h"

namespace dra::apiserver {

namespace {

bool in_group(const UserInfo& user, std::string_view group) {
  return std::find(user.groups.begin(), user.groups.end(), group) != user.groups.end();
}

// "system:serviceaccount:NS:NAME" implies the groups of service accounts.
void add_account_groups(UserInfo& user) {
  const auto parts = split(user.name, ':');
  if (!user.groups.empty() || parts.size() != 4 || parts[0] != "system" || parts[1] != "serviceaccount") return;
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + parts[2]};
}

// Impersonate-Group, -Uid and -Extra-KEY, into `user`.
StatusOr<void> read_impersonation(const Call& call, UserInfo& user) {
  constexpr std::string_view kExtra = "impersonate-extra-";
  for (const auto& [name, value] : call.request.headers.fields()) {
    const std::string header = to_lower(name);
    if (header == "impersonate-group") user.groups.push_back(value);
    if (header == "impersonate-uid") user.uid = value;
    if (!header.starts_with(kExtra)) continue;
    std::string key;
    if (!percent_decode(std::string_view(header).substr(kExtra.size()), false, key)) {
      return fail_status(bad_request("header " + quote(name) + " is not percent-encoded properly"));
    }
    user.extra[key].push_back(value);
  }
  return {};
}

// Requires the verb impersonate on everything that is impersonated.
StatusOr<void> check_impersonation(const Env& env, const UserInfo& from, const UserInfo& to) {
  std::vector<AccessAttributes> needed;
  const auto parts = split(to.name, ':');
  if (parts.size() == 4 && parts[0] == "system" && parts[1] == "serviceaccount") {
    needed.push_back({"impersonate", {"", "serviceaccounts"}, "", parts[2], parts[3], ""});
  } else {
    needed.push_back({"impersonate", {"", "users"}, "", "", to.name, ""});
  }
  for (const auto& group : to.groups) needed.push_back({"impersonate", {"", "groups"}, "", "", group, ""});
  if (!to.uid.empty()) needed.push_back({"impersonate", {"authentication.k8s.io", "uids"}, "", "", to.uid, ""});
  for (const auto& [key, values] : to.extra) {
    for (const auto& value : values) {
      needed.push_back({"impersonate", {"authentication.k8s.io", "userextras"}, key, "", value, ""});
    }
  }
  for (const auto& what : needed) {
    const AccessDecision decision = env.authorizer.decide(from, what);
    if (!decision.allowed) return fail_status(forbidden_access(from.name, what, decision.reason));
  }
  return {};
}

// The one name that a list or watch can show; "" if it can show several. Parsed from the selector exactly as the list
// parses it, since a user who may read only that name must not see others.
std::string selected_name(const std::string& selector) {
  const auto terms = FieldSelector::parse_terms(selector);
  if (!terms) return "";
  for (const auto& term : *terms) {
    if (!term.equal || term.label != "metadata.name") continue;
    const std::string& name = term.value;
    return name == "." || name == ".." || name.find_first_of("/%") != std::string::npos ? "" : name;
  }
  return "";
}

AccessAttributes attributes_of(const Call& call) {
  AccessAttributes what;
  what.verb = call.verb;
  what.resource = {call.path.gv.group, call.path.resource};
  what.subresource = call.path.subresource;
  what.namespace_ = call.path.namespace_;
  what.name = call.path.name;
  // A namespace is in itself.
  if (what.resource.text() == "namespaces" && !what.name.empty()) what.namespace_ = what.name;
  return what;
}

// "bearer" in any letter case, as in kube-apiserver.
bool has_bearer(std::string_view header) {
  return header.size() > 7 && to_lower(header.substr(0, 7)) == "bearer " && !trim(header.substr(7)).empty();
}

}  // namespace

StatusOr<void> authenticate(const Env& env, Call& call) {
  const std::string_view header = call.request.headers.get("Authorization");
  if (has_bearer(header)) {
    auto user = user_of_token(env.tokens, trim(header.substr(7)));
    if (!user) return fail_status(unauthorized());
    call.user = std::move(*user);
    if (!in_group(call.user, "system:authenticated")) call.user.groups.emplace_back("system:authenticated");
  } else {
    call.user = {"system:anonymous", "", {"system:unauthenticated"}};
  }
  const std::string_view as = call.request.headers.get("Impersonate-User");
  if (as.empty()) {
    UserInfo none;
    if (auto read = read_impersonation(call, none); !read) return read;
    if (none.groups.empty() && none.uid.empty() && none.extra.empty()) return {};
    return fail_status(bad_request("requested groups without impersonating a user name"));
  }
  UserInfo user;
  user.name = valid_utf8(as);
  if (auto read = read_impersonation(call, user); !read) return read;
  if (auto ok = check_impersonation(env, call.user, user); !ok) return ok;
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
  if (call.path.old_watch) return "watch";
  const bool named = !call.path.name.empty();
  if (m == "POST") return "create";
  if (m == "PUT") return "update";
  if (m == "PATCH") return "patch";
  if (m == "DELETE") return named ? "delete" : "deletecollection";
  if (m == "GET" || m == "HEAD") {
    if (named) return "get";
    return call.query.flag("watch") ? "watch" : "list";
  }
  return "";
}

StatusOr<void> authorize(const Env& env, Call& call) {
  AccessAttributes what;
  if (call.path.is_resource) {
    what = attributes_of(call);
    const bool reads_many = what.name.empty() && !call.path.old_watch && (what.verb == "list" || what.verb == "watch");
    if (reads_many) what.name = selected_name(call.query.get("fieldSelector"));
  } else {
    what.verb = call.verb;
    what.path = call.path.text;
  }
  const AccessDecision decision = env.authorizer.decide(call.user, what);
  if (decision.allowed) return {};
  return fail_status(forbidden_access(call.user.name, what, decision.reason));
}

StatusOr<void> authorize_create(const Env& env, const Call& call, const std::string& name) {
  AccessAttributes what = attributes_of(call);
  what.verb = "create";
  what.name = name;
  const AccessDecision decision = env.authorizer.decide(call.user, what);
  if (decision.allowed) return {};
  return fail_status(forbidden_status(what.resource, name, decision.reason));
}

}  // namespace dra::apiserver
