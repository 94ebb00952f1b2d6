// ChoiceCache: the nodes that pods of one shape may go to; only nodes that changed are judged again.
//
//   if (const ChoiceCache::Kept* kept = cache.of(cluster, needs, shape, numbers)) return kept->choice;
//
// Most pods of a cluster have the shape of the pod before them, and between the two only one node has changed. For a
// pod without affinity to other pods, spreading or volumes, filters and scores of a node read only this node, unless a
// PreferNoSchedule taint or a preferred node affinity makes scores relative to other nodes. So of() judges only the
// nodes in the cluster's change log. The answer equals that of placement::decide(); node_tracker_test compares the two
// over random changes.
//
// Bounded by kMaxShapes; the least recently used shape is dropped first. One thread. A Kept is valid until the next
// call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pkg/nodes/node_chooser.h"
#include "pkg/placement/cluster.h"
#include "pkg/placement/decision.h"
#include "pkg/placement/node_numbers.h"

namespace dra::nodes {

class ChoiceCache {
 public:
  static constexpr size_t kMaxShapes = 4;  // about 90 bytes a node each

  struct Kept {
    std::shared_ptr<const placement::Decision> decision;  // never changes once it is handed out
    NodeChoice choice;                                    // without the nodes that one pod avoids or prefers
  };

  // `shape`: equal for pods with equal needs (node_shape); not empty. `numbers` may be null, and is the
  // same in every call. Returns null if the pod needs a decision of its own.
  const Kept* of(const placement::Cluster& cluster, const placement::PodNeeds& needs, std::string shape,
                 placement::NodeNumbers* numbers);

 private:
  struct Entry : Kept {
    // What `decision` shows; changed in place only while nobody else has it.
    std::shared_ptr<placement::Decision> own;
    std::string shape;
    uint64_t used = 0;
    uint64_t nodes_version = 0;       // of the cluster
    uint64_t seen = 0;                // changes of the cluster
    std::vector<uint32_t> place;      // of a node among the candidates, by NodeIndex
    std::vector<int64_t> score;       // by place; kRefused: the node was refused
    size_t refused_for_capacity = 0;  // nodes that may accept the pod when another pod leaves
  };

  Entry& entry_of(std::string shape);
  static bool build(const placement::Cluster& cluster, const placement::PodNeeds& needs,
                    placement::NodeNumbers* numbers, Entry& entry);
  // False: so many nodes changed that a new build is cheaper.
  static bool update(const placement::Cluster& cluster, const placement::PodNeeds& needs,
                     placement::NodeNumbers* numbers, Entry& entry);
  static void judge(const placement::Cluster& cluster, placement::NodeNumbers* numbers, Entry& entry,
                    placement::NodeIndex node, const placement::NodeRefusal& verdict,
                    const placement::RankedNode* ranked);

  std::vector<Entry> entries_;
  uint64_t uses_ = 0;
};

}  // namespace dra::nodes
