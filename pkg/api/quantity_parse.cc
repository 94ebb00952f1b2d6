// The quantity scanner. Follows k8s.io/apimachinery/pkg/api/resource (quantity.go, suffix.go) in what it accepts and in
// which form a value takes; see quantity.h for the grammar.
#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "pkg/api/quantity_rep.h"

namespace dra::api {

namespace {

constexpr char kFormatWrong[] =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr char kNumericWrong[] = "unable to parse numeric part of quantity";
constexpr char kSuffixWrong[] = "unable to parse quantity's suffix";

constexpr int32_t kNano = -9;
// Digits that always fit an int64, as upstream counts them.
constexpr int64_t kMaxSmallDigits = 18;

struct Scanned {
  bool negative = false;
  std::string_view whole;     // without leading zeros; "0" when nothing is left
  std::string_view fraction;  // as written
  bool has_digits = false;    // false for "." and the like
  std::string_view suffix;
};

bool is_quantity_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view take_digits(std::string_view& text) {
  size_t n = 0;
  while (n < text.size() && is_quantity_digit(text[n])) ++n;
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

// False when the text does not have the shape <number><letters><signed digits>.
bool scan(std::string_view text, Scanned& out) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    out.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.find_first_not_of('0') == std::string_view::npos) {  // nothing but a sign and zeros is zero, even "+"
    out.whole = "0";
    out.has_digits = true;
    out.negative = false;
    return true;
  }
  const size_t before = text.size();
  while (text.front() == '0') text.remove_prefix(1);
  out.has_digits = text.size() != before;
  out.whole = take_digits(text);
  out.has_digits |= !out.whole.empty();
  if (out.whole.empty()) out.whole = "0";
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    out.fraction = take_digits(text);
    out.has_digits |= !out.fraction.empty();
  }
  out.suffix = text;
  const size_t letters = std::min(text.find_first_not_of("eEinumkKMGTP"), text.size());
  text.remove_prefix(letters);
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  take_digits(text);
  return text.empty();
}

struct Suffix {
  int base = 10;
  int32_t exponent = 0;  // of the base
  Quantity::Format format = Quantity::Format::kDecimalSI;
};

// e or E and a signed decimal that fits 64 bits, of which the low 32 count (upstream converts without a check).
bool interpret_exponent(std::string_view digits, Suffix& out) {
  if (!digits.empty() && digits.front() == '+') {
    digits.remove_prefix(1);
    if (!digits.empty() && digits.front() == '-') return false;
  }
  int64_t exponent = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (error != std::errc() || end != digits.data() + digits.size()) return false;
  out = {10, static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(exponent))),
         Quantity::Format::kDecimalExponent};
  return true;
}

