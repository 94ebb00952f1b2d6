#include "pkg/apiserver/go_duration.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr double kLongestSeconds = 86400;
constexpr std::string_view kDigits = "0123456789.";

// Seconds; NaN for a unit that Go does not know.
double seconds_of(std::string_view unit) {
  if (unit == "s") return 1;
  if (unit == "m") return 60;
  if (unit == "h") return 3600;
  if (unit == "ms") return 1e-3;
  if (unit == "us" || unit == "\u00b5s" || unit == "\u03bcs") return 1e-6;
  return unit == "ns" ? 1e-9 : std::nan("");
}

}  // namespace

Result<Duration> parse_go_duration(std::string_view text) {
  const auto refused = [&](const std::string& why) {
    return fail(Code::kInvalidArgument, "time: " + why + "duration " + quote(text));
  };
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return Duration(0);
  if (rest.empty()) return refused("invalid ");
  double total = 0;
  while (!rest.empty()) {
    double number = 0;
    const size_t digits = std::min(rest.find_first_not_of(kDigits), rest.size());
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + digits, number);
    if (digits == 0 || error != std::errc() || end != rest.data() + digits) return refused("invalid ");
    rest.remove_prefix(digits);
    const std::string_view unit = rest.substr(0, rest.find_first_of(kDigits));
    if (unit.empty()) return refused("missing unit in ");
    const double scale = seconds_of(unit);
    if (std::isnan(scale)) return refused("unknown unit " + quote(unit) + " in ");
    total += number * scale;
    rest.remove_prefix(unit.size());
  }
  total = std::min(total, kLongestSeconds);
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(negative ? -total : total));
}

}  // namespace dra::apiserver
