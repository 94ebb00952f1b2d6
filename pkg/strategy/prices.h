// Prices: the value of the free rest of a shared device to the requests that are usual.
//
//   Demand demand{};
//   demand[81] = 1410;  // devices asked for by size, in hundredths of a device
//   const PriceTable prices = price_rests(demand);
//   int64_t lost = prices[free_before] - prices[free_after];
//
// A rest of 19 hundredths is worth little if nearly every request asks for 23 or more. The value of a rest is that of
// the best mix of requests that fits into it, each at its price in the cutting-stock problem "serve the demand with as
// few devices as possible": the dual prices of Gilmore and Gomory (1961). They are found by multiplicative weights
// (Plotkin, Shmoys, Tardos 1995; Young 1995) and averaged over the rounds, which also smooths them: demand is only an
// estimate. Fragmentation as the loss of usable rest follows FGD (Weng et al., USENIX ATC 2023).
//
// Pure, deterministic, about 3 ms whatever the demand. A whole device is worth kWholeDevice; without demand a rest is
// worth its size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dra::strategy {

// Rests and requests are counted in cells of a hundredth of a device.
inline constexpr size_t kCells = 100;
inline constexpr int64_t kMillion = 1'000'000;
inline constexpr int64_t kWholeDevice = kMillion;

using Demand = std::array<double, kCells + 1>;       // by size in cells; [0] is not read
using PriceTable = std::array<int64_t, kCells + 1>;  // by free cells; never falls, [0] is 0

PriceTable price_rests(const Demand& demand);

}  // namespace dra::strategy
