// Amounts: quantities as exact integers in nano units, so that the oracle shares no arithmetic with the code it judges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dra::oracle {

// Value times 10^9. A quantity below 2^63 fits, with headroom for sums.
using Amount = __int128;
inline constexpr Amount kOne = 1'000'000'000;

// Kubernetes quantity syntax: sign, digits with an optional point, then a decimal suffix (n u m k M G T P E), a binary
// one (Ki ... Ei), an exponent, or nothing. Fractions below a nano are rounded up. nullopt: not a quantity, or too big.
std::optional<Amount> parse_amount(std::string_view text);
// The smallest integer not below the amount, like Quantity.Value().
int64_t whole(Amount amount);

}  // namespace dra::oracle
