#include "pkg/manager/cache_keeper.h"

#include <algorithm>
#include <chrono>

#include "pkg/allocator/allocator.h"

namespace dra::manager {

namespace {
constexpr std::chrono::milliseconds kPause{500};
constexpr std::chrono::milliseconds kNextPiece{20};
}  // namespace

void CacheKeeper::look() {
  const size_t now = claims_();
  most_ = std::max(most_, now);
  if (most_ >= kManyClaims && now < most_ / 2) {
    allocator_.clear_caches();
    most_ = now;
  }
  const Duration pause = allocator_.tidy() ? Duration(kNextPiece) : Duration(kPause);
  timer_ = reactor_.after(pause, [this] { look(); });
}

}  // namespace dra::manager
