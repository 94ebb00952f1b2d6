// Repairs JSON that an API server passes on but a strict parser refuses: Go's encoding/json checks only the
// grammar of opaque parameters. Internal to pkg/api and the client's wire format. Pure; one pass; safe on any
// bytes.
#pragma once

#include <string>
#include <string_view>

namespace dra::api::detail {

// Bytes that are not UTF-8 become U+FFFD, as in Go's decoder; halves of surrogate pairs (\ud800 alone) become
// \ufffd, as in Go; numbers that neither an int64, a uint64 nor a finite double can hold become the string `tag` +
// digits.
std::string with_plain_values(std::string_view text, std::string_view tag);

// Only the strings of that: for readers that can hold every number.
std::string with_valid_strings(std::string_view text);

// Undoes the replacement of numbers: "<tag>123" becomes 123.
std::string with_numbers_back(std::string text, std::string_view tag);

}  // namespace dra::api::detail
