#include "pkg/sandbox/workload.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dra::sandbox {
namespace {

std::string pods_path(const Json& owner) {
  return "/api/v1/namespaces/" + text_at(owner, "/metadata/namespace") + "/pods";
}

bool finished(const Json& pod) {
  const std::string phase = text_at(pod, "/status/phase");
  return phase == "Succeeded" || phase == "Failed";
}

bool deleting(const Json& pod) {
  return !text_at(pod, "/metadata/deletionTimestamp").empty();
}

bool ready(const Json& pod) {
  for (const Json& condition : pod.value("/status/conditions"_json_pointer, Json::array())) {
    if (condition.value("type", "") == "Ready") return condition.value("status", "") == "True";
  }
  return false;
}

// Ten characters that change when the template does.
std::string template_hash(const Json& owner) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : owner.value("/spec/template"_json_pointer, Json::object()).dump())
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return SeededRandom(hash).name_suffix(10);
}

ApiCall create_pod(const Json& owner, const char* api_version, const char* kind, const std::string& name,
                   const Json& extra_labels) {
  Json pod = owner.value("/spec/template"_json_pointer, Json::object());
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  Json& metadata = pod["metadata"];
  metadata["name"] = name;
  metadata["namespace"] = text_at(owner, "/metadata/namespace");
  if (!metadata.contains("labels") || metadata["labels"].is_null()) metadata["labels"] = Json::object();
  metadata["labels"].update(extra_labels);
  metadata["ownerReferences"] = {{{"apiVersion", api_version},
                                  {"kind", kind},
                                  {"name", text_at(owner, "/metadata/name")},
                                  {"uid", text_at(owner, "/metadata/uid")},
                                  {"controller", true},
                                  {"blockOwnerDeletion", true}}};
  return {"POST", pods_path(owner), pod.dump()};
}

ApiCall delete_pod(const Json& pod) {
  return {"DELETE", pods_path(pod) + "/" + text_at(pod, "/metadata/name"),
          Json{{"preconditions", {{"uid", text_at(pod, "/metadata/uid")}}}}.dump()};
}

// Patches /status where it says something new.
void report(const Json& owner, const char* group_path, const char* plural, const Json& status, Step& step) {
  const Json old = owner.value("/status"_json_pointer, Json::object());
  bool same = true;
  for (const auto& [key, value] : status.items())
    same = same && (old.contains(key) ? old[key] == value : value.is_null() || value == 0);
  if (same) return;
  step.calls.push_back({"PATCH",
                        std::string(group_path) + "/namespaces/" + text_at(owner, "/metadata/namespace") + "/" +
                            plural + "/" + text_at(owner, "/metadata/name") + "/status",
                        Json{{"metadata", {{"uid", text_at(owner, "/metadata/uid")}}}, {"status", status}}.dump()});
}

Json deployment_status(const Json& deployment, int64_t wanted, const std::vector<const Json*>& current) {
  const auto total = static_cast<int64_t>(current.size());
  const int64_t available = std::count_if(current.begin(), current.end(), [](const Json* pod) { return ready(*pod); });
  const char* enough = available >= wanted ? "True" : "False";
  Json conditions = {{{"type", "Available"},
                      {"status", enough},
                      {"reason", available >= wanted ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable"},
                      {"message", available >= wanted ? "Deployment has minimum availability."
                                                      : "Deployment does not have minimum availability."}}};
  return {{"observedGeneration", number_at(deployment, "/metadata/generation", 0)},
          {"replicas", total},
          {"updatedReplicas", total},
          {"readyReplicas", available},
          {"availableReplicas", available},
          {"unavailableReplicas", std::max<int64_t>(0, wanted - available)},
          {"conditions", conditions}};
}

Json job_conditions(const char* last, const char* reason, const char* message, WallTime now) {
  Json list = Json::array();
  const std::string at = format_rfc3339(now);
  const auto add = [&](const char* type) {
    list.push_back({{"type", type},
                    {"status", "True"},
                    {"reason", reason},
                    {"message", message},
                    {"lastProbeTime", at},
                    {"lastTransitionTime", at}});
  };
  add(std::string_view(last) == "Complete" ? "SuccessCriteriaMet" : "FailureTarget");
  add(last);
  return list;
}

bool job_over(const Json& job) {
  for (const Json& condition : job.value("/status/conditions"_json_pointer, Json::array())) {
    const std::string type = condition.value("type", "");
    if ((type == "Complete" || type == "Failed") && condition.value("status", "") == "True") return true;
  }
  return false;
}

}  // namespace

