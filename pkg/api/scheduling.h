// PodGroups: how many pods must be placed together. Of scheduling.k8s.io (v1alpha2) and of the coscheduling plugin's
// scheduling.x-k8s.io (v1alpha1), which say the same in different fields.
//
// Same conventions as core.h: plain values, only the fields that this project reads.
#pragma once

#include <cstdint>
#include <optional>

#include "pkg/api/meta.h"

namespace dra::api {

struct PodGroup {
  ObjectMeta metadata;
  // spec.schedulingPolicy.gang.minCount, or spec.minMember; nothing: its pods need not be placed together. As it was
  // written: it may be 0, negative or absurd.
  std::optional<int32_t> min_count;
  // spec.scheduleTimeoutSeconds (scheduling.x-k8s.io).
  std::optional<int32_t> schedule_timeout_seconds;
  // spec.schedulingConstraints.topology[0].key (scheduling.k8s.io): all pods on nodes with one value of this label.
  std::string topology_key;
};

}  // namespace dra::api
