// Who may change which part of a claim's status.
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "pkg/apiserver/kinds/resource/claim_status.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

constexpr const char* kDraGroup = "resource.k8s.io";

using DeviceKey = std::tuple<std::string, std::string, std::string, std::string>;

std::map<DeviceKey, const Json*> device_entries(const Json& status) {
  std::map<DeviceKey, const Json*> out;
  for (const auto& entry : list_of(status, "devices")) {
    out[{text_of(entry, "driver"), text_of(entry, "pool"), text_of(entry, "device"), text_of(entry, "shareID")}] =
        &entry;
  }
  return out;
}

// Drivers with an added, changed or removed entry.
std::set<std::string> changed_drivers(const Json& status, const Json& old_status) {
  std::set<std::string> out;
  auto before = device_entries(old_status);
  for (const auto& [key, entry] : device_entries(status)) {
    const auto same = before.find(key);
    if (same == before.end() || !semantic_equal(*same->second, *entry)) out.insert(std::get<0>(key));
    if (same != before.end()) before.erase(same);
  }
  for (const auto& [key, entry] : before) out.insert(std::get<0>(key));
  return out;
}

// The node of a node selector in the only form that names one: a single term with a single metadata.name In [node].
std::string allocated_node(const Json& allocation) {
  const Json& terms = list_of(member(allocation, "nodeSelector"), "nodeSelectorTerms");
  if (terms.size() != 1 || !list_of(terms[0], "matchExpressions").empty()) return "";
  const Json& fields = list_of(terms[0], "matchFields");
  if (fields.size() != 1 || text_of(fields[0], "key") != "metadata.name" || text_of(fields[0], "operator") != "In") {
    return "";
  }
  const Json& values = list_of(fields[0], "values");
  return values.size() == 1 ? as_text(values[0]) : "";
}

// Empty if the caller may, else why not.
std::string refusal(const WriteContext& ctx, const AccessAttributes& what) {
  const AccessDecision decision = ctx.authorize(what);
  return decision.allowed ? "" : forbidden_access(ctx.user, what, decision.reason).message;
}

void check_driver(FieldErrors& out, const WriteContext& ctx, const std::string& driver, bool on_node) {
  std::vector<std::string> verbs = {"arbitrary-node:" + ctx.verb};
  if (on_node) verbs.insert(verbs.begin(), "associated-node:" + ctx.verb);
  std::string first;
  std::string tried;
  for (const auto& verb : verbs) {
    const std::string why = refusal(ctx, {verb, {kDraGroup, "resourceclaims"}, "driver", ctx.namespace_, driver, ""});
    if (why.empty()) return;
    if (first.empty()) first = why;
    tried += (tried.empty() ? "" : " ") + verb;
  }
  out.push_back(forbidden(FieldPath("status.devices"),
                          "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[" + tried +
                              "]\" permission: " + first));
}

}  // namespace

void check_status_permissions(FieldErrors& out, const WriteContext& ctx, const Json& claim, const Json& old) {
  if (!ctx.authorize) return;
  const Json& status = member(claim, "status");
  const Json& old_status = member(old, "status");
  const Json& allocation = member(status, "allocation");
  if (!semantic_equal(allocation, member(old_status, "allocation")) ||
      !semantic_equal(list_of(status, "reservedFor"), list_of(old_status, "reservedFor"))) {
    const std::string why = refusal(ctx, {ctx.verb, {kDraGroup, "resourceclaims"}, "binding", "", "", ""});
    if (!why.empty()) {
      out.push_back(forbidden(FieldPath("status.allocation"),
                              "changing status.allocation or status.reservedFor requires "
                              "resource=\"resourceclaims/binding\", verb=\"" +
                                  ctx.verb + "\" permission: " + why));
    }
  }
  // Without an allocation, entries can only disappear.
  if (allocation.is_null()) return;
  const bool on_node = ctx.user.starts_with("system:serviceaccount:") && !ctx.user_node.empty() &&
                       ctx.user_node == allocated_node(allocation);
  for (const std::string& driver : changed_drivers(status, old_status)) check_driver(out, ctx, driver, on_node);
}

}  // namespace dra::apiserver
