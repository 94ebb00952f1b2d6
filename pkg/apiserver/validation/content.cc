#include "pkg/apiserver/validation/content.h"

#include <arpa/inet.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

bool lower_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool alnum(char c) {
  return letter(c) || (c >= '0' && c <= '9');
}

std::string max_len(size_t characters) {
  return "must be no more than " + std::to_string(characters) + " characters";
}

}  // namespace

Problems c_identifier_problems(std::string_view text) {
  const bool good = !text.empty() && (letter(text.front()) || text.front() == '_') &&
                    std::all_of(text.begin(), text.end(), [](char c) { return alnum(c) || c == '_'; });
  if (good) return {};
  return {
      regex_error("a valid C identifier must start with alphabetic character or '_', followed by a string of "
                  "alphanumeric characters or '_'",
                  "[A-Za-z_][A-Za-z0-9_]*", {"my_name", "MY_NAME", "MyName"})};
}

Problems config_map_key_problems(std::string_view text) {
  Problems out;
  if (text.size() > kDnsSubdomainMax) out.push_back(max_len(kDnsSubdomainMax));
  const bool good = !text.empty() && std::all_of(text.begin(), text.end(),
                                                 [](char c) { return alnum(c) || c == '-' || c == '_' || c == '.'; });
  if (!good) {
    out.push_back(regex_error("a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
                              "[-._a-zA-Z0-9]+", {"key.name", "KEY_NAME", "key-name"}));
  }
  if (text == ".") out.push_back("must not be '.'");
  if (text == "..") {
    out.push_back("must not be '..'");
  } else if (text.starts_with("..")) {
    out.push_back("must not start with '..'");
  }
  return out;
}

Problems condition_reason_problems(std::string_view text) {
  auto inner = [](char c) { return alnum(c) || c == '_' || c == ',' || c == ':'; };
  const bool good = !text.empty() && letter(text.front()) && std::all_of(text.begin(), text.end(), inner) &&
                    (alnum(text.back()) || text.back() == '_');
  if (good) return {};
  return {
      regex_error("a condition reason must start with alphabetic character, optionally followed by a string of "
                  "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
                  "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
                  {"my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"})};
}

Problems env_var_name_problems(std::string_view text) {
  if (text.empty()) return {"environment variable name must be non-empty"};
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '='; })) return {};
  return {"a valid environment variable name must consist only of printable ASCII characters other than '='"};
}

Problems port_name_problems(std::string_view text) {
  Problems out;
  if (text.size() > 15) out.push_back(max_len(15));
  if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) { return lower_alnum(c) || c == '-'; })) {
    out.push_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!std::any_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; })) {
    out.push_back("must contain at least one letter (a-z)");
  }
  if (text.find("--") != std::string_view::npos) out.push_back("must not contain consecutive hyphens");
  if (!text.empty() && (text.front() == '-' || text.back() == '-')) {
    out.push_back("must not begin or end with a hyphen");
  }
  return out;
}

Problems range_problems(int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return {};
  return {"must be between " + std::to_string(min) + " and " + std::to_string(max) + ", inclusive"};
}

void add_problems(FieldErrors& out, const FieldPath& path, std::string_view value, const Problems& problems) {
  for (const auto& p : problems) out.push_back(invalid(path, value, p));
}

void add_errors(FieldErrors& out, FieldErrors more) {
  for (auto& e : more) out.push_back(std::move(e));
}

bool is_address(const std::string& text) {
  in6_addr any{};
  return inet_pton(AF_INET, text.c_str(), &any) == 1 || inet_pton(AF_INET6, text.c_str(), &any) == 1;
}

bool is_address_range(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash == std::string::npos || !is_address(text.substr(0, slash))) return false;
  const std::string length = text.substr(slash + 1);
  if (length.empty() || length.size() > 3 || length.find_first_not_of("0123456789") != std::string::npos) return false;
  return std::stoi(length) <= (text.find(':') == std::string::npos ? 32 : 128);
}

}  // namespace dra::apiserver
