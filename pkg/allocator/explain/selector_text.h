// Reads parts of a selector's text: what people wrote, for hints about it. It does not parse CEL, so it may find
// nothing. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dra::allocator {

std::string_view skip_blanks(std::string_view text);
// A quoted text at the front, without its quotes; `text` becomes what follows it.
std::optional<std::string> take_quoted(std::string_view& text);
// Letters, digits and '_' at the front; `text` becomes what follows them.
std::optional<std::string> take_name(std::string_view& text);

struct NamedValue {
  std::string name;        // "domain/name"
  std::string_view after;  // what follows it in the text
};
// What `device.attributes["domain"].name` and `["domain"]["name"]` name, in order; `what` is "attributes" or
// "capacity".
std::vector<NamedValue> values_named(std::string_view text, std::string_view what);

}  // namespace dra::allocator
