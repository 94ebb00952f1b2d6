// Search: devices that are one piece of silicon under several names (pkg/inventory/silicon.h). What is held is excluded
// before the search; here, of the devices that one decision could take, only one name of a piece is taken.
#include <algorithm>

#include "pkg/allocator/search/search.h"

namespace dra::allocator {

void Search::lay_out_rivals() {
  any_rivals_ = device_index_.silicon().any_rivals(matrix_.node());
  if (!any_rivals_) return;
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  const auto local_of = [this](inventory::PoolId pool, uint32_t device) {
    for (const MatrixSegment& segment : matrix_.segments())
      if (segment.pool->id == pool) return segment.first_word * 64 + device;
    return inventory::kNone;
  };
  for (const inventory::RivalPair& pair : device_index_.silicon().rivals(matrix_.node())) {
    const uint32_t a = local_of(pair.pool, pair.device), b = local_of(pair.other_pool, pair.other);
    if (a == inventory::kNone || b == inventory::kNone) continue;
    pairs.emplace_back(a, b);
    pairs.emplace_back(b, a);
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  any_rivals_ = !pairs.empty();
  const size_t devices = matrix_.words() * 64;
  rivals_.clear();
  first_rival_.assign(devices + 1, 0);
  for (const auto& [device, rival] : pairs) {
    ++first_rival_[device + 1];
    rivals_.push_back(rival);
  }
  for (size_t i = 0; i < devices; ++i) first_rival_[i + 1] += first_rival_[i];
  excluded_by_.assign(devices, 0);
  excluded_.assign(matrix_.words(), 0);
}

void Search::exclude_rivals(uint32_t local, bool on) {
  for (const uint32_t rival : rivals_of(local)) {
    excluded_by_[rival] += on ? 1 : UINT32_MAX;
    inventory::assign_bit(excluded_.data(), rival, excluded_by_[rival] > 0);
  }
}

bool Search::has_rival_in(uint32_t local, const inventory::Words& devices) const {
  const std::span<const uint32_t> all = rivals_of(local);
  return std::any_of(all.begin(), all.end(),
                     [&](uint32_t rival) { return inventory::test_bit(devices.data(), rival); });
}

}  // namespace dra::allocator
