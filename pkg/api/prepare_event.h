// PrepareEvent: an Event (events.k8s.io/v1) by which kubelet says that the devices of a pod could not be prepared.
//
// Kubelet writes it (reason FailedPrepareDynamicResources) at every attempt, and counts equal ones. So can everybody
// else who may create events, the role edit among them: it is a hint about one pod, and never a fact about a device.
// Same conventions as core.h.
#pragma once

#include <cstdint>
#include <string>

#include "pkg/api/meta.h"

namespace dra::api {

inline constexpr const char* kPrepareFailedReason = "FailedPrepareDynamicResources";
inline constexpr size_t kMaxPrepareNote = 512;

struct PrepareEvent {
  ObjectMeta metadata;
  std::string pod;      // "namespace/name"; empty: it is not about a pod of its own namespace
  std::string pod_uid;  // regarding.uid
  int64_t times = 1;    // how often it happened: at least 1, at most 1,000
  std::string note;     // cut at kMaxPrepareNote bytes
};

}  // namespace dra::api
