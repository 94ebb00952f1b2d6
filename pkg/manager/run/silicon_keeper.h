// SiliconKeeper: keeps up to date which nodes' devices belong to a device plugin, and wakes the pods that wait for
// devices which another name of the same silicon, or a device plugin, kept from them.
//
// Nodes are judged in portions. Until all are, the controllers that decide about devices are paused, so that none gives
// out a device on the basis of what was true before. Belongs to the reactor's thread.
#pragma once

#include <functional>
#include <memory>

#include "pkg/inventory/inventory.h"
#include "pkg/manager/run/runner.h"
#include "pkg/nodes/plugin_nodes.h"
#include "pkg/reactor/reactor.h"

namespace dra::manager {

class SiliconKeeper {
 public:
  static constexpr size_t kNodesAPortion = 8;  // some 100 microseconds each

  // `pause` is called with true when nodes are left to be judged, and with false when none is. All must outlive this.
  SiliconKeeper(Reactor& reactor, inventory::Inventory& inventory, nodes::PluginNodes& plugins, Runner& runner,
                std::function<void(bool)> pause);
  ~SiliconKeeper();
  SiliconKeeper(const SiliconKeeper&) = delete;
  SiliconKeeper& operator=(const SiliconKeeper&) = delete;

  // Call after each change of nodes, pods, classes and slices, before the runner hears of it.
  void settle();

 private:
  void wake();

  Reactor& reactor_;
  inventory::Inventory& inventory_;
  nodes::PluginNodes& plugins_;
  Runner& runner_;
  std::function<void(bool)> pause_;
  bool paused_ = false, posted_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dra::manager
