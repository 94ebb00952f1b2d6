// Amount: a quantity as a fixed-point number of nano units, for exact and fast sums and comparisons.
//
// Kubernetes quantities have at most nine decimals. Magnitudes beyond 2^63-1 are treated as 2^63-1, so a sum of ten
// thousand million such values still fits.
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
// The same with a suffix from a million on, where that is exact: "40Gi", "60G"; the shorter of the binary and the
// decimal one.
std::string short_amount_text(Amount amount);

}  // namespace dra::inventory
