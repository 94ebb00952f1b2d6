// Text of others on a terminal: controls made visible, columns counted, lines cut.
//
//   std::string line = cut_to_columns(visible_text(pod.name), 40);
//
// A terminal obeys control characters, and marks of direction let a text look like another one. Both are spelled out
// here: "\x1b", "\u009b", "\u202e". Columns are those of a terminal that follows Unicode's East Asian Width (UAX #11),
// ambiguous characters narrow; sequences that a terminal joins to one sign (emoji with U+200D) count as their parts.
// All functions are pure and safe from any thread; their time is linear in the text that they read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dra {

// Spells out what is not for a terminal: C0 but the newline, DEL, C1, marks of direction (U+061C, U+200E, U+200F,
// U+202A to U+202E, U+2066 to U+2069), the separators of lines and paragraphs (U+2028, U+2029), and bytes that are not
// UTF-8.
std::string visible_text(std::string_view text);

// Columns that a code point takes: 0 (combining, joiners), 1 or 2.
size_t columns_of_code_point(uint32_t code);
// Columns of a text; a byte that is not UTF-8 counts as one.
size_t columns_of(std::string_view text);

// The longest beginning that takes at most `columns` columns; a text that is cut ends with '~', within the columns. A
// wide character is never halved, and of the marks on one character four at most are kept, so the result has at most
// 20 bytes a column.
std::string cut_to_columns(std::string_view text, size_t columns);

// The text without its first `columns` columns; a wide character that would be halved leaves a blank.
std::string without_columns(std::string_view text, size_t columns);

}  // namespace dra
