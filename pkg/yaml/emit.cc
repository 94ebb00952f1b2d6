#include <cstdio>
#include <nlohmann/json.hpp>

#include "pkg/yaml/scalar.h"
#include "pkg/yaml/yaml.h"

namespace dra::yaml {
namespace {

using Json = nlohmann::json;

// The length in bytes of the character at `at` if YAML treats it as a line break or forbids it while JSON writes it
// verbatim; otherwise 0.
size_t special_at(std::string_view text, size_t at, unsigned& code) {
  const auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U; };
  if (byte(0) == 0x7f) {
    code = 0x7f;
    return 1;
  }
  if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) <= 0x9f) {
    code = byte(1);
    return 2;
  }
  if (byte(0) != 0xe2 && byte(0) != 0xef) return 0;
  code = ((byte(0) & 0xfU) << 12) | ((byte(1) & 0x3fU) << 6) | (byte(2) & 0x3fU);
  return code == 0x2028 || code == 0x2029 || code == 0xfeff || code == 0xfffe || code == 0xffff ? 3 : 0;
}

std::string quoted(const std::string& text) {
  const std::string json = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  for (size_t i = 0; i < json.size();) {
    unsigned code = 0;
    const size_t width = special_at(json, i, code);
    if (width == 0) {
      out += json[i++];
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", code);
    out += escape;
    i += width;
  }
  return out;
}

// Readers of YAML 1.1 take it for a number to the base 60: "01:00.0", a PCI address, would be 60.0 to them.
bool is_base_60(std::string_view text) {
  const auto digit = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  size_t at = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  if (!digit(at)) return false;
  while (digit(at) || (at < text.size() && text[at] == '_')) ++at;
  size_t parts = 0;
  for (; at < text.size() && text[at] == ':' && digit(at + 1); ++parts) {
    if (digit(at + 2) && text[at + 1] > '5') return false;
    at += digit(at + 2) ? 3 : 2;
  }
  if (at < text.size() && text[at] == '.') ++at;
  while (digit(at) || (at < text.size() && text[at] == '_')) ++at;
  return parts > 0 && at == text.size();
}

bool can_be_plain(const std::string& text) {
  Json resolved;
  if (text.empty() || !resolve_plain(text, resolved) || !resolved.is_string() || is_base_60(text)) return false;
  constexpr std::string_view kIndicators = "-?:,[]{}#&*!|>'\"%@` ";
  if (kIndicators.find(text.front()) != std::string_view::npos || text.back() == ' ' || text.back() == ':')
    return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    unsigned code = 0;
    if (c < 0x20 || special_at(text, i, code) > 0) return false;
    if (c == '#' && i > 0 && text[i - 1] == ' ') return false;
    if (c == ':' && i + 1 < text.size() && text[i + 1] == ' ') return false;
  }
  return text != "<<" && !text.starts_with("...");  // "... " at the start of a line ends the document
}

std::string scalar_text(const Json& value) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  return can_be_plain(text) ? text : quoted(text);
}

void emit_value(const Json& value, size_t indent, std::string& out);

// The value after "key:" or "-": on the same line if it is a scalar or empty.
void emit_nested(const Json& value, size_t indent, bool in_list, std::string& out) {
  if (!value.is_structured() || value.empty()) {
    out += " " + (value.is_structured() ? value.dump() : scalar_text(value)) + "\n";
  } else if (in_list) {
    // "- key: value": the first line continues the dash's line.
    std::string block;
    emit_value(value, indent, block);
    out += " " + block.substr(indent);
  } else {
    out += "\n";
    emit_value(value, indent, out);
  }
}

void emit_value(const Json& value, size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, item] : value.items()) {
      out += margin + scalar_text(key) + ":";
      emit_nested(item, item.is_array() ? indent : indent + 2, false, out);
    }
  } else if (value.is_array() && !value.empty()) {
    for (const Json& item : value) {
      out += margin + "-";
      emit_nested(item, indent + 2, true, out);
    }
  } else {
    out += margin + (value.is_structured() ? value.dump() : scalar_text(value)) + "\n";
  }
}

}  // namespace

std::string emit(const Json& value) {
  std::string out;
  emit_value(value, 0, out);
  return out;
}

}  // namespace dra::yaml
