#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/base/timestamp.h"
#include "pkg/sandbox/pod_sets.h"
#include "pkg/sandbox/workload.h"

namespace dra::sandbox {
namespace {

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
      step.calls.push_back(create_pod(pod_of(kJobOwner, job, name + "-" + random.name_suffix(), labels)));
  }
  status["active"] = active;
  status["ready"] = running;
  report(kJobOwner, job, status, step);
  return step;
}

}  // namespace dra::sandbox
