// PodGroups: how many pods must be placed together; and CompositePodGroups, how many groups. There are two kinds that
// say the same in different fields: that of scheduling.k8s.io, and the coscheduling plugin's in scheduling.x-k8s.io
// (v1alpha1).
//
// Same conventions as core.h: plain values, only the fields that this project reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/meta.h"
#include "pkg/api/rare.h"
#include "pkg/api/unknown_fields.h"

namespace dra::api {

struct PodGroup {
  ObjectMeta metadata;
  // spec.schedulingPolicy.gang.minCount, or spec.minMember. Unset: the pods need not be placed together. The number is
  // kept as written: it may be 0, negative or absurdly large.
  std::optional<int32_t> min_count;
  // spec.schedulingPolicy.gang.minGroupCount, of a CompositePodGroup: as written.
  std::optional<int32_t> min_groups;
  // spec.parentCompositePodGroupName (scheduling.k8s.io).
  std::string parent;
  // spec.scheduleTimeoutSeconds (scheduling.x-k8s.io).
  std::optional<int32_t> schedule_timeout_seconds;
  // spec.schedulingConstraints.topology[0].key (scheduling.k8s.io): all pods must share one value of this node label.
  std::string topology_key;
  // spec.resourceClaims (scheduling.k8s.io; DRAWorkloadResourceClaims): one claim each for all pods of the group. An
  // entry of a pod that equals one of them represents that claim.
  std::vector<PodResourceClaim> resource_claims;
  // spec.disruptionMode: none or all of its pods are evicted. "PodGroup" in 1.36, {all: {}} from 1.37 on.
  bool whole = false;
  Rare<UnknownFields> unknown;
};

}  // namespace dra::api
