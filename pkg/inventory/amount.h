// Amount: a quantity as a fixed-point number of nanos, for sums and comparisons that must be exact and fast.
//
// Kubernetes quantities have at most nine decimals. Values beyond 2^63-1 in magnitude are taken as 2^63-1, so a sum of
// ten thousand million of them still fits.
#pragma once

#include <cstdint>
#include <string>

#include "pkg/api/quantity.h"

namespace dra::inventory {

using Amount = __int128;
inline constexpr int64_t kNanosPerUnit = 1'000'000'000;

Amount to_amount(const api::Quantity& quantity);
// For messages: "-1.5", "80".
std::string amount_text(Amount amount);

}  // namespace dra::inventory
