#include "pkg/strategy/request_mix.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dra::strategy {

// Two generations: the older one is forgotten as a whole.
bool RequestMix::remember(uint64_t claim) {
  if (newer_.contains(claim) || older_.contains(claim)) return false;
  if (newer_.size() >= kMaxRemembered / 2) older_ = std::exchange(newer_, {});
  newer_.insert(claim);
  return true;
}

void RequestMix::note(const Seen& seen) {
  if (seen.kind >= kMaxKinds || !remember(seen.claim)) return;
  if (seen.kind >= counts_.size()) counts_.resize(seen.kind + 1);
  Counts& counts = counts_[seen.kind];
  const uint32_t cells = std::clamp<uint32_t>(seen.cells, 1, kCells);
  const double devices = weight_ * seen.count;
  counts.devices[cells] += devices;
  if (seen.cpu_milli >= 0) {
    counts.whole_devices += devices * cells / static_cast<double>(kCells);
    counts.cpu_milli += weight_ * static_cast<double>(seen.cpu_milli);
  }
  weight_ *= std::exp2(1.0 / kMemory);
  ++noted_;
}

void RequestMix::refresh() {
  kinds_.resize(counts_.size());
  for (size_t kind = 0; kind < counts_.size(); ++kind) {
    Counts& counts = counts_[kind];
    // Rescales the weights to about 1 before they overflow.
    for (double& devices : counts.devices) devices /= weight_;
    counts.cpu_milli /= weight_;
    counts.whole_devices /= weight_;
    kinds_[kind].prices = price_rests(counts.devices);
    kinds_[kind].cpu_milli_per_device =
        counts.whole_devices > 0 ? std::llround(counts.cpu_milli / counts.whole_devices) : 0;
  }
  weight_ = 1;
  refresh_at_ = noted_ + std::min<uint64_t>(std::max<uint64_t>(noted_ / 2, 100), kMemory);
  ++version_;
}

}  // namespace dra::strategy
