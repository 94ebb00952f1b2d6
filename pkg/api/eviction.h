// What decides whether a pod may be evicted, and by which priority another takes its place, as far as core.h does not
// have it: PodDisruptionBudget (policy/v1), PriorityClass (scheduling.k8s.io/v1), one field of a Job (batch/v1), and
// the fields of pods and PodGroups that only such questions need. The latter two are read from the same objects a
// second time, so that nobody else keeps them.
//
// Same conventions as core.h: plain values, only the fields that this project reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/meta.h"

namespace dra::api {

struct PodDisruptionBudget {
  ObjectMeta metadata;
  std::optional<LabelSelector> selector;  // spec.selector
  bool always_allow = false;              // spec.unhealthyPodEvictionPolicy is AlwaysAllow
  // status
  int64_t observed_generation = 0;
  int64_t disruptions_allowed = 0;
  int64_t current_healthy = 0;
  int64_t desired_healthy = 0;
  std::vector<std::string> disrupted_pods;  // their names
};

struct PriorityClass {
  ObjectMeta metadata;
  int32_t value = 0;
  bool global_default = false;
  std::string preemption_policy;  // "Never"; "" is PreemptLowerPriority
};

struct JobEvictionFacts {
  ObjectMeta metadata;
  std::string pod_replacement_policy;  // spec: "Failed", "TerminatingOrFailed"
};

struct PodEvictionFacts {
  ObjectMeta metadata;
  std::string preemption_policy;  // spec
  std::string start_time;         // status.startTime
  bool of_node = false;           // a mirror pod: its annotation says so, or an owner is a Node
  bool host_path = false;         // a volume of it is a path of its node
};

struct PodGroupEvictionFacts {
  ObjectMeta metadata;
  bool whole = false;  // spec.disruptionMode: "PodGroup" in 1.36, {all: {}} from 1.37 on
};

}  // namespace dra::api
