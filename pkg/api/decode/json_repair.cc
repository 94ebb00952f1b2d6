#include "pkg/api/decode/json_repair.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "pkg/base/utf8.h"

namespace dra::api::detail {
namespace {

// Copies one character, or the replacement for a byte that is not one; returns how many bytes to advance.
size_t copy_character(std::string_view text, size_t at, std::string& out) {
  const size_t length = utf8_length(text, at);
  if (length == 0) {
    out += "\xEF\xBF\xBD";
    return 1;
  }
  out.append(text, at, length);
  return length;
}

// The code unit of a "\uXXXX" at `at`, -1 when there is none.
int escaped_unit(std::string_view text, size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return -1;
  int unit = 0;
  const char* begin = text.data() + at + 2;
  const auto [end, error] = std::from_chars(begin, begin + 4, unit, 16);
  return error == std::errc() && end == begin + 4 && *begin != '-' ? unit : -1;
}

size_t copy_escape(std::string_view text, size_t at, std::string& out) {
  const int unit = escaped_unit(text, at);
  if (unit < 0xD800 || unit > 0xDFFF) {
    out.append(text, at, 2);
    return 2;
  }
  const int next = escaped_unit(text, at + 6);
  if (unit <= 0xDBFF && next >= 0xDC00 && next <= 0xDFFF) {
    out.append(text, at, 12);
    return 12;
  }
  out += "\\ufffd";
  return 6;
}

size_t copy_string(std::string_view text, size_t at, std::string& out) {
  out += text[at++];
  while (at < text.size() && text[at] != '"')
    at += text[at] == '\\' ? copy_escape(text, at, out) : copy_character(text, at, out);
  if (at < text.size()) out += text[at++];
  return at;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The grammar of RFC 8259.
bool is_number(std::string_view token) {
  size_t at = 0;
  const auto digits = [&] {
    const size_t begin = at;
    while (at < token.size() && is_digit(token[at])) ++at;
    return at - begin;
  };
  if (at < token.size() && token[at] == '-') ++at;
  const bool zero = at < token.size() && token[at] == '0';
  const size_t whole = digits();
  if (whole == 0 || (zero && whole > 1)) return false;
  if (at < token.size() && token[at] == '.') {
    ++at;
    if (digits() == 0) return false;
  }
  if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
    ++at;
    if (at < token.size() && (token[at] == '+' || token[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == token.size();
}

template <class T>
bool fits(std::string_view token) {
  T value{};
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  return error == std::errc() && end == token.data() + token.size();
}

bool fits_some_number(std::string_view token) {
  const bool integral = token.find_first_of(".eE") == std::string_view::npos;
  return integral ? fits<int64_t>(token) || fits<uint64_t>(token) : fits<double>(token);
}

size_t copy_number(std::string_view text, size_t at, std::string_view tag, std::string& out) {
  const size_t end = std::min(text.find_first_not_of("0123456789+-.eE", at), text.size());
  const std::string_view token = text.substr(at, end - at);
  if (fits_some_number(token) || !is_number(token)) {
    out += token;
  } else {
    ((out += '"') += tag) += token;
    out += '"';
  }
  return end;
}

}  // namespace

std::string with_plain_values(std::string_view text, std::string_view tag) {
  std::string out;
  out.reserve(text.size() + 64);
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = copy_string(text, at, out);
    } else if (c == '-' || is_digit(c)) {
      at = copy_number(text, at, tag, out);
    } else {
      out += c;
      ++at;
    }
  }
  return out;
}

std::string with_valid_strings(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 64);
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"')
      at = copy_string(text, at, out);
    else
      out += text[at++];
  }
  return out;
}

std::string with_numbers_back(std::string text, std::string_view tag) {
  const std::string begin = "\"" + std::string(tag);
  size_t at = text.find(begin);
  if (at == std::string::npos) return text;
  std::string out;
  size_t copied = 0;
  for (; at != std::string::npos; at = text.find(begin, copied)) {
    out.append(text, copied, at - copied);
    const size_t first = at + begin.size();
    const size_t end = std::min(text.find('"', first), text.size());
    out.append(text, first, end - first);
    copied = std::min(end + 1, text.size());
  }
  return out.append(text, copied);
}

}  // namespace dra::api::detail
