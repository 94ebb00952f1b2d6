#include "pkg/api/quantity.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <utility>

#include "pkg/api/quantity_rep.h"

namespace dra::api {

namespace {

using decimal::BigInt;
using decimal::Number;

constexpr int64_t kPowersOfTen[19] = {1,
                                      10,
                                      100,
                                      1'000,
                                      10'000,
                                      100'000,
                                      1'000'000,
                                      10'000'000,
                                      100'000'000,
                                      1'000'000'000,
                                      10'000'000'000,
                                      100'000'000'000,
                                      1'000'000'000'000,
                                      10'000'000'000'000,
                                      100'000'000'000'000,
                                      1'000'000'000'000'000,
                                      10'000'000'000'000'000,
                                      100'000'000'000'000'000,
                                      1'000'000'000'000'000'000};

// value * 10^n, if it fits. A value that is not zero times 10^19 never does.
std::optional<int64_t> scale_up(int64_t value, int64_t n) {
  if (value == 0 || n == 0) return value;
  int64_t result = 0;
  if (n > 18 || __builtin_mul_overflow(value, kPowersOfTen[n], &result)) return std::nullopt;
  return result;
}

int64_t scale_down_away_from_zero(int64_t value, int64_t n) {
  if (value == 0 || n == 0) return value;
  const int64_t sign = value < 0 ? -1 : 1;
  if (n > 18) return sign;
  const int64_t quotient = value / kPowersOfTen[n];
  return value % kPowersOfTen[n] == 0 ? quotient : quotient + sign;
}

int64_t saturated(int64_t sign) {
  return sign < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

// "123000" * 10^0 -> "123" * 10^3. Works on digits, so that both forms share it.
void strip_zeros(std::string& digits, int64_t& exponent) {
  while (digits.size() > 1 && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
}

std::string decimal_text(std::string digits, int64_t exponent, Quantity::Format format) {
  static constexpr std::string_view kSuffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  strip_zeros(digits, exponent);
  const int64_t surplus = ((exponent % 3) + 3) % 3;
  digits.append(static_cast<size_t>(surplus), '0');
  exponent -= surplus;
  if (format == Quantity::Format::kDecimalSI && exponent >= -9 && exponent <= 18 + Quantity::kMaxDigits) {
    if (exponent > 18) digits.append(static_cast<size_t>(exponent - 18), '0');
    return digits.append(kSuffixes[(std::min<int64_t>(exponent, 18) + 9) / 3]);
  }
  return exponent == 0 ? digits : digits + "e" + std::to_string(exponent);
}

std::string binary_text(BigInt value) {
  static constexpr std::string_view kSuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  size_t suffix = 0;
  while (suffix + 1 < std::size(kSuffixes) && value % 1024 == 0) {
    value /= 1024;
    ++suffix;
  }
  return value.str() + std::string(kSuffixes[suffix]);
}

std::string canonical_text(const Number& n, Quantity::Format format) {
  BigInt magnitude = boost::multiprecision::abs(n.coefficient);
  const std::string sign = n.coefficient < 0 ? "-" : "";
  if (format == Quantity::Format::kBinarySI) {
    const Number absolute{magnitude, n.exponent};
    const bool tiny = decimal::compare(absolute, {1024, 0}) < 0;
    const bool writable = n.exponent <= Quantity::kMaxDigits;
    if (!tiny && writable) {
      if (n.exponent >= 0) return sign + binary_text(magnitude * decimal::power_of_ten(n.exponent));
      const BigInt whole = decimal::divide_away_from_zero(magnitude, -n.exponent);
      if (decimal::compare({whole, 0}, absolute) == 0) return sign + binary_text(whole);
    }
    format = Quantity::Format::kDecimalSI;
  }
  return sign + decimal_text(magnitude.str(), n.exponent, format);
}

// The two numbers with one exponent, unless that takes too many digits.
bool align(Number& a, Number& b) {
  if (a.exponent == b.exponent) return true;
  Number& wide = a.exponent > b.exponent ? a : b;
  const Number& fine = a.exponent > b.exponent ? b : a;
  const int64_t zeros = wide.exponent - fine.exponent;
  const int64_t digits = decimal::digits_upper_bound(wide.coefficient) + zeros;
  if (digits > std::max(Quantity::kMaxDigits, decimal::digits_upper_bound(fine.coefficient))) return false;
  wide.coefficient *= decimal::power_of_ten(zeros);
  wide.exponent = fine.exponent;
  return true;
}

Unexpected too_large(const char* operation, const Quantity& a, const std::string& b) {
  std::string left = a.to_string();
  if (left.size() > 64) left = left.substr(0, 61) + "...";
  return fail(Code::kResourceExhausted, "the result of " + left + " " + operation + " " +
                                            (b.size() > 64 ? b.substr(0, 61) + "..." : b) + " has more than " +
                                            std::to_string(Quantity::kMaxDigits) + " digits");
}

}  // namespace

bool Quantity::big() const {
  return rest_ && rest_->big;
}

int Quantity::sign_slow() const {
  if (rest_->big) return rest_->number.coefficient.sign();
  return coefficient_ == 0 ? 0 : coefficient_ > 0 ? 1 : -1;
}

size_t Quantity::words_slow() const {
  return big() ? rest_->number.coefficient.backend().size() : 1;
}

int Quantity::compare_slow(const Quantity& other) const {
  if (!big() && !other.big()) {
    if (exponent_ == other.exponent_)
      return coefficient_ == other.coefficient_ ? 0 : coefficient_ < other.coefficient_ ? -1 : 1;
    const int64_t difference = static_cast<int64_t>(exponent_) - other.exponent_;
    if (difference > 0 && difference <= 18) {
      const __int128 wide = static_cast<__int128>(coefficient_) * kPowersOfTen[difference];
      return wide == other.coefficient_ ? 0 : wide < other.coefficient_ ? -1 : 1;
    }
    if (difference < 0 && difference >= -18) return -other.compare_slow(*this);
  }
  return decimal::compare(QuantityOps::number(*this), QuantityOps::number(other));
}

std::optional<int64_t> Quantity::as_int64() const {
  if (big() || exponent_ < 0) return std::nullopt;
  return scale_up(coefficient_, exponent_);
}

double Quantity::approximate() const {
  if (is_zero()) return 0;
  const double base = big() ? decimal::to_double(rest_->number.coefficient) : static_cast<double>(coefficient_);
  const int64_t exponent = big() ? rest_->number.exponent : exponent_;
  return exponent == 0 ? base : base * decimal::pow10_double(exponent);
}

int64_t Quantity::scaled_value(int32_t scale) const {
  if (!big()) {
    const int64_t shift = static_cast<int64_t>(exponent_) - scale;
    if (shift < 0) return scale_down_away_from_zero(coefficient_, -shift);
    return scale_up(coefficient_, shift).value_or(saturated(coefficient_));
  }
  const Number& n = rest_->number;
  const int64_t shift = n.exponent - scale;
  if (shift <= 0) return decimal::saturate(decimal::divide_away_from_zero(n.coefficient, -shift));
  if (n.coefficient == 0) return 0;
  if (shift > 18) return saturated(n.coefficient.sign());
  return decimal::saturate(n.coefficient * kPowersOfTen[shift]);
}

Result<Quantity> Quantity::add(const Quantity& other) const {
  const Format format = is_zero() ? other.format_ : format_;
  if (other.is_zero() && (big() || !other.big())) return with_format(format);
  if (is_zero() && (other.big() || !big())) return other.with_format(format);
  if (!big() && !other.big()) {
    const int32_t exponent = std::min(exponent_, other.exponent_);
    const auto left = scale_up(coefficient_, static_cast<int64_t>(exponent_) - exponent);
    const auto right = scale_up(other.coefficient_, static_cast<int64_t>(other.exponent_) - exponent);
    int64_t sum = 0;
    if (left && right && !__builtin_add_overflow(*left, *right, &sum)) return Quantity(sum, exponent, format);
  }
  Number a = QuantityOps::number(*this);
  Number b = QuantityOps::number(other);
  if (a.coefficient == 0) return QuantityOps::big(std::move(b), format);
  if (b.coefficient == 0) return QuantityOps::big(std::move(a), format);
  if (!align(a, b)) return too_large("+", *this, other.to_string());
  a.coefficient += b.coefficient;
  return QuantityOps::big(std::move(a), format);
}

Result<Quantity> Quantity::sub(const Quantity& other) const {
  return add(other.negated());
}

Quantity Quantity::negated() const {
  if (!big() && coefficient_ != std::numeric_limits<int64_t>::min()) return Quantity(-coefficient_, exponent_, format_);
  Number n = QuantityOps::number(*this);
  n.coefficient = -n.coefficient;
  return QuantityOps::big(std::move(n), format_);
}

Quantity Quantity::rounded(int32_t scale) const {
  if (!big()) {
    if (exponent_ >= scale) return *this;
    return Quantity(scale_down_away_from_zero(coefficient_, static_cast<int64_t>(scale) - exponent_), scale, format_);
  }
  const Number& n = rest_->number;
  if (n.exponent >= scale) return *this;
  return QuantityOps::big({decimal::divide_away_from_zero(n.coefficient, scale - n.exponent), scale}, format_);
}

Quantity Quantity::with_format(Format format) const {
  if (format == format_) return *this;
  if (big()) {
    Quantity q = *this;
    q.format_ = format;
    return q;
  }
  return Quantity(coefficient_, exponent_, format);
}

std::string Quantity::to_string() const {
  if (rest_ && !rest_->spelling.empty()) return rest_->spelling;
  if (is_zero()) return "0";
  if (!big() && exponent_ == 0 && format_ == Format::kDecimalSI && coefficient_ % 1000 != 0)
    return std::to_string(coefficient_);
  return canonical_text(QuantityOps::number(*this), format_);
}

size_t Quantity::hash() const {
  if (is_zero()) return 0;
  Number n = QuantityOps::number(*this);
  std::string digits = n.coefficient.str();
  strip_zeros(digits, n.exponent);
  return std::hash<std::string>{}(digits)*31 + std::hash<int64_t>{}(n.exponent);
}

}  // namespace dra::api
