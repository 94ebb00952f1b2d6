// Which characters may be in names of field managers, by the rules of Go's unicode.IsPrint.
#pragma once

#include <string>
#include <string_view>

namespace dra::apiserver {

inline constexpr size_t kMaxManagerBytes = 128;

// "invalid character U+0007 (at position 3)" for the first character of valid UTF-8 that is not printable; else empty.
std::string unprintable_text(std::string_view text);

// The manager's name if the request gives none: its User-Agent up to the first "/", printable characters only, cut
// between characters; "unknown" if nothing is left.
std::string manager_of_user_agent(std::string_view agent);

}  // namespace dra::apiserver
