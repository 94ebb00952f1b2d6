#include "pkg/base/go_duration.h"

#include <algorithm>
#include <string>

#include "pkg/base/strings.h"

namespace dra {

namespace {

constexpr uint64_t kBound = uint64_t{1} << 63;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Returns 0 for a unit that Go does not know.
uint64_t nanos_of_unit(std::string_view unit) {
  if (unit == "ns") return 1;
  if (unit == "us" || unit == "\u00b5s" || unit == "\u03bcs") return 1'000;
  if (unit == "ms") return 1'000'000;
  if (unit == "s") return 1'000'000'000;
  if (unit == "m") return 60'000'000'000;
  return unit == "h" ? 3'600'000'000'000 : 0;
}

// Reads the leading digits. False beyond 2^63.
bool take_integer(std::string_view& text, uint64_t& value) {
  value = 0;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
    if (value > kBound / 10) return false;
    value = value * 10 + static_cast<uint64_t>(text.front() - '0');
    if (value > kBound) return false;
  }
  return true;
}

// Reads the digits after the point as value / scale; drops digits that no longer fit.
void take_fraction(std::string_view& text, uint64_t& value, double& scale) {
  bool full = false;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
    const uint64_t next = value * 10 + static_cast<uint64_t>(text.front() - '0');
    full = full || value > (kBound - 1) / 10 || next > kBound;
    if (full) continue;
    value = next;
    scale *= 10;
  }
}

// Reads one component such as "1.5h" from the front of `text`, in nanoseconds. The error is in Go's words.
tl::expected<uint64_t, std::string> take_component(std::string_view& text) {
  uint64_t whole = 0, fraction = 0;
  double scale = 1;
  const size_t before = text.size();
  if (!take_integer(text, whole)) return tl::unexpected<std::string>("invalid ");
  bool digits = text.size() != before;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const size_t behind_point = text.size();
    take_fraction(text, fraction, scale);
    digits |= text.size() != behind_point;
  }
  if (!digits) return tl::unexpected<std::string>("invalid ");
  const std::string_view name = text.substr(0, std::min(text.find_first_of(".0123456789"), text.size()));
  if (name.empty()) return tl::unexpected<std::string>("missing unit in ");
  const uint64_t unit = nanos_of_unit(name);
  if (unit == 0) return tl::unexpected<std::string>("unknown unit " + quote(name) + " in ");
  text.remove_prefix(name.size());
  if (whole > kBound / unit) return tl::unexpected<std::string>("invalid ");
  return whole * unit + static_cast<uint64_t>(static_cast<double>(fraction) * (static_cast<double>(unit) / scale));
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
  uint64_t total = 0;
  while (!rest.empty()) {
    const auto component = take_component(rest);
    if (!component) return refused(component.error());
    if (*component > kBound || (total += *component) > kBound) return refused("invalid ");
  }
  if (total == kBound && !negative) return refused("invalid ");
  return Duration(static_cast<int64_t>(negative ? 0 - total : total));
}

}  // namespace dra
