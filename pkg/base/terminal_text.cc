#include "pkg/base/terminal_text.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "pkg/base/utf8.h"

namespace dra {
namespace {

struct Range {
  uint32_t first, last;
};
#include "pkg/base/text_widths.inc"

constexpr size_t kMarksOfOneCharacter = 4;

bool is_in(const Range* begin, const Range* end, uint32_t code) {
  const Range* found = std::lower_bound(begin, end, code, [](const Range& one, uint32_t c) { return one.last < c; });
  return found != end && found->first <= code;
}

uint32_t code_point(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])); };
  switch (bytes.size()) {
    case 1:
      return byte(0);
    case 2:
      return (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f);
    case 3:
      return (byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    default:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
  }
}

bool turns_or_breaks(uint32_t code) {
  return code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

void append_hex(std::string& out, const char* sign, uint32_t value, int digits) {
  out += sign;
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out += "0123456789abcdef"[value >> shift & 15];
}

bool is_plain_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

}  // namespace

std::string visible_text(std::string_view text) {
  if (is_plain_ascii(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0) {
      append_hex(out, "\\x", byte, 2);
      ++at;
      continue;
    }
    const uint32_t code = code_point(text.substr(at, length));
    if ((code < 0x20 && code != '\n') || code == 0x7f)
      append_hex(out, "\\x", code, 2);
    else if ((code >= 0x80 && code < 0xa0) || turns_or_breaks(code))
      append_hex(out, "\\u", code, 4);
    else
      out.append(text.substr(at, length));
    at += length;
  }
  return out;
}

size_t columns_of_code_point(uint32_t code) {
  if (code < 0xa0) return 1;
  if (is_in(std::begin(kZero), std::end(kZero), code)) return 0;
  return is_in(std::begin(kWide), std::end(kWide), code) ? 2 : 1;
}

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    columns += length <= 1 ? 1 : columns_of_code_point(code_point(text.substr(at, length)));
    at += std::max<size_t>(length, 1);
  }
  return columns;
}

std::string cut_to_columns(std::string_view text, size_t columns) {
  std::string out;
  size_t taken = 0, marks = 0;
  size_t fits_with_sign = 0;  // bytes of `out` that leave a column for the sign
  for (size_t at = 0; at < text.size();) {
    const size_t length = std::max<size_t>(utf8_length(text, at), 1);
    const std::string_view piece = text.substr(at, length);
    const size_t width = length == 1 ? 1 : columns_of_code_point(code_point(piece));
    if (taken + width > columns) {
      out.resize(fits_with_sign);
      if (columns > 0) out += '~';
      return out;
    }
    marks = width == 0 ? marks + 1 : 0;
    if (marks <= kMarksOfOneCharacter) out.append(piece);
    taken += width;
    if (taken < columns) fits_with_sign = out.size();
    at += length;
  }
  return out;
}

std::string without_columns(std::string_view text, size_t columns) {
  size_t at = 0, gone = 0;
  while (at < text.size()) {
    const size_t length = std::max<size_t>(utf8_length(text, at), 1);
    const size_t width = length == 1 ? 1 : columns_of_code_point(code_point(text.substr(at, length)));
    if (gone >= columns && !(gone == columns && width == 0 && columns > 0)) break;
    gone += width;
    at += length;
  }
  return std::string(gone > columns ? gone - columns : 0, ' ').append(text.substr(at));
}

}  // namespace dra
