// GroupNodes: answers pkg/gang's questions about nodes, by the candidates of the group's pods and the NodeChooser. A
// single pod that is placed in a domain is a group of one (near.h).
//
// It lives for one call of gang::Gangs::decide(). Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controllers/allocation/pod/context.h"
#include "controllers/allocation/pod/obstacles.h"
#include "pkg/gang/gang.h"

namespace dra::allocation {

// One pod of a search. All must outlive it.
struct SearchedPod {
  const PodContext* context;
  Obstacles* obstacles;  // set by each choice of its nodes: those of the last one remain
  reconcile::ReconcileResult* out;
};

class GroupNodes : public gang::Nodes {
 public:
  // `pods`: those of GangRequest::members, in its order. Both must outlive it.
  GroupNodes(const std::vector<SearchedPod>& pods, const reconcile::View& view, inventory::Inventory& inventory,
             nodes::NodeChooser& nodes);

  Influence influence() const override { return influence_; }
  uint64_t version() const override { return version_; }
  std::vector<gang::Candidate> candidates(size_t member) override;
  std::optional<gang::NodeFacts> look(size_t member, gang::NodeId node) override;
  std::optional<gang::Resources> takes(size_t member) override;
  std::vector<gang::Resources> left(const std::vector<gang::NodeId>& nodes) override;
  bool still_takes(size_t member, gang::NodeId node, uint64_t version) const override;
  void place(size_t member, gang::NodeId node) override;
  void take_back(size_t member) override;
  const std::string* label(gang::NodeId node, const std::string& key) const override;

  // The choice of a member's nodes needs something not yet known: conclude nothing from a negative answer.
  bool watch_lags() const { return watch_lags_; }

 private:
  const api::Pod& pod(size_t member) const { return pods_[member].context->pod; }

  const std::vector<SearchedPod>& pods_;
  const reconcile::View& view_;
  inventory::Inventory& inventory_;
  nodes::NodeChooser& nodes_;
  Influence influence_ = Influence::kNode;
  uint64_t version_ = 0;
  bool volumes_ = false;  // some member has volumes
  bool watch_lags_ = false;
};

}  // namespace dra::allocation
