// ClassNodes: the nodes that have a device of the class of every request, whatever else is wrong with it: a list of
// what is wrong with nodes need not name the others. Internal to explain.cc.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "pkg/inventory/device_index.h"

namespace dra::allocator {

inline constexpr size_t kMaxOfClass = 1024;

class ClassNodes {
 public:
  // The alternatives of the next request follow: one of their classes is enough.
  void begin() { everywhere_ = false; }
  // There is such a device on this node; kNone: several nodes can use it, and nobody looks which.
  void add(inventory::NodeId node) {
    if (node == inventory::kNone) {
      everywhere_ = true;
      return;
    }
    if (requests_of_.size() <= node) requests_of_.resize(node + 1, 0);
    if (requests_of_[node] == requests_) requests_of_[node] = requests_ + 1;
  }
  // Not all devices were looked at.
  void forget() { unknown_ = true; }
  void end() {
    if (!everywhere_)
      ++requests_;
    else
      for (uint32_t& count : requests_of_) count = std::min(count, requests_);
  }

  // In order. Nothing: it is not known, all nodes can use one, there is none, or there are more than kMaxOfClass.
  std::optional<std::vector<inventory::NodeId>> take() const {
    if (unknown_ || requests_ == 0) return std::nullopt;
    std::vector<inventory::NodeId> nodes;
    for (inventory::NodeId node = 0; node < requests_of_.size(); ++node) {
      if (requests_of_[node] != requests_) continue;
      if (nodes.size() == kMaxOfClass) return std::nullopt;
      nodes.push_back(node);
    }
    return nodes.empty() ? std::nullopt : std::optional(std::move(nodes));
  }

 private:
  bool unknown_ = false, everywhere_ = false;
  uint32_t requests_ = 0;              // that restrict the nodes
  std::vector<uint32_t> requests_of_;  // by node: so many of them, the first ones, have a device there
};

}  // namespace dra::allocator
