// Small string helpers used everywhere. All are pure and safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dra {

// "a,b,c" -> {"a","b","c"}; an empty text yields one empty part.
std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
// At most so many parts: "a, b and 3 more".
std::string join_some(const std::vector<std::string>& parts, size_t most);
std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);
// Go's %q: double quotes with escapes, as in API server messages.
std::string quote(std::string_view text);
// Standard base64 with padding.
std::string base64_encode(std::string_view bytes);
// False if the text is not standard base64 (white space is skipped, as in PEM data).
bool base64_decode(std::string_view text, std::string& out);

// Transparent hashing, so that maps keyed by std::string can be searched with a string_view.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

}  // namespace dra
