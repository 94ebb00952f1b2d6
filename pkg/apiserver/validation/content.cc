#include "pkg/apiserver/validation/content.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr std::string_view kLabelRegex = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kQualifiedRegex = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

bool lower_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool alnum(char c) {
  return letter(c) || (c >= '0' && c <= '9');
}

bool label_shape(std::string_view t) {
  if (t.empty() || !lower_alnum(t.front()) || !lower_alnum(t.back())) return false;
  return std::all_of(t.begin(), t.end(), [](char c) { return lower_alnum(c) || c == '-'; });
}

bool subdomain_shape(std::string_view t) {
  for (;;) {
    const size_t dot = t.find('.');
    if (!label_shape(t.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    t.remove_prefix(dot + 1);
  }
}

// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool qualified_shape(std::string_view t) {
  if (t.empty() || !alnum(t.front()) || !alnum(t.back())) return false;
  return std::all_of(t.begin(), t.end(), [](char c) { return alnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::string max_len(size_t characters) {
  return "must be no more than " + std::to_string(characters) + " characters";
}

std::string subdomain_regex() {
  const std::string label(kLabelRegex);
  return label + "(\\." + label + ")*";
}

}  // namespace

std::string regex_error(std::string_view message, std::string_view regex, const std::vector<std::string>& examples) {
  std::string out(message);
  if (examples.empty()) return out + " (regex used for validation is '" + std::string(regex) + "')";
  out += " (e.g. ";
  for (size_t i = 0; i < examples.size(); ++i) {
    if (i > 0) out += " or ";
    out += "'" + examples[i] + "', ";
  }
  return out + "regex used for validation is '" + std::string(regex) + "')";
}

Problems dns_label_problems(std::string_view text) {
  Problems out;
  if (text.size() > kDnsLabelMax) out.push_back(max_len(kDnsLabelMax));
  if (!label_shape(text)) {
    out.push_back(subdomain_shape(text)
                      ? "must not contain dots"
                      : regex_error("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "
                                    "'-', and must start and end with an alphanumeric character",
                                    kLabelRegex, {"my-name", "123-abc"}));
  }
  return out;
}

Problems dns_subdomain_problems(std::string_view text) {
  Problems out;
  if (text.size() > kDnsSubdomainMax) out.push_back(max_len(kDnsSubdomainMax));
  if (!subdomain_shape(text)) {
    out.push_back(
        regex_error("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
                    "and must start and end with an alphanumeric character",
                    subdomain_regex(), {"example.com"}));
  }
  return out;
}

Problems dns1035_label_problems(std::string_view text) {
  Problems out;
  if (text.size() > kDnsLabelMax) out.push_back(max_len(kDnsLabelMax));
  if (!label_shape(text) || !(text.front() >= 'a' && text.front() <= 'z')) {
    out.push_back(
        regex_error("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with "
                    "an alphabetic character, and end with an alphanumeric character",
                    "[a-z]([-a-z0-9]*[a-z0-9])?", {"my-name", "abc-123"}));
  }
  return out;
}

Problems qualified_name_problems(std::string_view text) {
  static const std::vector<std::string> kExamples = {"MyName", "my.name", "123-abc"};
  constexpr std::string_view kCharacters =
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  Problems out;
  const auto parts = split(text, '/');
  if (parts.size() > 2) {
    out.push_back("a qualified name " + regex_error(kCharacters, kQualifiedRegex, kExamples) +
                  " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
    return out;
  }
  if (parts.size() == 2) {
    if (parts[0].empty()) {
      out.push_back("prefix part must be non-empty");
    } else {
      for (const auto& p : dns_subdomain_problems(parts[0])) out.push_back("prefix part " + p);
    }
  }
  const std::string& name = parts.back();
  if (name.empty()) {
    out.push_back("name part must be non-empty");
  } else if (name.size() > 63) {
    out.push_back("name part " + max_len(63));
  }
  if (!qualified_shape(name)) out.push_back("name part " + regex_error(kCharacters, kQualifiedRegex, kExamples));
  return out;
}

Problems label_value_problems(std::string_view text) {
  Problems out;
  if (text.size() > 63) out.push_back(max_len(63));
  if (!text.empty() && !qualified_shape(text)) {
    out.push_back(
        regex_error("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' "
                    "or '.', and must start and end with an alphanumeric character",
                    "(" + std::string(kQualifiedRegex) + ")?", {"MyValue", "my_value", "12345"}));
  }
  return out;
}

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

}  // namespace dra::apiserver
