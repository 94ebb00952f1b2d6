// Builders of pods in groups.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "test/integration/objects.h"

namespace dra::integration {

// The pod as Job `job` would make it, with this many members to be placed together. No such Job exists: its version is
// one that the server does not serve, so that no controller takes its pods for orphans.
inline Json member_of_job(Json pod, const std::string& job, size_t min_count) {
  pod["metadata"]["ownerReferences"] = {
      {{"apiVersion", "batch/v1beta1"}, {"kind", "Job"}, {"name", job}, {"uid", job + "-uid"}, {"controller", true}}};
  pod["metadata"]["annotations"]["dra-controller-manager/group"] = std::to_string(min_count);
  return pod;
}

}  // namespace dra::integration
