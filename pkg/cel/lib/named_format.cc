#include "pkg/cel/lib/named_format.h"

#include <algorithm>

#include "pkg/api/names.h"
#include "pkg/cel/lib/url.h"

namespace dra::cel::lib {

namespace {

using Messages = std::vector<std::string>;

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower_or_digit(char c) {
  return is_lower(c) || is_decimal(c);
}
bool is_letter_or_digit(char c) {
  return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

// The prefix of a generated name may end in '-': something follows. Upstream replaces the last two characters by 'a'.
std::string mask_trailing_dash(std::string_view text) {
  if (text.size() > 1 && text.back() == '-') return std::string(text.substr(0, text.size() - 2)) + 'a';
  return std::string(text);
}

template <Messages (*check)(std::string_view)>
Messages check_prefix_of(std::string_view text) {
  return check(mask_trailing_dash(text));
}

Messages check_uri(std::string_view text) {
  std::string problem = check_request_uri(text);
  if (problem.empty()) return {};
  return {std::move(problem)};
}

bool is_hex(char c) {
  return is_decimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// 8-4-4-4-12 hexadecimal digits; every dash may be left out.
Messages check_uuid(std::string_view text) {
  static constexpr size_t kGroups[] = {8, 4, 4, 4, 12};
  for (const size_t group : kGroups) {
    if (group != 8 && text.starts_with('-')) text.remove_prefix(1);
    if (text.size() < group || !std::all_of(text.begin(), text.begin() + static_cast<ptrdiff_t>(group), is_hex))
      return {"does not match the UUID format"};
    text.remove_prefix(group);
  }
  if (!text.empty()) return {"does not match the UUID format"};
  return {};
}

// Padded standard base64, not empty.
Messages check_byte(std::string_view text) {
  bool valid = !text.empty() && text.size() % 4 == 0;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  valid = valid &&
          std::all_of(text.begin(), text.end(), [](char c) { return is_letter_or_digit(c) || c == '+' || c == '/'; });
  if (valid) return {};
  return {"invalid base64"};
}

int two_digits(std::string_view text) {
  return (text[0] - '0') * 10 + (text[1] - '0');
}

// YYYY-MM-DD of the proleptic Gregorian calendar.
bool is_date(std::string_view text) {
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (const size_t i : {0, 1, 2, 3, 5, 6, 8, 9})
    if (!is_decimal(text[i])) return false;
  const int year = two_digits(text) * 100 + two_digits(text.substr(2));
  const int month = two_digits(text.substr(5));
  const int day = two_digits(text.substr(8));
  if (month < 1 || month > 12 || day < 1) return false;
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return day <= kDays[month - 1] + (month == 2 && leap ? 1 : 0);
}

Messages check_date(std::string_view text) {
  if (is_date(text)) return {};
  return {"invalid date"};
}

// HH:MM:SS, any one character and digits as fraction, z or an offset whose numbers nobody checks.
bool is_time(std::string_view text) {
  if (text.size() < 9 || text[2] != ':' || text[5] != ':') return false;
  for (const size_t i : {0, 1, 3, 4, 6, 7})
    if (!is_decimal(text[i])) return false;
  if (two_digits(text) > 23 || two_digits(text.substr(3)) > 59 || two_digits(text.substr(6)) > 59) return false;
  text.remove_prefix(8);
  std::string_view zone = text.substr(text.size() - 1);
  if (zone != "z" && zone != "Z") {
    if (text.size() < 6) return false;
    zone = text.substr(text.size() - 6);
    const bool offset = (zone[0] == '+' || zone[0] == '-') && is_decimal(zone[1]) && is_decimal(zone[2]) &&
                        zone[3] == ':' && is_decimal(zone[4]) && is_decimal(zone[5]);
    if (!offset) return false;
  }
  text.remove_suffix(zone.size());
  if (text.empty()) return true;
  // The character in front of the fraction may have several bytes, and no line break.
  size_t separator = 1;
  while (separator < text.size() && (static_cast<unsigned char>(text[separator]) & 0xC0) == 0x80) ++separator;
  if (text[0] == '\n' || separator == text.size()) return false;
  return std::all_of(text.begin() + static_cast<ptrdiff_t>(separator), text.end(), is_decimal);
}

Messages check_datetime(std::string_view text) {
  const size_t t = text.find_first_of("tT");
  if (t != std::string_view::npos && text.find_first_of("tT", t + 1) == std::string_view::npos &&
      is_date(text.substr(0, t)) && is_time(text.substr(t + 1)))
    return {};
  return {"invalid datetime"};
}

constexpr NamedFormat kFormats[] = {
    {"dns1123Label", 30, api::dns_label_problems},
    {"dns1123LabelPrefix", 30, check_prefix_of<api::dns_label_problems>},
    {"dns1123Subdomain", 60, api::dns_subdomain_problems},
    {"dns1123SubdomainPrefix", 60, check_prefix_of<api::dns_subdomain_problems>},
    {"dns1035Label", 30, api::dns1035_label_problems},
    {"dns1035LabelPrefix", 30, check_prefix_of<api::dns1035_label_problems>},
    {"qualifiedName", 60, api::qualified_name_problems},
    {"labelValue", 40, api::label_value_problems},
    {"uri", 1103, check_uri},
    {"uuid", 70, check_uuid},
    {"byte", 84, check_byte},
    {"date", 71, check_date},
    {"datetime", 71, check_datetime},
};

}  // namespace

const NamedFormat* find_named_format(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                         [&](const NamedFormat& format) { return format.name == name; });
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace dra::cel::lib
