#include "pkg/api/semver.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <vector>

#include "pkg/base/strings.h"

namespace dra::api {

namespace {

bool semver_digits_only(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool identifier_only(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

bool has_leading_zeros(std::string_view text) {
  return text.size() > 1 && text.front() == '0';
}

Unexpected semver_error(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

// Go's strconv.ParseUint with its texts; `text` holds digits only.
Result<uint64_t> parse_number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    return semver_error("strconv.ParseUint: parsing " + quote(text) + ": value out of range");
  if (error != std::errc() || end != text.data() + text.size())
    return semver_error("strconv.ParseUint: parsing " + quote(text) + ": invalid syntax");
  return value;
}

Result<uint64_t> parse_part(std::string_view text, const std::string& lower, const std::string& upper) {
  if (!semver_digits_only(text))
    return semver_error("Invalid character(s) found in " + lower + " number " + quote(text));
  if (has_leading_zeros(text)) return semver_error(upper + " number must not contain leading zeroes " + quote(text));
  return parse_number(text);
}

// Takes the text up to the next dot off `rest`; `more` says whether there was a dot.
std::string_view next_identifier(std::string_view& rest, bool& more) {
  const size_t dot = rest.find('.');
  more = dot != std::string_view::npos;
  const std::string_view part = rest.substr(0, dot);
  rest = more ? rest.substr(dot + 1) : std::string_view{};
  return part;
}

Result<void> check_prerelease(std::string_view text) {
  for (bool more = true; more;) {
    const std::string_view part = next_identifier(text, more);
    if (part.empty()) return semver_error("Prerelease is empty");
    if (semver_digits_only(part)) {
      if (has_leading_zeros(part))
        return semver_error("Numeric PreRelease version must not contain leading zeroes " + quote(part));
      if (auto number = parse_number(part); !number) return Unexpected(number.error());
    } else if (!identifier_only(part)) {
      return semver_error("Invalid character(s) found in prerelease " + quote(part));
    }
  }
  return {};
}

Result<void> check_build(std::string_view text) {
  for (bool more = true; more;) {
    const std::string_view part = next_identifier(text, more);
    if (part.empty()) return semver_error("Build meta data is empty");
    if (!identifier_only(part)) return semver_error("Invalid character(s) found in build meta data " + quote(part));
  }
  return {};
}

// Numeric identifiers have no leading zeros, so the longer one is the larger one.
int compare_identifiers(std::string_view a, std::string_view b) {
  const bool numeric_a = semver_digits_only(a);
  const bool numeric_b = semver_digits_only(b);
  if (numeric_a != numeric_b) return numeric_a ? -1 : 1;
  if (numeric_a && a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

}  // namespace

Result<Semver> Semver::parse(std::string_view text) {
  if (text.empty()) return semver_error("Version string empty");
  const size_t first = text.find('.');
  const size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos) return semver_error("No Major.Minor.Patch elements found");

  const auto major = parse_part(text.substr(0, first), "major", "Major");
  if (!major) return Unexpected(major.error());
  const auto minor = parse_part(text.substr(first + 1, second - first - 1), "minor", "Minor");
  if (!minor) return Unexpected(minor.error());

  std::string_view patch_text = text.substr(second + 1);
  std::string_view build;
  std::string_view prerelease;
  const size_t plus = patch_text.find('+');
  if (plus != std::string_view::npos) {
    build = patch_text.substr(plus + 1);
    patch_text = patch_text.substr(0, plus);
  }
  const size_t dash = patch_text.find('-');
  if (dash != std::string_view::npos) {
    prerelease = patch_text.substr(dash + 1);
    patch_text = patch_text.substr(0, dash);
  }
  const auto patch = parse_part(patch_text, "patch", "Patch");
  if (!patch) return Unexpected(patch.error());
  if (dash != std::string_view::npos) {
    if (auto ok = check_prerelease(prerelease); !ok) return Unexpected(ok.error());
  }
  if (plus != std::string_view::npos) {
    if (auto ok = check_build(build); !ok) return Unexpected(ok.error());
  }

  Semver v;
  v.major_ = *major;
  v.minor_ = *minor;
  v.patch_ = *patch;
  v.prerelease_ = prerelease;
  v.build_ = build;
  return v;
}

Result<Semver> Semver::parse_normalized(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::vector<std::string> parts;
  for (std::string_view rest = text;;) {
    const size_t dot = parts.size() < 2 ? rest.find('.') : std::string_view::npos;
    parts.emplace_back(rest.substr(0, dot));
    if (dot == std::string_view::npos) break;
    rest = rest.substr(dot + 1);
  }
  for (std::string& part : parts) {
    if (part.size() <= 1) continue;
    const size_t zeros = std::min(part.find_first_not_of('0'), part.size());
    const bool digit_follows = zeros < part.size() && part[zeros] >= '0' && part[zeros] <= '9';
    part = (digit_follows ? "" : "0") + part.substr(zeros);
  }
  if (parts.size() < 3) {
    if (parts.back().find_first_of("+-") != std::string::npos)
      return semver_error("short version cannot contain PreRelease/Build meta data");
    while (parts.size() < 3) parts.emplace_back("0");
  }
  return parse(parts[0] + "." + parts[1] + "." + parts[2]);
}

int Semver::compare_prerelease(const Semver& other) const {
  if (prerelease_.empty() || other.prerelease_.empty()) return prerelease_.empty() ? 1 : -1;  // not both, see compare()
  std::string_view a = prerelease_;
  std::string_view b = other.prerelease_;
  for (;;) {
    bool more_a = false;
    bool more_b = false;
    const int order = compare_identifiers(next_identifier(a, more_a), next_identifier(b, more_b));
    if (order != 0) return order;
    if (!more_a || !more_b) return more_a == more_b ? 0 : more_a ? 1 : -1;
  }
}

std::string Semver::to_string() const {
  std::string text = std::to_string(major_) + "." + std::to_string(minor_) + "." + std::to_string(patch_);
  if (!prerelease_.empty()) text += "-" + prerelease_;
  if (!build_.empty()) text += "+" + build_;
  return text;
}

size_t Semver::hash() const {
  size_t h = std::hash<std::string>{}(prerelease_);
  for (uint64_t n : {major_, minor_, patch_}) h = h * 31 + std::hash<uint64_t>{}(n);
  return h;
}

}  // namespace dra::api
