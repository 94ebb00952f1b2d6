#include "client/transport/target.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace dra::client {

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_plain_byte(unsigned char c) {
  return c > 0x20 && c < 0x7f;
}

// Of bytes that are plain.
std::string segment_problem(std::string_view segment) {
  if (segment.find('%') == std::string_view::npos && !segment.starts_with('.') && !segment.empty()) return "";
  std::string decoded;
  for (size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] != '%') {
      decoded += segment[i];
      continue;
    }
    const int high = i + 2 < segment.size() ? hex_value(segment[i + 1]) : -1;
    const int low = high < 0 ? -1 : hex_value(segment[i + 2]);
    if (low < 0) return "a broken percent-encoding";
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (decoded.empty()) return "an empty name";
  if (decoded == "." || decoded == "..") return "the name " + quote(decoded);
  if (decoded.find('/') != std::string::npos) return "a slash in a name";
  if (decoded.find('%') != std::string::npos) return "a percent sign in a name";
  const bool control = std::any_of(decoded.begin(), decoded.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
  return control ? "a control byte in a name" : "";
}

}  // namespace

std::string target_problem(std::string_view target) {
  if (!target.starts_with('/')) return "a path that does not begin with a slash";
  if (!std::all_of(target.begin(), target.end(), [](char c) { return is_plain_byte(static_cast<unsigned char>(c)); }))
    return "a byte that must be percent-encoded";
  if (target.find('#') != std::string_view::npos) return "a fragment";
  std::string_view path = target.substr(0, target.find('?')).substr(1);
  if (path.empty()) return "";  // the root
  while (true) {
    const size_t slash = path.find('/');
    if (std::string problem = segment_problem(path.substr(0, slash)); !problem.empty()) return problem;
    if (slash == std::string_view::npos) return "";
    path.remove_prefix(slash + 1);
  }
}

std::string_view target_namespace(std::string_view target) {
  constexpr std::string_view kNamespaces = "/namespaces/";
  target = target.substr(0, target.find('?'));
  const size_t at = target.find(kNamespaces);
  if (at == std::string_view::npos) return "";
  target.remove_prefix(at + kNamespaces.size());
  return target.substr(0, target.find('/'));
}

}  // namespace dra::client
