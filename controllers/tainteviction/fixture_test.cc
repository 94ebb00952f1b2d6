#include <nlohmann/json.hpp>

#include "controllers/tainteviction/tainteviction_fixture.h"
#include "pkg/base/timestamp.h"

namespace dra::tainteviction {

void Cluster::perform(const reconcile::Write& write) {
  writes.push_back(write);
  say(write.purpose + " " + write.object.name);
  metrics.insert(metrics.end(), write.on_success.begin(), write.on_success.end());
  for (const std::string& uid : write.tally) ++view.tallies[uid];
  if (write.purpose == "rule-status") {
    api::DeviceTaintRule rule = view.rules.at(write.object.name);
    ASSERT_EQ(rule.metadata.uid, write.object.uid) << "bound to the instance";
    const nlohmann::json condition = nlohmann::json::parse(write.body)["status"]["conditions"][0];
    rule.conditions = {{condition["type"], condition["status"], condition["reason"], condition["message"],
                        condition["lastTransitionTime"], condition["observedGeneration"].get<int64_t>()}};
    return put(rule);
  }
  api::Pod pod = view.pods.at(write.object.store_key());
  ASSERT_EQ(pod.metadata.uid, write.object.uid) << "bound to the instance";
  if (write.purpose == "mark-disruption") {
    const nlohmann::json condition = nlohmann::json::parse(write.body)["status"]["conditions"][0];
    pod.conditions.push_back({condition["type"], condition["status"], condition["reason"], condition["message"]});
  } else {
    pod.metadata.deletion_timestamp = format_rfc3339(view.time);
  }
  put(pod);
}

}  // namespace dra::tainteviction
