#include "pkg/inventory/value_code.h"

#include <cstring>

#include "pkg/base/strings.h"

namespace dra::inventory {
namespace {

std::string code_of(int64_t v) {
  std::string code(9, 'i');
  std::memcpy(code.data() + 1, &v, 8);
  return code;
}
std::string code_of(bool v) {
  return v ? "b1" : "b0";
}
std::string code_of(const std::string& v) {
  return "s" + v;
}
std::string code_of(const api::VersionText& v) {
  return "v" + v.text;
}

void append_element(std::string& list, const std::string& element) {
  const auto size = static_cast<uint32_t>(element.size());
  list.append(reinterpret_cast<const char*>(&size), 4);
  list += element;
}

template <class T>
std::string code_of(const std::vector<T>& list) {
  std::string code = "l";
  for (const T& item : list) append_element(code, code_of(item));
  return code;
}

int64_t int_of(std::string_view code) {
  int64_t v = 0;
  std::memcpy(&v, code.data() + 1, 8);
  return v;
}

}  // namespace

std::string encode_value(const api::DeviceAttribute& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>) {
          return "?";
        } else {
          return code_of(v);
        }
      },
      value);
}

std::string encode_list(const std::vector<std::string>& elements) {
  std::string code = "l";
  for (const std::string& element : elements) append_element(code, element);
  return code;
}

std::vector<std::string_view> value_elements(std::string_view code) {
  if (code.empty() || code[0] == '?') return {};
  if (code[0] != 'l') return {code};
  std::vector<std::string_view> elements;
  for (size_t at = 1; at + 4 <= code.size();) {
    uint32_t size = 0;
    std::memcpy(&size, code.data() + at, 4);
    elements.push_back(code.substr(at + 4, size));
    at += 4 + size;
  }
  return elements;
}

api::DeviceAttribute decode_value(std::string_view code) {
  if (code.empty()) return {};
  std::string text(code.substr(1));
  switch (code[0]) {
    case 'i':
      return int_of(code);
    case 'b':
      return text == "1";
    case 's':
      return text;
    case 'v':
      return api::VersionText{text};
    case 'l':
      break;
    default:
      return {};
  }
  std::vector<std::string_view> elements = value_elements(code);
  char kind = elements.empty() ? 's' : elements[0][0];
  if (kind == 'i') {
    std::vector<int64_t> list;
    for (std::string_view e : elements) list.push_back(int_of(e));
    return list;
  }
  if (kind == 'b') {
    std::vector<bool> list;
    for (std::string_view e : elements) list.push_back(e == "b1");
    return list;
  }
  if (kind == 'v') {
    std::vector<api::VersionText> list;
    for (std::string_view e : elements) list.push_back({std::string(e.substr(1))});
    return list;
  }
  std::vector<std::string> list;
  for (std::string_view e : elements) list.emplace_back(e.substr(1));
  return list;
}

std::string value_text(std::string_view code) {
  if (code.empty() || code[0] == '?') return "nothing";
  if (code[0] == 'i') return std::to_string(int_of(code));
  if (code[0] == 'b') return code == "b1" ? "true" : "false";
  if (code[0] != 'l') return quote(code.substr(1));
  std::string text;
  for (std::string_view e : value_elements(code)) text += (text.empty() ? "" : ", ") + value_text(e);
  return "[" + text + "]";
}

}  // namespace dra::inventory
