#include "pkg/apiserver/rest/reviews.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/auth/authorizer.h"
#include "pkg/apiserver/auth/tokens.h"
#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/apiserver/rest/body.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

namespace {

constexpr const char* kAudience = "https://kubernetes.default.svc";
constexpr int64_t kShortestToken = 600;
constexpr int64_t kLongestToken = int64_t{1} << 32;

Json user_document(const UserInfo& user) {
  Json out = Json::object();
  if (!user.name.empty()) out["username"] = user.name;
  if (!user.uid.empty()) out["uid"] = user.uid;
  if (!user.groups.empty()) out["groups"] = user.groups;
  if (!user.extra.empty()) out["extra"] = user.extra;
  return out;
}

std::string text_member(const Json& object, const char* name) {
  if (!object.is_object()) return "";
  const Json v = object.value(name, Json());
  return v.is_string() ? v.get<std::string>() : "";
}

AccessAttributes attributes_of(const Json& spec) {
  AccessAttributes what;
  const Json resource = spec.value("resourceAttributes", Json());
  if (resource.is_object()) {
    what.verb = text_member(resource, "verb");
    what.resource = {text_member(resource, "group"), text_member(resource, "resource")};
    what.subresource = text_member(resource, "subresource");
    what.namespace_ = text_member(resource, "namespace");
    what.name = text_member(resource, "name");
    return what;
  }
  const Json other = spec.value("nonResourceAttributes", Json::object());
  what.verb = text_member(other, "verb");
  what.path = text_member(other, "path");
  return what;
}

FieldErrors check_access_spec(const Call& call, const CreateOnlyResource& resource, const Json& spec) {
  FieldErrors errors;
  const bool has_resource = spec.value("resourceAttributes", Json()).is_object();
  const bool has_other = spec.value("nonResourceAttributes", Json()).is_object();
  if (has_resource && has_other) {
    const Json& n = spec["nonResourceAttributes"];
    errors.push_back(
        invalid_raw(FieldPath("spec.nonResourceAttributes"),
                    "{\"Path\":" + quote(text_member(n, "path")) + ",\"Verb\":" + quote(text_member(n, "verb")) + "}",
                    "cannot be specified in combination with resourceAttributes"));
  }
  if (!has_resource && !has_other) {
    errors.push_back(invalid_value(FieldPath("spec.resourceAttributes"), nullptr,
                                   "exactly one of nonResourceAttributes or resourceAttributes must be specified"));
  }
  const bool self = resource.kind.starts_with("Self");
  const Json groups = spec.value("groups", Json());
  if (!self && text_member(spec, "user").empty() && !(groups.is_array() && !groups.empty())) {
    errors.push_back(invalid(FieldPath("spec.user"), "", "at least one of user or group must be specified"));
  }
  if (resource.namespaced && has_resource) {
    const std::string ns = text_member(spec["resourceAttributes"], "namespace");
    if (ns != call.path.namespace_) {
      errors.push_back(invalid(FieldPath("spec.resourceAttributes.namespace"), ns, "must match metadata.namespace"));
    }
  }
  return errors;
}

StatusOr<void> review_access(const Env& env, const Call& call, const CreateOnlyResource& resource, Json& review) {
  const Json spec = review.value("spec", Json::object());
  const FieldErrors errors = check_access_spec(call, resource, spec);
  if (!errors.empty()) return fail_status(invalid_status({resource.gv.group, ""}, "", errors));
  UserInfo user = call.user;
  if (!resource.kind.starts_with("Self")) {
    user = {text_member(spec, "user"), text_member(spec, "uid"), {}, {}};
    for (const auto& g : spec.value("groups", Json::array())) {
      if (g.is_string()) user.groups.push_back(g);
    }
  }
  const AccessDecision decision = env.authorizer.decide(user, attributes_of(spec));
  review["status"] = {{"allowed", decision.allowed}};
  if (!decision.reason.empty()) review["status"]["reason"] = decision.reason;
  return {};
}

void review_rules(const Env& env, const Call& call, Json& review) {
  const auto granted = env.authorizer.rules_for(call.user, text_member(review["spec"], "namespace"));
  Json resource_rules = Json::array();
  Json other_rules = Json::array();
  for (const PolicyRule& rule : granted.rules) {
    (rule.non_resource_urls.empty() ? resource_rules : other_rules).push_back(rule.to_json());
  }
  review["spec"] = Json::object();
  review["status"] = {{"resourceRules", resource_rules}, {"nonResourceRules", other_rules}, {"incomplete", false}};
  if (!granted.trouble.empty()) review["status"]["evaluationError"] = granted.trouble;
}

StatusOr<void> review_token(const Env& env, Json& review) {
  const std::string token = text_member(review.value("spec", Json::object()), "token");
  if (token.empty()) return fail_status(bad_request("token is required for TokenReview in authentication"));
  auto user = user_of_token(env.tokens, token);
  if (!user) {
    review["status"] = {{"user", Json::object()}, {"error", "invalid bearer token"}};
    return {};
  }
  review["status"] = {{"authenticated", true}, {"user", user_document(*user)}, {"audiences", {kAudience}}};
  return {};
}

Json name_and_uid(const Json& object) {
  return {{"name", object.at("metadata").value("name", "")}, {"uid", object.at("metadata").value("uid", "")}};
}

// What a token is bound to, as its claims state it: a pod together with its node, a node, or a secret.
StatusOr<Json> token_holders(const Env& env, const Call& call, const Json& bound) {
  Json holders = Json::object();
  if (!bound.is_object()) return holders;
  const std::string kind = text_member(bound, "kind");
  const std::string plural = kind == "Pod" ? "pods" : kind == "Secret" ? "secrets" : "nodes";
  const std::string name = text_member(bound, "name");
  const auto object = env.reader.find("", plural, plural == "nodes" ? "" : call.path.namespace_, name);
  if (!object) return fail_status(not_found({"", plural}, name));
  holders[kind == "Pod" ? "pod" : kind == "Secret" ? "secret" : "node"] = name_and_uid(*object);
  if (kind != "Pod") return holders;
  const std::string node_name = text_member(object->value("spec", Json::object()), "nodeName");
  const auto node = node_name.empty() ? nullptr : env.reader.find("", "nodes", "", node_name);
  if (node) holders["node"] = name_and_uid(*node);
  return holders;
}

}  // namespace

