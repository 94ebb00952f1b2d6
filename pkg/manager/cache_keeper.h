// CacheKeeper: drops the allocator's caches when most of the claims that filled them are gone, to free memory after a
// burst. What is still needed is rebuilt within milliseconds.
//
// Belongs to the reactor's thread.
#pragma once

#include <cstddef>
#include <functional>

#include "pkg/reactor/reactor.h"

namespace dra::allocator {
class Allocator;
}

namespace dra::manager {

class CacheKeeper {
 public:
  static constexpr size_t kManyClaims = 500;  // fewer claims fill the caches little

  // `claims` returns how many claims there are now. All must outlive this.
  CacheKeeper(Reactor& reactor, allocator::Allocator& allocator, std::function<size_t()> claims)
      : reactor_(reactor), allocator_(allocator), claims_(std::move(claims)) {}

  void start() { look(); }
  void stop() { timer_.cancel(); }

 private:
  void look();

  Reactor& reactor_;
  allocator::Allocator& allocator_;
  std::function<size_t()> claims_;
  Handle timer_;
  size_t most_ = 0;  // the most claims since the caches were dropped
};

}  // namespace dra::manager
