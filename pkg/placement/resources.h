// What a pod asks of a node and what the node has left, in the units of kube-scheduler: cpu in thousandths, everything
// else in whole units (bytes, counts), each request rounded up.
//
// Sums saturate at the ends of int64 instead of wrapping. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "pkg/api/core.h"
#include "pkg/base/error.h"

namespace dra::placement {

// Resource name -> amount. Names that are absent are zero.
using Amounts = std::map<std::string, int64_t, std::less<>>;

// The amounts that every pair of pod and node is asked for, without a search by name.
struct Basics {
  explicit Basics(const Amounts& amounts = {});
  int64_t cpu = 0;
  int64_t memory = 0;
  int64_t pods = 0;
};

int64_t saturating_add(int64_t a, int64_t b);
int64_t amount_of(const Amounts& amounts, std::string_view name);

// An error names the resource whose quantity cannot be read.
Result<Amounts> amounts_of(const api::ResourceList& list);

// The sum over containers and sidecars, or what some init container needs beside the sidecars started before it,
// whichever is more; pod-level requests replace that for the resources they name; overhead comes on top (KEP-753,
// KEP-2837, k8s.io/component-helpers resource.PodRequests). Resources for which `ignored` is true are left out (those
// that a claim provides instead of the node). An error names the container and resource.
Result<Amounts> pod_requests(const api::Pod& pod, const std::function<bool(const std::string&)>& ignored = nullptr);

// The pods of one node, added up.
class NodeLoad {
 public:
  // `host_ports` are those of all containers of the pod.
  void add(const Amounts& requests, const std::vector<uint16_t>& host_ports);
  // Only what was added may be removed.
  void remove(const Amounts& requests, const std::vector<uint16_t>& host_ports);

  const Amounts& requested() const { return requested_; }
  const Basics& basics() const { return basics_; }  // of requested()
  int64_t pods() const { return pods_; }
  bool port_taken(uint16_t port) const { return ports_.count(port) > 0; }

 private:
  Amounts requested_;
  Basics basics_;
  int64_t pods_ = 0;
  std::map<uint16_t, int> ports_;
};

std::vector<uint16_t> host_ports_of(const api::Pod& pod);

}  // namespace dra::placement
