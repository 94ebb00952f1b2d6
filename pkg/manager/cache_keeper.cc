#include "pkg/manager/cache_keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "pkg/allocator/allocator.h"
#include "pkg/nodes/node_tracker.h"

namespace dra::manager {

namespace {
constexpr std::chrono::milliseconds kPause{500};
constexpr std::chrono::milliseconds kNextPiece{20};
constexpr std::chrono::milliseconds kPiece{2};
}  // namespace

void CacheKeeper::look() {
  const size_t now = claims_();
  most_ = std::max(most_, now);
  if (most_ >= kManyClaims && now < most_ / 2) {
    allocator_.clear_caches();
    most_ = now;
  }
  const bool unused = forget_unused_queries();
  const Duration pause = allocator_.tidy() || unused ? Duration(kNextPiece) : Duration(kPause);
  timer_ = reactor_.after(pause, [this] { look(); });
}

bool CacheKeeper::forget_unused_queries() {
  const MonoTime now = reactor_.clock().mono_now();
  if (now >= next_sweep_) {
    since_ = std::exchange(swept_, nodes_.decision());
    next_sweep_ = now + kUnused;
  }
  while (nodes_.forget_one_unused_since(since_))
    if (reactor_.clock().mono_now() - now >= kPiece) return true;
  return false;
}

}  // namespace dra::manager
