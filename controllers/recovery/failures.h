// How often the devices of a pod could not be prepared, and which. Pure.
//
// Three sources. Kubelet's events (pkg/api/prepare_event.h), which everybody who may create events in the namespace can
// write. Conditions Ready=False in the status of the pod's claims, which the driver writes, and unhealthy devices in
// the pod's own status, which kubelet writes (pkg/protocol/device_health.h): they name devices, and last instead of
// being counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/inventory/device.h"
#include "pkg/reconcile/view.h"

namespace dra::recovery {

// More events about one pod are not read.
inline constexpr size_t kMostEvents = 32;

struct Failures {
  int64_t times = 0;     // attempts that failed, by events
  std::string note;      // kubelet's words in one of the events; may be empty
  std::string troubles;  // what the driver or kubelet reports now, as a clause; empty: nothing
  // Those that the reports name; if they name none of the pod's, all devices of the pod.
  std::vector<inventory::DeviceName> devices;
  bool named = false;  // the reports name `devices`

  bool any() const { return times > 0 || !troubles.empty(); }
  // "3 times (rpc error: ...)" or "device gpu.example.com/n0/gpu-1: its driver says ...".
  std::string text() const;
};

// The pod is bound, not being deleted, has claims, and kubelet has not prepared it: its containers have not begun.
bool may_fail(const api::Pod& pod);

Failures failures_of(const reconcile::View& view, const api::Pod& pod);

}  // namespace dra::recovery
