// GroupNodes: answers pkg/gang's questions about nodes, by the steps of the group's pods and the NodeChooser.
//
// It lives for one call of gang::Gangs::decide(). Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controllers/allocation/pod/pod_reconcile.h"
#include "pkg/gang/gang.h"

namespace dra::allocation {

class GroupNodes : public gang::Nodes {
 public:
  // `pods`: those of GangRequest::members, in its order. Both must outlive it.
  GroupNodes(const std::vector<PodReconcile*>& pods, const reconcile::View& view, inventory::Inventory& inventory,
             NodeChooser& nodes);

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
  const std::vector<PodReconcile*>& pods_;
  const reconcile::View& view_;
  inventory::Inventory& inventory_;
  NodeChooser& nodes_;
  Influence influence_ = Influence::kNode;
  uint64_t version_ = 0;
  bool volumes_ = false;  // some member has volumes
  bool watch_lags_ = false;
};

}  // namespace dra::allocation
