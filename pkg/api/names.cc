#include "pkg/api/names.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace dra::api {
namespace {

constexpr std::string_view kLabelRegex = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kQualifiedRegex = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

bool lower_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool alnum(char c) {
  return lower_alnum(c) || (c >= 'A' && c <= 'Z');
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

// Upstream counts bytes everywhere, but says "bytes" only for label keys and values.
std::string too_long(size_t most, const char* unit) {
  return "must be no more than " + std::to_string(most) + " " + unit;
}

std::string subdomain_regex() {
  const std::string label(kLabelRegex);
  return label + "(\\." + label + ")*";
}

Problems subdomain_problems(std::string_view text, const char* unit) {
  Problems out;
  if (text.size() > kDnsSubdomainMax) out.push_back(too_long(kDnsSubdomainMax, unit));
  if (!subdomain_shape(text)) {
    out.push_back(
        regex_error("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
                    "and must start and end with an alphanumeric character",
                    subdomain_regex(), {"example.com"}));
  }
  return out;
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
  if (text.size() > kDnsLabelMax) out.push_back(too_long(kDnsLabelMax, "characters"));
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
  return subdomain_problems(text, "characters");
}

Problems dns1035_label_problems(std::string_view text) {
  Problems out;
  if (text.size() > kDnsLabelMax) out.push_back(too_long(kDnsLabelMax, "characters"));
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
    out.push_back("a valid label key " + regex_error(kCharacters, kQualifiedRegex, kExamples) +
                  " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
    return out;
  }
  if (parts.size() == 2) {
    if (parts[0].empty()) {
      out.push_back("prefix part must be non-empty");
    } else {
      for (const auto& p : subdomain_problems(parts[0], "bytes")) out.push_back("prefix part " + p);
    }
  }
  const std::string& name = parts.back();
  if (name.empty()) {
    out.push_back("name part must be non-empty");
  } else if (name.size() > kLabelMax) {
    out.push_back("name part " + too_long(kLabelMax, "bytes"));
  }
  if (!qualified_shape(name)) out.push_back("name part " + regex_error(kCharacters, kQualifiedRegex, kExamples));
  return out;
}

Problems label_value_problems(std::string_view text) {
  Problems out;
  if (text.size() > kLabelMax) out.push_back(too_long(kLabelMax, "bytes"));
  if (!text.empty() && !qualified_shape(text)) {
    out.push_back(
        regex_error("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' "
                    "or '.', and must start and end with an alphanumeric character",
                    "(" + std::string(kQualifiedRegex) + ")?", {"MyValue", "my_value", "12345"}));
  }
  return out;
}

}  // namespace dra::api
