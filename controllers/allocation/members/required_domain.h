// RequiredDomain: the domain of the required topology level that a node is in, by the labels and attributes of now
// (docs/design/groups-commit.md, G8). Remembers nodes, since members of a group share them: lives for one reconcile.
// Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/gang/gang.h"
#include "pkg/inventory/inventory.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

class RequiredDomain {
 public:
  // `topology.required` is set.
  RequiredDomain(const reconcile::View& view, inventory::Inventory& inventory, gang::Topology topology)
      : view_(view), inventory_(inventory), topology_(std::move(topology)) {}

  // Nothing: the node is in no domain of the level.
  const std::optional<std::string>& of(const std::string& node);
  // The domain that most of these nodes are in; of equally many, the one that is named first. Nothing: none is in one.
  std::optional<std::string> of_most(const std::vector<std::string>& nodes);

 private:
  std::optional<std::string> value_of(const std::string& node, const std::string& key) const;

  const reconcile::View& view_;
  inventory::Inventory& inventory_;
  const gang::Topology topology_;
  std::map<std::string, std::optional<std::string>> paths_;
};

}  // namespace dra::allocation
