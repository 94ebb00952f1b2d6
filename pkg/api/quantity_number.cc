#include "pkg/api/quantity_number.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace dra::api::decimal {

namespace mp = boost::multiprecision;

BigInt power_of_ten(int64_t n) {
  return mp::pow(BigInt(10), static_cast<unsigned>(n));
}

BigInt parse_digits(std::string_view digits) {
  constexpr size_t kChunk = 18;
  constexpr uint64_t kChunkBase = 1'000'000'000'000'000'000;
  BigInt result = 0;
  size_t pos = 0;
  size_t length = digits.size() % kChunk == 0 ? kChunk : digits.size() % kChunk;
  while (pos < digits.size()) {
    uint64_t chunk = 0;
    for (char c : digits.substr(pos, length)) chunk = chunk * 10 + static_cast<uint64_t>(c - '0');
    result *= kChunkBase;
    result += chunk;
    pos += length;
    length = kChunk;
  }
  return result;
}

int64_t digits_upper_bound(const BigInt& v) {
  if (v == 0) return 1;
  const auto bits = static_cast<int64_t>(mp::msb(mp::abs(v))) + 1;
  // log10(2) is just below 30103 / 100000.
  return bits * 30103 / 100000 + 1;
}

namespace {

// v < 10^high and v >= 10^low for the absolute value v of a number that is not zero.
struct Magnitude {
  int64_t low;
  int64_t high;
};

Magnitude magnitude(const Number& n) {
  const int64_t high = digits_upper_bound(n.coefficient) + n.exponent;
  return {high - 2, high};
}

}  // namespace

int compare(const Number& a, const Number& b) {
  const int sign_a = a.coefficient.sign();
  const int sign_b = b.coefficient.sign();
  if (sign_a != sign_b) return sign_a < sign_b ? -1 : 1;
  if (sign_a == 0) return 0;
  const Magnitude ma = magnitude(a);
  const Magnitude mb = magnitude(b);
  if (ma.low >= mb.high) return sign_a;
  if (mb.low >= ma.high) return -sign_a;
  // The magnitudes agree within a factor of 100, so the difference of the exponents is bounded by that of the lengths.
  if (a.exponent == b.exponent) return a.coefficient.compare(b.coefficient);
  if (a.exponent > b.exponent)
    return BigInt(a.coefficient * power_of_ten(a.exponent - b.exponent)).compare(b.coefficient);
  return a.coefficient.compare(BigInt(b.coefficient * power_of_ten(b.exponent - a.exponent)));
}

BigInt divide_away_from_zero(const BigInt& v, int64_t digits) {
  if (v == 0 || digits <= 0) return v;
  if (digits > digits_upper_bound(v)) return v.sign();
  BigInt quotient;
  BigInt remainder;
  mp::divide_qr(v, power_of_ten(digits), quotient, remainder);
  if (remainder != 0) quotient += v.sign();
  return quotient;
}

int64_t saturate(const BigInt& v) {
  if (v > std::numeric_limits<int64_t>::max()) return std::numeric_limits<int64_t>::max();
  if (v < std::numeric_limits<int64_t>::min()) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(v);
}

double to_double(const BigInt& v) {
  BigInt magnitude = mp::abs(v);
  int shift = 0;
  if (magnitude != 0) {
    const auto bits = static_cast<int64_t>(mp::msb(magnitude)) + 1;
    if (bits > 1100) return v.sign() * std::numeric_limits<double>::infinity();
    if (bits > 64) {
      shift = static_cast<int>(bits - 64);
      // The bits shifted out only matter as "not zero": 64 bits leave more than the one guard bit needed.
      const bool sticky = static_cast<int64_t>(mp::lsb(magnitude)) < shift;
      magnitude >>= shift;
      if (sticky) magnitude |= 1;
    }
  }
  return v.sign() * std::ldexp(static_cast<double>(static_cast<uint64_t>(magnitude)), shift);
}

double pow10_double(int64_t n) {
  static constexpr std::array<double, 32> kSmall = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10,
                                                    1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
                                                    1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31};
  static constexpr std::array<double, 10> kLarge = {1e0, 1e32, 1e64, 1e96, 1e128, 1e160, 1e192, 1e224, 1e256, 1e288};
  static constexpr std::array<double, 11> kTiny = {1e-0,   1e-32,  1e-64,  1e-96,  1e-128, 1e-160,
                                                   1e-192, 1e-224, 1e-256, 1e-288, 1e-320};
  if (n >= 0 && n <= 308) return kLarge[static_cast<size_t>(n) / 32] * kSmall[static_cast<size_t>(n) % 32];
  if (n < 0 && n >= -323) return kTiny[static_cast<size_t>(-n) / 32] / kSmall[static_cast<size_t>(-n) % 32];
  return n > 0 ? std::numeric_limits<double>::infinity() : 0;
}

}  // namespace dra::api::decimal
