// CacheKeeper: frees memory after a burst. Drops the allocator's caches when most of the claims that filled them are
// gone, and what placement keeps of queries that no decision asks any more. What is still needed is rebuilt within
// milliseconds.
//
// Belongs to the reactor's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "pkg/reactor/reactor.h"

namespace dra::allocator {
class Allocator;
}

namespace dra::nodes {
class NodeTracker;
}

namespace dra::manager {

class CacheKeeper {
 public:
  static constexpr size_t kManyClaims = 50;  // fewer claims fill the caches little

  // A query that was not asked for this long, up to twice as long, is forgotten.
  static constexpr Duration kUnused = std::chrono::seconds(10);

  // `claims` returns how many claims there are now. All must outlive this.
  CacheKeeper(Reactor& reactor, allocator::Allocator& allocator, nodes::NodeTracker& nodes,
              std::function<size_t()> claims)
      : reactor_(reactor), allocator_(allocator), nodes_(nodes), claims_(std::move(claims)) {}

  void start() { look(); }
  void stop() { timer_.cancel(); }

 private:
  void look();
  // Whether some are left for another task.
  bool forget_unused_queries();

  Reactor& reactor_;
  allocator::Allocator& allocator_;
  nodes::NodeTracker& nodes_;
  std::function<size_t()> claims_;
  Handle timer_;
  size_t most_ = 0;  // the most claims since the caches were dropped
  // Decisions: the one that queries must have been asked since, and the one of the latest sweep.
  uint64_t since_ = 0, swept_ = 0;
  MonoTime next_sweep_{};
};

}  // namespace dra::manager
