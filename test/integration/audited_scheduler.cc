#include "test/integration/audited_scheduler.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "test/integration/api.h"

namespace dra::integration {
namespace {

// kube-scheduler wrote the allocation in the answer: it owns the field.
bool is_its_allocation(const Json& claim) {
  for (const Json& entry : claim.at("metadata").value("managedFields", Json::array()))
    if (entry.value("manager", "") == "kube-scheduler" && entry.value("subresource", "") == "status" &&
        entry.value("/fieldsV1/f:status"_json_pointer, Json::object()).contains("f:allocation"))
      return true;
  return false;
}

}  // namespace

SchedulerStats AuditedScheduler::stats() {
  std::ifstream file(log_);
  file.seekg(static_cast<std::streamoff>(offset_));
  for (std::string line; std::getline(file, line) && !file.eof();) {  // a line without a newline is still being written
    offset_ += line.size() + 1;
    take(line);
  }
  return stats_;
}

void AuditedScheduler::take(const std::string& line) {
  const Json event = Json::parse(line);
  const int code = event.at("responseStatus").value("code", 0);
  const Json& target = event.at("objectRef");
  const std::string resource = target.value("resource", ""), part = target.value("subresource", "");
  if (resource == "pods" && part == "status") {
    const Json asked = event.value("requestObject", Json::object()).value("status", Json::object());
    if (code < 400 && asked.value("nominatedNodeName", Json()).is_string()) ++stats_.nominations;  // null: cleared
    return;
  }
  const bool of_claim = resource == "resourceclaims";
  if (of_claim) ++stats_.claim_writes;
  if (code >= 400) {
    ++stats_.failures;
    stats_.last_failure = event.at("responseStatus").value("message", "");
    return;
  }
  if (!of_claim || event.value("verb", "") != "update" || part != "status") return;
  // PostFilter sends the whole claim without its allocation; PreBind sends it with one, old or new.
  const Json& claim = event.at("responseObject");
  const Json status = claim.value("status", Json::object());
  if (!status.contains("allocation"))
    ++stats_.deallocations;
  else if (is_its_allocation(claim) && allocated_
                                           .insert(claim["metadata"]["uid"].get<std::string>() + " " +
                                                   status["allocation"].value("allocationTimestamp", ""))
                                           .second)
    ++stats_.allocations;
}

}  // namespace dra::integration
