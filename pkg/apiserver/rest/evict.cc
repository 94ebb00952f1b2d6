#include "pkg/apiserver/rest/evict.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/kinds/policy/budget.h"
#include "pkg/apiserver/rest/body.h"
#include "pkg/apiserver/rest/delete.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

namespace {

// Marks an evicted pod with a condition, for controllers that count its failure. Refused unless the preconditions hold;
// a resourceVersion among them becomes that of the marked pod (registry/core/pod/storage/eviction.go).
StatusOr<void> mark_disruption(const Env& env, const Call& call, DeleteRequest& request) {
  const std::string key = call.key(call.path.name);
  const StoredPtr stored = env.store.get(call.table(), key);
  if (!stored) return {};
  Json pod = *stored->document();
  if (auto ok = check_preconditions(call.kind->info(), pod["metadata"], call.path.name, request); !ok) return ok;
  if (pod["metadata"].contains("deletionTimestamp")) return {};
  Json& conditions = pod["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  for (const auto& c : conditions) {
    if (c.value("type", "") == "DisruptionTarget") return {};
  }
  conditions.push_back({{"type", "DisruptionTarget"},
                        {"status", "True"},
                        {"lastProbeTime", nullptr},
                        {"lastTransitionTime", format_rfc3339(env.reactor.clock().wall_now())},
                        {"reason", "EvictionByEvictionAPI"},
                        {"message", "Eviction API: evicting"}});
  const StoredPtr marked = env.store.put(call.table(), key, std::move(pod));
  if (request.resource_version) request.resource_version = std::to_string(marked->revision());
  return {};
}

// Pods that have ended, do not run yet, or leave already: their eviction disrupts nothing.
bool needs_no_budget(const Json& pod) {
  const std::string& phase = text_of(member(pod, "status"), "phase");
  return phase.empty() || phase == "Pending" || phase == "Succeeded" || phase == "Failed" ||
         is_set(member(pod, "metadata"), "deletionTimestamp");
}

// Takes one disruption from the pod's budget, or refuses; what a dry run takes is not written.
StatusOr<void> take_from_budget(const Env& env, const Json& pod, bool dry_run) {
  const Json& meta = member(pod, "metadata");
  const std::string& ns = text_of(meta, "namespace");
  std::vector<Json> budgets;
  env.reader.for_each("policy", "poddisruptionbudgets", ns, [&](const Json& budget) {
    if (budget_selects(budget, pod)) budgets.push_back(budget);
  });
  if (budgets.empty()) return {};
  if (budgets.size() > 1) {
    return fail_status(plain_error(
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."));
  }
  Json& budget = budgets.front();
  if (!pod_is_ready(pod)) {
    const Json& status = member(budget, "status");
    if (text_of(member(budget, "spec"), "unhealthyPodEvictionPolicy") == "AlwaysAllow") return {};
    const int64_t desired = int_of(status, "desiredHealthy");
    if (int_of(status, "currentHealthy") >= desired && desired > 0) return {};
  }
  auto status = status_after_eviction(budget, text_of(meta, "name"), env.reactor.clock().wall_now());
  if (!status) return fail_status(status.error());
  if (dry_run) return {};
  budget["status"] = std::move(*status);
  const std::string table = table_of(env.kinds.find({"policy", "v1"}, "poddisruptionbudgets")->info());
  const std::string key = ns + "/" + text_of(member(budget, "metadata"), "name");
  env.store.put(table, key, std::move(budget));
  return {};
}

}  // namespace

void evict_pod(const Env& env, const CallPtr& call) {
  const BodyKind kind{{"policy", "v1"}, "Eviction", builtin_schemas().find("policy/v1", "Eviction")};
  auto eviction = decode_body(*call, kind);
  if (!eviction) return send_status(*call, eviction.error());
  const std::string body_name = (*eviction)["metadata"].value("name", "");
  if (body_name != call->path.name) {
    return send_status(*call, bad_request("name in URL does not match name in Eviction object"));
  }
  DeleteRequest request;
  const Json options = eviction->value("deleteOptions", Json::object());
  if (options.contains("gracePeriodSeconds") && options["gracePeriodSeconds"].is_number_integer()) {
    request.grace_seconds = options["gracePeriodSeconds"].get<int64_t>();
  }
  const Json preconditions = options.value("preconditions", Json::object());
  if (preconditions.is_object()) {
    if (preconditions.value("uid", Json()).is_string()) request.uid = preconditions["uid"].get<std::string>();
    if (preconditions.value("resourceVersion", Json()).is_string()) {
      request.resource_version = preconditions["resourceVersion"].get<std::string>();
    }
  }
  const Json dry_run = options.value("dryRun", Json());
  request.dry_run = call->dry_run() || (dry_run.is_array() && !dry_run.empty());
  if (const StoredPtr stored = env.store.get(call->table(), call->key(call->path.name))) {
    const auto pod = stored->document();
    if (!needs_no_budget(*pod)) {
      if (auto ok = take_from_budget(env, *pod, request.dry_run); !ok) return send_status(*call, ok.error());
    }
  }
  if (!request.dry_run) {
    if (auto ok = mark_disruption(env, *call, request); !ok) return send_status(*call, ok.error());
  }
  auto result = delete_object(env, *call, call->path.name, request);
  if (!result) return send_status(*call, result.error());
  send_success(*call, 201, nullptr);
}

}  // namespace dra::apiserver
