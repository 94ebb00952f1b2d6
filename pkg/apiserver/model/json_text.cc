#include "pkg/apiserver/model/json_text.h"

#include <nlohmann/json.hpp>

#include "pkg/api/decode/json_repair.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMaxDuplicateBytes = size_t{4} * 1024 * 1024;
constexpr size_t kMaxMemberBytes = size_t{64} * 1024 * 1024;

// Builds the document and records duplicate keys and, if asked, every member's path.
class DocumentBuilder : public nlohmann::json_sax<Json> {
 public:
  DocumentBuilder(Json& root, std::vector<std::string>& duplicates, std::vector<std::string>* members)
      : root_(root), duplicates_(duplicates), members_(members) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(number_integer_t v) override { return put(v); }
  bool number_unsigned(number_unsigned_t v) override {
    if (v <= static_cast<number_unsigned_t>(INT64_MAX)) return put(static_cast<number_integer_t>(v));
    return put(v);
  }
  bool number_float(number_float_t v, const string_t&) override { return put(v); }
  bool string(string_t& v) override { return put(std::move(v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& k) override {
    Frame& f = stack_.back();
    f.key = std::move(k);
    if (f.value->contains(f.key)) note(duplicates_, duplicate_bytes_, kMaxDuplicateBytes);
    if (members_ != nullptr) note(*members_, member_bytes_, kMaxMemberBytes);
    return true;
  }
  bool parse_error(std::size_t, const std::string& token, const nlohmann::detail::exception& ex) override {
    failed_token_ = token;
    message_ = ex.what();
    return false;
  }

  const std::string& message() const { return message_; }
  const std::string& failed_token() const { return failed_token_; }

 private:
  struct Frame {
    Json* value;
    std::string key;
  };

  // Many members below long keys would make gigabytes of paths; beyond the bound they are not recorded.
  void note(std::vector<std::string>& paths, size_t& bytes, size_t max_bytes) {
    if (bytes > max_bytes) return;
    paths.push_back(path());
    bytes += paths.back().size() + 1;
  }

  std::string path() const {
    std::string out;
    for (const Frame& f : stack_) {
      if (f.value->is_array()) {
        out += "[" + std::to_string(f.value->size() - 1) + "]";
      } else {
        if (!out.empty()) out += ".";
        out += f.key;
      }
    }
    return out;
  }

  Json* place(Json&& v) {
    if (stack_.empty()) {
      root_ = std::move(v);
      return &root_;
    }
    Frame& f = stack_.back();
    if (f.value->is_array()) {
      f.value->push_back(std::move(v));
      return &f.value->back();
    }
    Json& slot = (*f.value)[f.key];
    slot = std::move(v);
    return &slot;
  }

  template <typename T>
  bool put(T&& v) {
    place(Json(std::forward<T>(v)));
    return true;
  }

  bool open(Json&& v) {
    if (stack_.size() >= static_cast<size_t>(kMaxJsonDepth)) {
      message_ = "exceeded max depth";
      return false;
    }
    stack_.push_back({place(std::move(v)), ""});
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  Json& root_;
  std::vector<std::string>& duplicates_;
  std::vector<std::string>* members_;
  std::vector<Frame> stack_;
  size_t duplicate_bytes_ = 0;
  size_t member_bytes_ = 0;
  std::string message_;
  std::string failed_token_;
};

// encoding/json's message for the error: the end of the text, or the first character that does not fit.
std::string go_parse_error(std::string_view text, const DocumentBuilder& builder) {
  if (builder.message() == "exceeded max depth") return builder.message();
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return "unexpected end of JSON input";
  if (builder.message().find("unexpected end of input") != std::string::npos ||
      builder.message().find("missing closing quote") != std::string::npos) {
    return "unexpected end of JSON input";
  }
  const std::string& token = builder.failed_token();
  const std::string last = token.empty() ? "?" : token.substr(token.size() - 1);
  return "invalid character '" + last + "' looking for beginning of value";
}

}  // namespace

bool parse_json(std::string_view text, Json& out, std::vector<std::string>& duplicate_paths, std::string& error) {
  if (text.starts_with("\xEF\xBB\xBF")) {  // this parser would skip a byte order mark
    error = "invalid character '\u00ef' looking for beginning of value";
    return false;
  }
  DocumentBuilder builder(out, duplicate_paths, nullptr);
  if (Json::sax_parse(text.begin(), text.end(), &builder)) return true;
  error = go_parse_error(text, builder);
  // Go reads what is not UTF-8, and halves of surrogate pairs, as U+FFFD.
  const std::string repaired = api::detail::with_valid_strings(text);
  if (repaired == text) return false;
  out = Json();
  duplicate_paths.clear();
  DocumentBuilder again(out, duplicate_paths, nullptr);
  if (Json::sax_parse(repaired.begin(), repaired.end(), &again)) return true;
  error = go_parse_error(repaired, again);
  return false;
}

std::string compact_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string document_text(const Json& document) {
  const auto meta = document.find("metadata");
  if (meta == document.end()) return compact_text(document);
  std::string out = "{\"metadata\":" + compact_text(*meta);
  for (auto it = document.begin(); it != document.end(); ++it) {
    if (it == meta) continue;
    out += "," + compact_text(it.key()) + ":" + compact_text(*it);
  }
  return out + "}";
}

std::vector<std::string> member_paths(std::string_view text) {
  Json ignored;
  std::vector<std::string> duplicates;
  std::vector<std::string> members;
  DocumentBuilder builder(ignored, duplicates, &members);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) members.clear();
  return members;
}

}  // namespace dra::apiserver
