#include "pkg/yaml/scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

namespace dra::yaml {
namespace {

template <size_t N>
bool one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr std::array<std::string_view, 5> kNull = {"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 11> kTrue = {"true", "True", "TRUE", "yes", "Yes", "YES",
                                                    "on",   "On",   "ON",   "y",   "Y"};
constexpr std::array<std::string_view, 11> kFalse = {"false", "False", "FALSE", "no", "No", "NO",
                                                     "off",   "Off",   "OFF",   "n",  "N"};
constexpr std::array<std::string_view, 12> kNotFinite = {".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf", "+.INF",
                                                         "-.inf", "-.Inf", "-.INF", ".nan",  ".NaN",  ".NAN"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Go's strconv.ParseInt/ParseUint with base 0: the prefixes 0x, 0o, 0b and a leading 0 select the base.
std::optional<nlohmann::json> to_integer(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char prefix = static_cast<char>(text[1] | 0x20);
    base = prefix == 'x' ? 16 : prefix == 'b' ? 2 : 8;
    text.remove_prefix(prefix == 'x' || prefix == 'b' || prefix == 'o' ? 2 : 1);
  }
  uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!negative)
    return magnitude <= INT64_MAX ? nlohmann::json(static_cast<int64_t>(magnitude)) : nlohmann::json(magnitude);
  if (magnitude > static_cast<uint64_t>(INT64_MAX) + 1) return std::nullopt;
  return nlohmann::json(static_cast<int64_t>(~magnitude + 1));
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool looks_like_float(std::string_view text) {
  size_t i = 0;
  const auto digits = [&] {
    const size_t from = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i - from;
  };
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  const size_t whole = digits();
  size_t fraction = 0;
  if (i < text.size() && text[i] == '.') {
    ++i;
    fraction = digits();
  }
  if (whole + fraction == 0) return false;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

}  // namespace

bool resolve_plain(std::string_view text, nlohmann::json& out) {
  if (one_of(text, kNull)) return out = nullptr, true;
  if (one_of(text, kTrue)) return out = true, true;
  if (one_of(text, kFalse)) return out = false, true;
  if (one_of(text, kNotFinite)) return false;
  const char first = text[0];
  if (is_digit(first) || first == '-' || first == '+' || first == '.') {
    std::string plain(text);
    plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
    if (first != '.') {
      if (auto integer = to_integer(plain)) return out = *integer, true;
    }
    if (looks_like_float(plain)) {
      const double value = std::strtod(plain.c_str(), nullptr);
      if (!std::isfinite(value)) return out = std::string(text), true;
      // Prints a whole number of moderate size without a fraction, as Go's JSON encoder does.
      if (value == std::floor(value) && std::fabs(value) < 1e15) return out = static_cast<int64_t>(value), true;
      return out = value, true;
    }
  }
  out = std::string(text);
  return true;
}

std::string key_text(const nlohmann::json& key) {
  if (key.is_string()) return key.get<std::string>();
  return key.dump();
}

}  // namespace dra::yaml
