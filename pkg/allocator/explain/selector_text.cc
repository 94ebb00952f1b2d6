#include "pkg/allocator/explain/selector_text.h"

#include <cctype>

namespace dra::allocator {

std::string_view skip_blanks(std::string_view text) {
  const size_t at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

std::optional<std::string> take_quoted(std::string_view& text) {
  text = skip_blanks(text);
  if (text.empty() || (text[0] != '"' && text[0] != '\'')) return std::nullopt;
  const size_t end = text.find(text[0], 1);
  if (end == std::string_view::npos) return std::nullopt;
  std::string quoted(text.substr(1, end - 1));
  text.remove_prefix(end + 1);
  return quoted;
}

std::optional<std::string> take_name(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
  if (end == 0) return std::nullopt;
  std::string name(text.substr(0, end));
  text.remove_prefix(end);
  return name;
}

std::vector<NamedValue> values_named(std::string_view text, std::string_view what) {
  const std::string start = "device." + std::string(what);
  std::vector<NamedValue> named;
  for (size_t at = text.find(start); at != std::string_view::npos; at = text.find(start, at + 1)) {
    std::string_view rest = skip_blanks(text.substr(at + start.size()));
    if (!rest.starts_with("[")) continue;
    rest.remove_prefix(1);
    const std::optional<std::string> domain = take_quoted(rest);
    rest = skip_blanks(rest);
    if (!domain || !rest.starts_with("]")) continue;
    rest = skip_blanks(rest.substr(1));
    if (rest.empty() || (rest[0] != '.' && rest[0] != '[')) continue;
    const bool dotted = rest[0] == '.';
    rest.remove_prefix(1);
    const std::optional<std::string> name = dotted ? take_name(rest) : take_quoted(rest);
    if (!name) continue;
    if (!dotted) {
      rest = skip_blanks(rest);
      if (!rest.starts_with("]")) continue;
      rest.remove_prefix(1);
    }
    named.push_back({*domain + "/" + *name, rest});
  }
  return named;
}

}  // namespace dra::allocator
