// KeptPlaces: the best solution on each node for claims that had to be searched for, until something there changes.
//
//   KeptPlaces kept;
//   KeptPlaces::Of& places = kept.of(plan.shape, request.cpu_milli);   // valid until the next call
//   if (const auto* place = KeptPlaces::find(places, node, changed, facts)) ...
//   kept.keep(places, node, std::move(place));
//
// Members of a group and pods of a Job have equal shapes: each but the first searches the nodes that the one before it
// changed, not all that fit. An entry is valid while its stamp is not older than the node's last change (node_marks.h)
// and the node's facts are those it was judged by; who changes prices or strategy calls clear(). Bounded by kMaxShapes
// and kMaxPlaces; the shape that was used the longest time ago goes first. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pkg/allocator/decision.h"
#include "pkg/allocator/search/search.h"
#include "pkg/strategy/objective.h"

namespace dra::allocator {

class KeptPlaces {
 public:
  static constexpr size_t kMaxShapes = 32;
  static constexpr size_t kMaxPlaces = 1 << 15;  // of all shapes, 200 bytes and 24 for each device

  struct Place {
    uint64_t stamp = 0;  // NodeMarks::now() when it was found
    NodeFacts facts;
    strategy::Cost cost;
    std::vector<Pick> picks;
    std::vector<uint32_t> chosen;  // alternative by request
  };
  struct Of {
    uint64_t used = 0;
    std::unordered_map<inventory::NodeId, Place> by_node;
  };

  // `cpu_milli`: what the pod requests; costs depend on it.
  Of& of(const std::string& shape, int64_t cpu_milli) {
    std::string key = shape;
    key.append(reinterpret_cast<const char*>(&cpu_milli), sizeof cpu_milli);
    while (!shapes_.contains(key) && !shapes_.empty() && (shapes_.size() >= kMaxShapes || places_ >= kMaxPlaces))
      drop_oldest();
    Of& found = shapes_[std::move(key)];
    found.used = ++uses_;
    return found;
  }

  // Null: nothing valid is known. `changed`: when something on the node last changed.
  static const Place* find(const Of& of, inventory::NodeId node, uint64_t changed, const NodeFacts& facts) {
    const auto known = of.by_node.find(node);
    if (known == of.by_node.end() || known->second.stamp < changed || known->second.facts != facts) return nullptr;
    return &known->second;
  }

  void keep(Of& of, inventory::NodeId node, Place place) {
    const auto known = of.by_node.find(node);
    if (known != of.by_node.end()) {
      known->second = std::move(place);
    } else if (places_ < kMaxPlaces) {
      ++places_;
      of.by_node.emplace(node, std::move(place));
    }
  }
  void forget(Of& of, inventory::NodeId node) { places_ -= of.by_node.erase(node); }

  void clear() {
    shapes_.clear();
    places_ = 0;
  }

 private:
  void drop_oldest() {
    const auto oldest = std::min_element(shapes_.begin(), shapes_.end(),
                                         [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
    places_ -= oldest->second.by_node.size();
    shapes_.erase(oldest);
  }

  std::unordered_map<std::string, Of> shapes_;
  size_t places_ = 0;
  uint64_t uses_ = 0;
};

}  // namespace dra::allocator