Step deployment_pass(const Json& deployment, const std::vector<const Json*>& pods, Random& random) {
  Step step;
  if (deleting(deployment)) return step;
  const std::string hash = template_hash(deployment);
  const auto wanted = static_cast<size_t>(std::max<int64_t>(0, number_at(deployment, "/spec/replicas", 1)));
  std::vector<const Json*> current;
  for (const Json* pod : pods) {
    if (deleting(*pod) || finished(*pod)) continue;
    if (text_at(*pod, "/metadata/labels/pod-template-hash") == hash)
      current.push_back(pod);
    else
      step.calls.push_back(delete_pod(*pod));
  }
  // The youngest go first, those that are not ready before those that are.
  std::sort(current.begin(), current.end(), [](const Json* a, const Json* b) {
    if (ready(*a) != ready(*b)) return ready(*a);
    const std::string at_a = text_at(*a, "/metadata/creationTimestamp"),
                      at_b = text_at(*b, "/metadata/creationTimestamp");
    return at_a != at_b ? at_a < at_b : text_at(*a, "/metadata/name") < text_at(*b, "/metadata/name");
  });
  while (current.size() > wanted) {
    step.calls.push_back(delete_pod(*current.back()));
    current.pop_back();
  }
  const size_t missing = std::min(wanted - current.size(), kMaxPodsPerPass);
  for (size_t i = 0; i < missing; ++i) {
    const std::string name = text_at(deployment, "/metadata/name") + "-" + hash + "-" + random.name_suffix();
    step.calls.push_back(create_pod(deployment, "apps/v1", "Deployment", name, {{"pod-template-hash", hash}}));
  }
  report(deployment, "/apis/apps/v1", "deployments",
         deployment_status(deployment, static_cast<int64_t>(wanted), current), step);
  return step;
}

Step job_pass(const Json& job, const std::vector<const Json*>& pods, Random& random, WallTime now) {
  Step step;
  if (deleting(job) || job_over(job)) return step;
  int64_t active = 0, running = 0, succeeded = 0, failed = 0;
  for (const Json* pod : pods) {
    const std::string phase = text_at(*pod, "/status/phase");
    if (phase == "Succeeded") {
      ++succeeded;
    } else if (phase == "Failed") {
      ++failed;
    } else if (!deleting(*pod)) {
      ++active;
      running += ready(*pod) ? 1 : 0;
    }
  }
  const int64_t parallelism = number_at(job, "/spec/parallelism", 1);
  const int64_t completions = number_at(job, "/spec/completions", parallelism);
  const bool suspended = job.value("/spec/suspend"_json_pointer, false);
  Json status = {{"startTime", text_at(job, "/status/startTime", format_rfc3339(now))},
                 {"succeeded", succeeded},
                 {"failed", failed}};
  if (failed > number_at(job, "/spec/backoffLimit", 6)) {
    for (const Json* pod : pods)
      if (!finished(*pod) && !deleting(*pod)) step.calls.push_back(delete_pod(*pod));
    active = running = 0;
    status["conditions"] =
        job_conditions("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit", now);
  } else if (succeeded >= completions) {
    status["conditions"] =
        job_conditions("Complete", "CompletionsReached", "Reached expected number of succeeded pods", now);
    status["completionTime"] = format_rfc3339(now);
  } else if (!suspended) {
    const int64_t wanted = std::min(parallelism, completions - succeeded);
    const std::string uid = text_at(job, "/metadata/uid"), name = text_at(job, "/metadata/name");
    const Json labels = {{"job-name", name},
                         {"batch.kubernetes.io/job-name", name},
                         {"controller-uid", uid},
                         {"batch.kubernetes.io/controller-uid", uid}};
    for (int64_t i = active; i < wanted && i - active < static_cast<int64_t>(kMaxPodsPerPass); ++i)
      step.calls.push_back(create_pod(job, "batch/v1", "Job", name + "-" + random.name_suffix(), labels));
  }
  status["active"] = active;
  status["ready"] = running;
  report(job, "/apis/batch/v1", "jobs", status, step);
  return step;
}

}  // namespace dra::sandbox
