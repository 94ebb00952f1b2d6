#include "pkg/manager/run/silicon_keeper.h"

#include <set>
#include <string>
#include <utility>

#include "pkg/inventory/device_index.h"

namespace dra::manager {

SiliconKeeper::SiliconKeeper(Reactor& reactor, inventory::Inventory& inventory, nodes::PluginNodes& plugins,
                             Runner& runner, std::function<void(bool)> pause)
    : reactor_(reactor), inventory_(inventory), plugins_(plugins), runner_(runner), pause_(std::move(pause)) {
  // In a task of its own: what frees a device may be in the middle of a reconcile.
  inventory_.device_index().on_silicon_freed([this] {
    reactor_.post([this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) wake();
    });
  });
}

SiliconKeeper::~SiliconKeeper() {
  inventory_.device_index().on_silicon_freed(nullptr);
}

void SiliconKeeper::settle() {
  const bool settled = plugins_.settle(kNodesAPortion);
  if (paused_ == settled) pause_(paused_ = !settled);
  if (settled || std::exchange(posted_, true)) return;
  reactor_.post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    posted_ = false;
    settle();
  });
}

void SiliconKeeper::wake() {
  for (const std::string& driver : inventory_.device_index().take_silicon_freed())
    runner_.changed(reconcile::DevicesFreed{driver});
}

}  // namespace dra::manager
