#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/apiserver/kinds/core/kinds.h"
#include "pkg/apiserver/kinds/core/pod_spec.h"
#include "pkg/apiserver/kinds/quota/quota.h"
#include "pkg/apiserver/kinds/resource/kinds.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

bool pod_in_scope(const Json& pod, const std::string& scope, const std::string& op, const Json& values) {
  const Json& spec = member(pod, "spec");
  const bool terminating = is_set(spec, "activeDeadlineSeconds");
  if (scope == "Terminating") return terminating;
  if (scope == "NotTerminating") return !terminating;
  const bool best_effort = qos_class(spec) == "BestEffort";
  if (scope == "BestEffort") return best_effort;
  if (scope == "NotBestEffort") return !best_effort;
  if (scope != "PriorityClass") return false;
  const std::string& name = text_of(spec, "priorityClassName");
  const bool listed = std::find(values.begin(), values.end(), Json(name)) != values.end();
  if (op == "In") return listed;
  if (op == "NotIn") return !listed;
  return name.empty() == (op == "DoesNotExist");
}

// A quota with scopes counts pods that are in all of them; without scopes, everything.
bool in_scopes(const Json& quota, const KindInfo& info, const Json& object) {
  const Json& spec = member(quota, "spec");
  const bool pod = info.group.empty() && info.plural == "pods";
  for (const Json& scope : list_of(spec, "scopes"))
    if (!pod || !pod_in_scope(object, as_text(scope), "Exists", Json::array())) return false;
  for (const Json& want : list_of(member(spec, "scopeSelector"), "matchExpressions"))
    if (!pod || !pod_in_scope(object, text_of(want, "scopeName"), text_of(want, "operator"), list_of(want, "values")))
      return false;
  return true;
}

const Json& hard_of(const Json& quota) {
  return map_of(member(quota, "spec"), "hard");
}

// If a quota limits cpu or memory, every container must specify them, unless the pod as a whole does.
std::string missing_amounts(const Json& hard, const Json& pod) {
  const Json& spec = member(pod, "spec");
  if (count_of(member(spec, "resources")) > 0) return "";
  std::vector<std::string> parts;
  for (const auto& [name, limit] : hard.items()) {
    const size_t dot = name.find('.');
    const std::string resource = dot == std::string::npos ? name : name.substr(dot + 1);
    if (resource != "cpu" && resource != "memory") continue;
    const bool limits = name.starts_with("limits.");
    std::set<std::string> lacking;
    for (const char* list : {"containers", "initContainers"})
      for (const Json& c : list_of(spec, list))
        if (!is_set(map_of(member(c, "resources"), limits ? "limits" : "requests"), resource))
          lacking.insert(text_of(c, "name"));
    if (!lacking.empty()) parts.push_back(name + " for: " + join({lacking.begin(), lacking.end()}, ","));
  }
  return join(parts, "; ");
}

std::string usage_text(const QuotaUsage& usage, const std::set<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    const auto at = usage.find(name);
    parts.push_back(name + "=" + (at == usage.end() ? "0" : at->second.to_string()));
  }
  return join(parts, ",");
}

QuotaUsage amounts_of(const Json& hard) {
  QuotaUsage out;
  for (const auto& [name, value] : hard.items()) {
    auto amount = api::Quantity::parse(as_text(value));
    if (amount) out[name] = *amount;
  }
  return out;
}

void add_usage(QuotaUsage& to, const QuotaUsage& more, const QuotaUsage& of_interest) {
  for (const auto& [name, amount] : more) {
    if (!of_interest.contains(name)) continue;
    auto sum = to[name].add(amount);
    if (sum) to[name] = *sum;
  }
}

// How much of the quota's limited resources the objects of one kind in its namespace use.
void add_used(QuotaUsage& used, const ObjectReader& reader, const KindInfo& info, const Json& quota,
              const QuotaUsage& hard) {
  reader.for_each(info.group, info.plural, text_of(member(quota, "metadata"), "namespace"), [&](const Json& object) {
    if (in_scopes(quota, info, object)) add_usage(used, quota_usage(reader, info, object), hard);
  });
}

// Every kind may be counted by its own name; only claims and pods share names (extended resources).
std::vector<KindInfo> kinds_that_share(const KindInfo& info) {
  std::vector<KindInfo> out{info};
  if (info.plural == "pods") out.push_back(resource_claim_info());
  if (info.plural == "resourceclaims") out.push_back(pod_info());
  return out;
}

StatusOr<void> admit_by(const WriteContext& ctx, const KindInfo& info, const Json& object, const Json& quota,
                        const QuotaUsage& usage) {
  const QuotaUsage hard = amounts_of(hard_of(quota));
  QuotaUsage requested;
  add_usage(requested, usage, hard);
  if (!in_scopes(quota, info, object)) return {};
  const std::string& name = text_of(member(object, "metadata"), "name");
  const std::string& quota_name = text_of(member(quota, "metadata"), "name");
  if (info.group.empty() && info.plural == "pods") {
    const std::string missing = missing_amounts(hard_of(quota), object);
    if (!missing.empty())
      return fail_status(
          forbidden_status(info.group_resource(), name, "failed quota: " + quota_name + ": must specify " + missing));
  }
  if (requested.empty()) return {};
  QuotaUsage used;
  for (const KindInfo& kind : kinds_that_share(info)) add_used(used, *ctx.reader, kind, quota, hard);
  std::set<std::string> exceeded;
  for (const auto& [resource, amount] : requested) {
    const auto sum = used[resource].add(amount);
    if (amount.sign() > 0 && (!sum || *sum > hard.at(resource))) exceeded.insert(resource);
  }
  if (exceeded.empty()) return {};
  return fail_status(
      forbidden_status(info.group_resource(), name,
                       "exceeded quota: " + quota_name + ", requested: " + usage_text(requested, exceeded) +
                           ", used: " + usage_text(used, exceeded) + ", limited: " + usage_text(hard, exceeded)));
}

}  // namespace

StatusOr<void> admit_by_quota(const WriteContext& ctx, const KindInfo& info, const Json& object) {
  if (!info.namespaced || ctx.reader == nullptr) return {};
  std::vector<Json> quotas;
  ctx.reader->for_each("", "resourcequotas", text_of(member(object, "metadata"), "namespace"),
                       [&](const Json& quota) { quotas.push_back(quota); });
  if (quotas.empty()) return {};
  const QuotaUsage usage = quota_usage(*ctx.reader, info, object);
  for (const Json& quota : quotas)
    if (auto admitted = admit_by(ctx, info, object, quota, usage); !admitted) return admitted;
  return {};
}

Json quota_status(const ObjectReader& reader, const KindRegistry& kinds, const Json& quota) {
  const QuotaUsage hard = amounts_of(hard_of(quota));
  QuotaUsage used;
  for (const auto& kind : kinds.kinds())
    if (kind->info().namespaced) add_used(used, reader, kind->info(), quota, hard);
  Json status = {{"hard", hard_of(quota)}, {"used", Json::object()}};
  for (const auto& [name, amount] : hard) status["used"][name] = used[name].to_string();
  return status;
}

}  // namespace dra::apiserver
