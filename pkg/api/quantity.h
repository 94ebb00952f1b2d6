// Quantity: k8s.io/apimachinery/pkg/api/resource.Quantity, exact.
//
// A quantity is a decimal number with a suffix ("500m", "40Gi", "1e3"). Its value is coefficient * 10^exponent. As
// upstream, it has two forms: *small* (an int64 coefficient; nearly every quantity in use) and *big* (any precision).
// The form is visible in one place only: as_int64() has a value only for small ones.
//
// Where this type differs from upstream, on purpose:
//  - comparing never writes out the zeros of a large exponent, so quantity("1e999999999") is harmless;
//  - a sum or product whose written-out form would need more than kMaxDigits digits is refused instead of computed;
//  - scaled_value() saturates where upstream's big form wraps around;
//  - to_string() never drops magnitude (upstream prints 1000E as "1").
//
// Immutable through const access and safe from many threads; copying allocates nothing.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/base/error.h"

namespace dra::api {

class Quantity {
 public:
  // Which family of suffixes to_string() uses.
  enum class Format : uint8_t { kDecimalExponent, kBinarySI, kDecimalSI };

  // Longer texts are refused: no real quantity has more than some 40 characters.
  static constexpr size_t kMaxText = 16 * 1024;
  // Sums and products with more digits than this (and more than their operands have) are refused.
  static constexpr int64_t kMaxDigits = 2048;

  // Zero.
  Quantity() = default;

  // Grammar: sign? digits? ('.' digits?)? suffix, suffix one of n u m (none) k M G T P E Ki Mi Gi Ti Pi Ei or e/E with
  // a signed decimal exponent. No blanks. Values are rounded away from zero to 10^-9; those with a binary suffix are
  // capped at 2^63-1 in magnitude. The error's message is exactly upstream's text, without the input.
  static Result<Quantity> parse(std::string_view text);

  static Quantity from_int64(int64_t value, Format format = Format::kDecimalSI) { return Quantity(value, 0, format); }
  // value * 10^scale. `scale` is at least -9 (nano).
  static Quantity from_scaled(int64_t value, int32_t scale, Format format = Format::kDecimalSI) {
    return Quantity(value, scale, format);
  }

  bool is_zero() const { return sign() == 0; }
  // -1, 0 or 1.
  int sign() const {
    if (rest_) return sign_slow();
    return coefficient_ == 0 ? 0 : coefficient_ > 0 ? 1 : -1;
  }

  // Exact, whatever the two forms are: negative, 0 or positive.
  int compare(const Quantity& other) const {
    if (!rest_ && !other.rest_ && exponent_ == other.exponent_)
      return coefficient_ == other.coefficient_ ? 0 : coefficient_ < other.coefficient_ ? -1 : 1;
    return compare_slow(other);
  }
  int compare(int64_t other) const { return compare(from_int64(other)); }
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.compare(b) == 0; }
  friend std::weak_ordering operator<=>(const Quantity& a, const Quantity& b) { return a.compare(b) <=> 0; }

  // CEL's isInteger/asInteger (Quantity.AsInt64): the value, when this is a small quantity with exponent >= 0 that
  // fits. "1.0", "1000m" and "1Pi" have none. For a plain integer that is rounded up, use value().
  std::optional<int64_t> as_int64() const;
  // Quantity.AsApproximateFloat64; may be infinite.
  double approximate() const;

  // The value divided by 10^scale, rounded away from zero, saturated to int64.
  int64_t scaled_value(int32_t scale) const;
  int64_t value() const { return scaled_value(0); }
  int64_t milli_value() const { return scaled_value(-3); }

  // Exact. Fails (Code::kResourceExhausted) only beyond kMaxDigits. The sum with a zero keeps the other operand's form;
  // the format is this quantity's, or the other's if this is zero.
  Result<Quantity> add(const Quantity& other) const;
  Result<Quantity> sub(const Quantity& other) const;
  Quantity negated() const;
  // Rounded away from zero to a multiple of 10^scale.
  Quantity rounded(int32_t scale) const;

  Format format() const { return format_; }
  Quantity with_format(Format format) const;

  // What MarshalJSON writes: the canonical form (largest suffix without fraction: "1.5" is "1500m", "1024Mi" is "1Gi"),
  // except that small quantities parsed from some already short spellings keep them, as upstream ("1.500").
  std::string to_string() const;

  // 64-bit words of the coefficient; the time of arithmetic depends on it.
  size_t words() const { return rest_ ? words_slow() : 1; }

  // Equal values hash equally.
  size_t hash() const;

 private:
  struct Rest;  // the big form's coefficient and the spelling to keep; absent for most quantities

  Quantity(int64_t coefficient, int32_t exponent, Format format)
      : coefficient_(coefficient), exponent_(exponent), format_(format) {}

  friend struct QuantityOps;
  int sign_slow() const;
  size_t words_slow() const;
  int compare_slow(const Quantity& other) const;
  bool big() const;

  std::shared_ptr<const Rest> rest_;
  int64_t coefficient_ = 0;  // of the small form
  int32_t exponent_ = 0;     // of either form
  Format format_ = Format::kDecimalSI;
};

}  // namespace dra::api

template <>
struct std::hash<dra::api::Quantity> {
  size_t operator()(const dra::api::Quantity& q) const { return q.hash(); }
};
