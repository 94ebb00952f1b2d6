// ResourceQuota (core/v1): how many claims, devices and extended resources a namespace may have.
//
// Same conventions as core.h: plain values, only the fields that this project reads.
#pragma once

#include "pkg/api/meta.h"

namespace dra::api {

// Names and amounts are kept as written: "gpu.example.com.deviceclass.resource.k8s.io/devices": "4".
struct ResourceQuota {
  ObjectMeta metadata;
  StringMap hard;           // spec.hard
  StringMap enforced_hard;  // status.hard: what the server compares with; it follows spec.hard
  StringMap used;           // status.used
  bool has_scopes = false;  // spec.scopes or spec.scopeSelector: it counts certain pods, and no claims
};

}  // namespace dra::api
