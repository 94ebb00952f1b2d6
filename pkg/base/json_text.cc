#include "pkg/base/json_text.h"

#include <algorithm>
#include <charconv>

#include "pkg/base/utf8.h"

namespace dra {
namespace {

struct IsPlain {
  bool operator()(char c) const { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }
};

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (static_cast<unsigned char>(c) >= ' ') return void(out += c);
  constexpr char kDigits[] = "0123456789abcdef";
  out += "\\u00";
  out += kDigits[c >> 4];
  out += kDigits[c & 0xF];
}

}  // namespace

void JsonText::separate() {
  if (separator_) text_ += ',';
  separator_ = true;
}

void JsonText::open(char bracket) {
  separate();
  text_ += bracket;
  separator_ = false;
}

void JsonText::close(char bracket) {
  text_ += bracket;
  separator_ = true;
}

void JsonText::quoted(std::string_view text) {
  text_ += '"';
  if (std::all_of(text.begin(), text.end(), IsPlain())) {
    text_ += text;
  } else if (is_valid_utf8(text)) {
    for (const char c : text) append_escaped(text_, c);
  } else {
    for (const char c : valid_utf8(text)) append_escaped(text_, c);
  }
  text_ += '"';
}

void JsonText::key(std::string_view name) {
  separate();
  quoted(name);
  text_ += ':';
  separator_ = false;
}

void JsonText::value(std::string_view text) {
  separate();
  quoted(text);
}

void JsonText::value(bool truth) {
  raw(truth ? "true" : "false");
}

void JsonText::null() {
  raw("null");
}

void JsonText::raw(std::string_view json) {
  separate();
  text_ += json;
}

void JsonText::number_text(int64_t number) {
  separate();
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  text_.append(digits, end);
}

}  // namespace dra