void handle_review(const Env& env, const CallPtr& call, const CreateOnlyResource& resource) {
  auto decoded = decode_plain_body(
      *call, {resource.gv, resource.kind,
              builtin_schemas().find(resource.gv.group.substr(0, resource.gv.group.find('.')) + "/v1", resource.kind)});
  if (!decoded) return send_status(*call, decoded.error());
  Json review = std::move(*decoded);
  review["kind"] = resource.kind;
  review["apiVersion"] = resource.gv.text();
  if (!review.contains("metadata") || !review["metadata"].is_object()) review["metadata"] = Json::object();
  if (!review.contains("spec") || !review["spec"].is_object()) review["spec"] = Json::object();
  StatusOr<void> done;
  if (resource.kind == "SelfSubjectReview") {
    review.erase("spec");
    review["metadata"]["creationTimestamp"] = format_rfc3339(env.reactor.clock().wall_now());
    review["status"] = {{"userInfo", user_document(call->user)}};
  } else if (resource.kind == "TokenReview") {
    done = review_token(env, review);
  } else if (resource.kind == "SelfSubjectRulesReview") {
    review_rules(env, *call, review);
  } else {
    done = review_access(env, *call, resource, review);
  }
  if (!done) return send_status(*call, done.error());
  send_document(*call, 201, review);
}

void create_token(const Env& env, const CallPtr& call) {
  auto decoded = decode_plain_body(
      *call,
      {{"authentication.k8s.io", "v1"}, "TokenRequest", builtin_schemas().find("authentication/v1", "TokenRequest")});
  if (!decoded) return send_status(*call, decoded.error());
  const std::string& name = call->path.name;
  const StoredPtr account = env.store.get(call->table(), call->key(name));
  if (!account) return send_status(*call, not_found({"", "serviceaccounts"}, name));
  const Json spec = decoded->value("spec", Json::object());
  const Json requested = spec.is_object() ? spec.value("expirationSeconds", Json(3600)) : Json(3600);
  const int64_t seconds = requested.is_number_integer() ? requested.get<int64_t>() : 3600;
  const FieldPath path("spec.expirationSeconds");
  FieldErrors errors;
  if (seconds < kShortestToken) {
    errors.push_back(invalid_value(path, seconds, "may not specify a duration less than 10 minutes"));
  } else if (seconds > kLongestToken) {
    errors.push_back(invalid_value(path, seconds, "may not specify a duration larger than 2^32 seconds"));
  }
  if (!errors.empty()) {
    return send_status(*call, invalid_status({"authentication.k8s.io", "TokenRequest"}, "", errors));
  }
  const Json bound = spec.is_object() ? spec.value("boundObjectRef", Json()) : Json();
  auto holders = token_holders(env, *call, bound);
  if (!holders) return send_status(*call, holders.error());
  const auto document = account->document();
  const Json& meta = document->at("metadata");
  const WallTime now = env.reactor.clock().wall_now();
  const WallTime end = now + std::chrono::seconds(seconds);
  Json out = {{"kind", "TokenRequest"}, {"apiVersion", "authentication.k8s.io/v1"}};
  out["metadata"] = {{"name", name},
                     {"namespace", call->path.namespace_},
                     {"uid", meta.value("uid", "")},
                     {"creationTimestamp", format_rfc3339(now)}};
  out["spec"] = {{"audiences", {kAudience}}, {"expirationSeconds", seconds}, {"boundObjectRef", bound}};
  out["status"] = {{"token", make_account_token(env.tokens, {call->path.namespace_, name, meta.value("uid", "")},
                                                *holders, now, end)},
                   {"expirationTimestamp", format_rfc3339(end)}};
  send_document(*call, 201, out);
}

}  // namespace dra::apiserver
