// What a pod requests of a node, in the units of kube-scheduler: cpu in thousandths, everything else in whole units
// (bytes, counts), rounded up after summing.
//
// Sums saturate at the ends of int64 instead of wrapping. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/quantity.h"
#include "pkg/base/error.h"

namespace dra::placement {

// Resource name -> amount. Names that are absent are zero.
using Amounts = std::map<std::string, int64_t, std::less<>>;

int64_t saturating_add(int64_t a, int64_t b);
int64_t amount_of(const Amounts& amounts, std::string_view name);

// The error names the resource whose quantity cannot be read.
Result<Amounts> amounts_of(const api::ResourceList& list);

// What one pod requests.
struct Charge {
  int64_t cpu = 0;
  int64_t memory = 0;
  int64_t ephemeral_storage = 0;
  // As scores count it: a container without a request for cpu or memory counts 100m or 200Mi.
  int64_t score_cpu = 0;
  int64_t score_memory = 0;
  std::vector<std::pair<std::string, int64_t>> others;  // more than 0, by name
  std::vector<api::HostPort> ports;                     // of containers and sidecars; protocol and ip are never empty
  bool operator==(const Charge&) const = default;
};

// The requests of a pending pod: the sum over containers and sidecars, or what some init container needs beside the
// sidecars started before it, whichever is more; what devices of its claims take by its status is added; pod-level
// requests replace that for the resources they name; overhead is added (KEP-753, KEP-2837, k8s.io/component-helpers
// resource.PodRequests). Resources for which `ignored` is true are left out (those that a claim provides instead of the
// node). The error names the container and resource.
Result<Charge> pending_charge(const api::Pod& pod, const std::function<bool(const std::string&)>& ignored = nullptr);

// What a bound pod takes from its node. During an in-place resize that is the largest of its spec's request, what the
// kubelet has allocated and what is in force, per container and for the whole pod; the spec does not count once the
// kubelet has called the resize infeasible (KEP-1287, KEP-5419). Requests that cannot be read count as nothing: the API
// server does not accept such pods.
Charge bound_charge(const api::Pod& pod);

// How much more of a resource devices of an unbound pod may take of a node (KEP-5517), beside what the pod requests
// otherwise: of what the node has left, or of the pod-level request for that resource, which has to cover both.
class RoomForDevices {
 public:
  // The error is that of pending_charge().
  static Result<RoomForDevices> of(const api::Pod& pod);
  // `left`: what the node has left for the pod as a whole, in the units of Charge. May be below zero.
  api::Quantity beside(const std::string& resource, int64_t left) const;

 private:
  std::map<std::string, api::Quantity, std::less<>> requested_, within_pod_;
};

// Same port and protocol, and the same address unless one of them is 0.0.0.0, which covers all addresses.
bool ports_conflict(const api::HostPort& a, const api::HostPort& b);

}  // namespace dra::placement
