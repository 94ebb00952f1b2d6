#include "pkg/cel/lib/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace dra::cel::lib {

namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;
constexpr double kTwoTo64 = 18446744073709551616.0;

bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex_digit(char c) {
  return is_ascii_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

char lower_letter(char c) {
  return static_cast<char>(c | 0x20);
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) { return lower_letter(a) == b; });
}

// A number taken apart. The views still contain underscores.
struct FloatParts {
  bool negative = false;
  bool hex = false;
  std::string digits;  // without point, underscores
  int64_t point = 0;   // digits in front of the point
  int64_t exponent = 0;
};

// Underscores may only stand between digits (or behind the base prefix).
bool underscores_placed_well(std::string_view text) {
  char seen = '^';
  bool hex = false;
  size_t i = 0;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  if (text.size() >= 2 && text[0] == '0' && lower_letter(text[1]) == 'x') {
    i = 2;
    seen = '0';
    hex = true;
  }
  for (; i < text.size(); ++i) {
    if (is_ascii_digit(text[i]) || (hex && is_hex_digit(text[i]))) {
      seen = '0';
    } else if (text[i] == '_') {
      if (seen != '0') return false;
      seen = '_';
    } else {
      if (seen == '_') return false;
      seen = '!';
    }
  }
  return seen != '_';
}

bool scan_exponent(std::string_view& rest, int64_t& exponent) {
  bool negative = false;
  if (!rest.empty() && (rest.front() == '+' || rest.front() == '-')) {
    negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  if (rest.empty() || !is_ascii_digit(rest.front())) return false;
  while (!rest.empty() && (is_ascii_digit(rest.front()) || rest.front() == '_')) {
    if (rest.front() != '_' && exponent < 1'000'000) exponent = exponent * 10 + (rest.front() - '0');
    rest.remove_prefix(1);
  }
  if (negative) exponent = -exponent;
  return true;
}

bool scan_float(std::string_view text, FloatParts& out) {
  std::string_view rest = text;
  if (!rest.empty() && (rest.front() == '+' || rest.front() == '-')) {
    out.negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  if (rest.size() > 2 && rest[0] == '0' && lower_letter(rest[1]) == 'x') {
    out.hex = true;
    rest.remove_prefix(2);
  }
  bool point_seen = false;
  for (; !rest.empty(); rest.remove_prefix(1)) {
    const char c = rest.front();
    if (c == '.') {
      if (point_seen) return false;
      point_seen = true;
      out.point = static_cast<int64_t>(out.digits.size());
    } else if (out.hex ? is_hex_digit(c) : is_ascii_digit(c)) {
      out.digits += c;
    } else if (c != '_') {
      break;
    }
  }
  if (out.digits.empty()) return false;
  if (!point_seen) out.point = static_cast<int64_t>(out.digits.size());
  const bool has_exponent = !rest.empty() && lower_letter(rest.front()) == (out.hex ? 'p' : 'e');
  if (has_exponent) {
    rest.remove_prefix(1);
    if (!scan_exponent(rest, out.exponent)) return false;
  } else if (out.hex) {
    return false;  // Go wants one
  }
  if (!rest.empty()) return false;
  return text.find('_') == std::string_view::npos || underscores_placed_well(text);
}

// The value of the digits and exponent. None when it is too large; a value that is too small is 0.
std::optional<double> value_of(const FloatParts& parts) {
  std::string_view digits = parts.digits;
  const size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  digits.remove_prefix(zeros);
  const double zero = parts.negative ? -0.0 : 0.0;
  if (digits.empty()) return zero;
  // 0.d1d2d3... * base^magnitude
  const int64_t places = parts.point - static_cast<int64_t>(zeros);
  const int64_t magnitude = parts.exponent + (parts.hex ? places * 4 : places);
  if (magnitude > 1100) return std::nullopt;
  if (magnitude < -1200) return zero;
  std::string text = "0.";
  text += digits;
  text += parts.hex ? 'p' : 'e';
  text += std::to_string(magnitude);
  double value = 0;
  const auto format = parts.hex ? std::chars_format::hex : std::chars_format::general;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, format);
  if (error == std::errc::result_out_of_range || std::isinf(value))
    return magnitude > 0 ? std::nullopt : std::optional<double>(zero);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return parts.negative ? -value : value;
}

}  // namespace

std::string format_double(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char buffer[40];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<size_t>(result.ptr - buffer));
  const size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(), exponent);
  // to_chars writes at least two digits of exponent, as Go does.
  if (exponent < -4 || exponent >= 6) return std::string(text);
  const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed);
  return std::string(buffer, fixed.ptr);
}

std::string format_fixed(double value, int decimals) {
  // No double has more than 1074 decimals that are not 0.
  const int exact = std::clamp(decimals, 0, 1100);
  std::string text(static_cast<size_t>(exact) + 330, '\0');
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, exact);
  text.resize(static_cast<size_t>(result.ptr - text.data()));
  text.append(static_cast<size_t>(std::max(decimals, exact) - exact), '0');
  return text;
}

std::optional<int64_t> parse_int(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uint64_t> parse_uint(std::string_view text) {
  uint64_t value = 0;
  if (text.starts_with('-')) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  std::string_view unsigned_text = text;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) unsigned_text.remove_prefix(1);
  if (equals_ignoring_case(unsigned_text, "inf") || equals_ignoring_case(unsigned_text, "infinity")) {
    const double infinity = std::numeric_limits<double>::infinity();
    return text.front() == '-' ? -infinity : infinity;
  }
  if (equals_ignoring_case(text, "nan")) return std::numeric_limits<double>::quiet_NaN();
  FloatParts parts;
  if (!scan_float(text, parts)) return std::nullopt;
  return value_of(parts);
}

std::optional<bool> parse_bool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"})
    if (text == yes) return true;
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"})
    if (text == no) return false;
  return std::nullopt;
}

std::optional<int64_t> double_to_int(double value) {
  if (!(value > -kTwoTo63 && value < kTwoTo63)) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::optional<uint64_t> double_to_uint(double value) {
  if (!(value >= 0 && value < kTwoTo64)) return std::nullopt;
  return static_cast<uint64_t>(value);
}

}  // namespace dra::cel::lib
