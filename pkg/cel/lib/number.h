// Conversions between numbers and texts as Go's strconv and fmt do them. Independent of the locale. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dra::cel::lib {

// string(double): the shortest digits that read back as the same number; "1e+06", "1.23e-05", "NaN", "+Inf", "-0".
std::string format_double(double value);
// fmt's %.Nf: exact, ties to even. "NaN", "+Inf", "-Inf" are the caller's business.
std::string format_fixed(double value, int decimals);

// strconv.ParseInt(text, 10, 64) and ParseUint: digits, one sign for int, nothing else.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<uint64_t> parse_uint(std::string_view text);
// strconv.ParseFloat(text, 64): decimal and hexadecimal, inf, infinity, nan in any case. No value out of range.
std::optional<double> parse_double(std::string_view text);
// 1 t T TRUE true True and 0 f F FALSE false False.
std::optional<bool> parse_bool(std::string_view text);

// int(double) and uint(double): truncated; none outside the range of values that convert exactly, and for NaN.
std::optional<int64_t> double_to_int(double value);
std::optional<uint64_t> double_to_uint(double value);

}  // namespace dra::cel::lib