bool interpret(std::string_view suffix, Suffix& out) {
  struct Known {
    std::string_view name;
    int base;
    int32_t exponent;
  };
  static constexpr Known kKnown[] = {{"", 10, 0},   {"m", 10, -3}, {"Mi", 2, 20}, {"Gi", 2, 30},
                                     {"Ki", 2, 10}, {"G", 10, 9},  {"M", 10, 6},  {"k", 10, 3},
                                     {"Ti", 2, 40}, {"T", 10, 12}, {"n", 10, -9}, {"u", 10, -6},
                                     {"P", 10, 15}, {"E", 10, 18}, {"Pi", 2, 50}, {"Ei", 2, 60}};
  for (const Known& known : kKnown) {
    if (suffix != known.name) continue;
    out = {known.base, known.exponent, known.base == 2 ? Quantity::Format::kBinarySI : Quantity::Format::kDecimalSI};
    return true;
  }
  if (suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E')) return interpret_exponent(suffix.substr(1), out);
  return false;
}

// Exponents are 32 bits wide upstream and wrap around.
int32_t wrapping_sub(int32_t a, int64_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}

int64_t digits_value(std::string_view a, std::string_view b) {
  int64_t value = 0;
  for (char c : a) value = value * 10 + (c - '0');
  for (char c : b) value = value * 10 + (c - '0');
  return value;
}

// How many leading and fractional digits the small form can have with a binary suffix.
int64_t binary_small_digits(int32_t bits) {
  return 15 - bits * 3 / 10 - 1;
}

// Upstream keeps the text of a small quantity if a quick check says that it is canonical already.
bool keeps_spelling(const Scanned& s, const Suffix& suffix, int32_t exponent, int64_t value) {
  if (suffix.base == 2) return (value & 7) != 0;
  const char first = s.whole.front();
  if (exponent % 3 != 0 || first == '0') return false;
  const std::string_view tail = s.fraction.size() >= 3 ? s.fraction : std::string_view{};
  if (!tail.empty()) return !tail.ends_with("000");
  // The last three digits, which may reach across the point.
  std::string last(s.whole.substr(s.whole.size() - std::min<size_t>(s.whole.size(), 3)));
  last += s.fraction;
  return !last.ends_with("000");
}

// Whether a text that passed keeps_spelling() may differ from the canonical form at all.
bool may_be_unusual(std::string_view text, const Suffix& suffix) {
  if (suffix.format == Quantity::Format::kDecimalExponent) return true;
  const size_t digits = text.front() == '-' ? 1 : 0;
  return text[digits] == '+' || text[digits] == '0' || text[digits] == '.' || text.find('.') != std::string_view::npos;
}

Quantity parse_small(std::string_view text, const Scanned& s, const Suffix& suffix, int32_t exponent) {
  const int64_t value = digits_value(s.whole, s.fraction);
  const int64_t coefficient = suffix.base == 2 ? value << suffix.exponent : value;
  Quantity q = QuantityOps::small(s.negative ? -coefficient : coefficient, exponent, suffix.format);
  if (!keeps_spelling(s, suffix, exponent, value) || !may_be_unusual(text, suffix)) return q;
  return q.to_string() == text ? q : QuantityOps::spelled(std::move(q), text);
}

Quantity parse_big(const Scanned& s, const Suffix& suffix) {
  using decimal::BigInt;
  using decimal::Number;
  std::string digits(s.whole);
  digits += s.fraction;
  Number n{decimal::parse_digits(digits), -static_cast<int64_t>(s.fraction.size())};
  Quantity::Format format = suffix.format;
  if (suffix.base == 2)
    n.coefficient <<= suffix.exponent;
  else  // the sum of two 32-bit scales, which wraps around upstream; scales count in the other direction
    n.exponent = -static_cast<int64_t>(
        static_cast<int32_t>(static_cast<uint32_t>(s.fraction.size()) - static_cast<uint32_t>(suffix.exponent)));
  if (n.coefficient == 0) return QuantityOps::big({0, 0}, format);

  // Every big value that is not zero is kept in units of 10^-9, rounded up. Larger ones whose zeros would fill memory
  // keep their exponent: no observer can tell.
  if (n.exponent < kNano) {
    n = {decimal::divide_away_from_zero(n.coefficient, kNano - n.exponent), kNano};
  } else if (decimal::digits_upper_bound(n.coefficient) + n.exponent - kNano <= Quantity::kMaxDigits) {
    n = {n.coefficient * decimal::power_of_ten(n.exponent - kNano), kNano};
  }
  if (suffix.base == 2) {
    const Number cap{BigInt(std::numeric_limits<int64_t>::max()), 0};
    if (decimal::compare(n, cap) > 0) n = cap;
    if (decimal::compare(n, {1, 0}) < 0) format = Quantity::Format::kDecimalSI;
  }
  if (s.negative) n.coefficient = -n.coefficient;
  return QuantityOps::big(std::move(n), format);
}

}  // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
  if (text.empty()) return fail(Code::kInvalidArgument, kFormatWrong);
  if (text.size() > kMaxText)
    return fail(Code::kInvalidArgument, "quantity is longer than " + std::to_string(kMaxText) + " characters");
  Scanned s;
  if (!scan(text, s)) return fail(Code::kInvalidArgument, kFormatWrong);
  Suffix suffix;
  if (!interpret(s.suffix, suffix)) return fail(Code::kInvalidArgument, kSuffixWrong);

  const auto digits = static_cast<int64_t>(s.whole.size() + s.fraction.size());
  if (suffix.base == 2) {
    if (s.fraction.empty() && static_cast<int64_t>(s.whole.size()) <= binary_small_digits(suffix.exponent))
      return parse_small(text, s, suffix, 0);
  } else if (digits <= kMaxSmallDigits) {
    const int32_t exponent = wrapping_sub(suffix.exponent, static_cast<int64_t>(s.fraction.size()));
    if (exponent >= kNano) return parse_small(text, s, suffix, exponent);
  }
  if (!s.has_digits) return fail(Code::kInvalidArgument, kNumericWrong);
  return parse_big(s, suffix);
}

}  // namespace dra::api
