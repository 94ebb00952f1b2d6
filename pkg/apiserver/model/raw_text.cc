#include "pkg/apiserver/model/raw_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/model/schema.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr std::string_view kJsonSpace = " \t\r\n";

std::string printed_form(const Json& value) {
  return go_compact_json(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Walks JSON text along a schema. It recurses only as deep as the document, which parse_json() bounds; parts outside
// the schema are skipped without recursion. Stops at the end of the text, whatever it contains.
class RawTextScanner {
 public:
  explicit RawTextScanner(std::string_view text) : text_(text) {}

  void object(const ObjectType& type, const std::string& pointer) {
    if (!enter('{')) return;
    while (!leave('}')) {
      skip_space();
      const std::string_view quoted = skip_value();
      const Json name = Json::parse(quoted, nullptr, false);
      skip_space();
      take(':');
      const Field* field = name.is_string() ? type.find(name.get_ref<const std::string&>()) : nullptr;
      if (field == nullptr) {
        skip_value();
      } else {
        value(field->value, pointer + "/" + field->name);
      }
    }
  }

  RawTexts found;

 private:
  void value(const ValueType& type, const std::string& pointer) {
    skip_space();
    if (type.type == FieldType::kRaw) {
      const std::string_view text = skip_value();
      const Json parsed = Json::parse(text, nullptr, false);
      if (!parsed.is_null() && !parsed.is_discarded() && text != printed_form(parsed)) found[pointer] = text;
    } else if (type.type == FieldType::kObject && peek() == '{') {
      object(*type.object, pointer);
    } else if (type.type == FieldType::kList && peek() == '[') {
      enter('[');
      for (size_t i = 0; !leave(']'); ++i) value(*type.element, pointer + "/" + std::to_string(i));
    } else {
      skip_value();
    }
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void skip_space() { at_ = std::min(text_.find_first_not_of(kJsonSpace, at_), text_.size()); }
  bool enter(char c) {
    skip_space();
    return take(c);
  }
  // True at the end of a list or object; else moves past the comma before its next element.
  bool leave(char close) {
    skip_space();
    if (at_ >= text_.size() || take(close)) return true;
    take(',');
    return false;
  }

  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  std::string_view skip_value() {
    skip_space();
    const size_t start = at_;
    int depth = 0;
    do {
      const char c = peek();
      if (c == '"') {
        skip_string();
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at_;
      } else if (depth > 0) {
        ++at_;
      } else {
        at_ = std::min(text_.find_first_of(" \t\r\n,]}", at_ + 1), text_.size());
      }
    } while (depth > 0 && at_ < text_.size());
    at_ = std::min(at_, text_.size());
    return text_.substr(std::min(start, text_.size()), at_ - std::min(start, at_));
  }

  std::string_view text_;
  size_t at_ = 0;
};

bool for_status(const std::string& pointer) {
  return pointer.starts_with("/status/");
}

// "/spec/config/0/opaque" as field errors write it: spec.config[0].opaque.
std::string field_of_pointer(const std::string& pointer) {
  std::string out;
  for (const auto& part : split(std::string_view(pointer).substr(1), '/')) {
    if (part.find_first_not_of("0123456789") == std::string::npos) {
      out += "[" + std::string(part) + "]";
    } else {
      out += (out.empty() ? "" : ".") + std::string(part);
    }
  }
  return out;
}

}  // namespace

std::string go_compact_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const std::string_view rest = text.substr(i);
    if (c == '<' || c == '>' || c == '&') {
      out += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
    } else if (rest.starts_with("\xe2\x80\xa8") || rest.starts_with("\xe2\x80\xa9")) {
      out += rest[2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (in_string && c == '\\') {
      out += rest.substr(0, 2);
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
      out += c;
    } else if (in_string || kJsonSpace.find(c) == std::string_view::npos) {
      out += c;
    }
  }
  return out;
}

RawTexts raw_texts_of(const ObjectType& type, std::string_view text) {
  RawTextScanner scanner(text);
  scanner.object(type, "");
  return std::move(scanner.found);
}

RawTexts raw_texts_after_patch(const RawTexts& before, const Json& old, const Json& patched) {
  RawTexts out;
  for (const auto& [pointer, text] : before) {
    const Json::json_pointer at(pointer);
    if (!old.contains(at) || !patched.contains(at) || old.at(at) != patched.at(at)) continue;
    std::string compact = go_compact_json(text);
    if (compact != printed_form(old.at(at))) out[pointer] = std::move(compact);
  }
  return out;
}

RawTexts raw_texts_after_write(RawTexts sent, const RawTexts& old, bool status_write) {
  std::erase_if(sent, [&](const auto& entry) { return for_status(entry.first) != status_write; });
  for (const auto& entry : old) {
    if (for_status(entry.first) != status_write) sent.insert(entry);
  }
  return sent;
}

void check_raw_sizes(FieldErrors& found, const RawTexts& texts, const RawTexts& old) {
  for (const auto& [pointer, text] : texts) {
    const auto before = old.find(pointer);
    if (text.size() <= kMaxOpaqueBytes || (before != old.end() && before->second == text)) continue;
    const std::string field = field_of_pointer(pointer);
    if (std::any_of(found.begin(), found.end(), [&](const FieldError& e) { return e.field == field; })) continue;
    found.push_back(too_long(FieldPath(field), static_cast<int64_t>(kMaxOpaqueBytes)));
  }
}

}  // namespace dra::apiserver
