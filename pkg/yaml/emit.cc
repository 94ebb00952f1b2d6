#include <nlohmann/json.hpp>

#include "pkg/yaml/scalar.h"
#include "pkg/yaml/yaml.h"

namespace dra::yaml {
namespace {

using Json = nlohmann::json;

bool can_be_plain(const std::string& text) {
  Json resolved;
  if (text.empty() || !resolve_plain(text, resolved) || !resolved.is_string()) return false;
  constexpr std::string_view kIndicators = "-?:,[]{}#&*!|>'\"%@` ";
  if (kIndicators.find(text.front()) != std::string_view::npos || text.back() == ' ' || text.back() == ':')
    return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return false;
    if (c == '#' && i > 0 && text[i - 1] == ' ') return false;
    if (c == ':' && i + 1 < text.size() && text[i + 1] == ' ') return false;
  }
  return text != "<<" && text != "---" && text != "...";
}

std::string scalar_text(const Json& value) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  return can_be_plain(text) ? text : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void emit_value(const Json& value, size_t indent, std::string& out);

// The value behind "key:" or "-": on the same line when it is a scalar or empty.
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
