// JSON patches (RFC 6902) by the rules of github.com/evanphx/json-patch, with bounds on the cost of a patch.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "pkg/apiserver/model/json_text.h"
#include "pkg/apiserver/patch/patch.h"

namespace dra::apiserver {

namespace {

// Limit of all values that one patch's "copy" operations copy, as JSON text (upstream's AccumulatedCopySizeLimit).
constexpr size_t kMaxCopiedBytes = size_t{3} * 1024 * 1024;
// Limit of values visited and list items shifted per patch: 10,000 operations on a large document would take minutes.
constexpr size_t kMaxPatchSteps = 20'000'000;

// One patch in progress. Each operation returns false if it fails; the document is then unusable. The document never
// nests deeper than kMaxJsonDepth, so copying and printing it may recurse.
class JsonPatcher {
 public:
  explicit JsonPatcher(Json document) : document_(std::move(document)) {}

  bool run(const Json& operation) {
    if (!operation.is_object()) return false;
    const Json* op = text_member(operation, "op");
    const Json* path_text = text_member(operation, "path");
    if (op == nullptr || path_text == nullptr) return false;
    const Json::json_pointer path(path_text->get_ref<const std::string&>());
    if (*op == "remove") return take(path).has_value();
    if (*op == "add" || *op == "replace" || *op == "test") {
      const auto value = operation.find("value");
      if (value == operation.end()) return false;
      if (*op == "test") return document_.contains(path) && document_.at(path) == *value;
      return *op == "add" ? add(path, *value) : replace(path, *value);
    }
    if (*op != "copy" && *op != "move") return false;
    const Json* from = text_member(operation, "from");
    if (from == nullptr) return false;
    const Json::json_pointer source(from->get_ref<const std::string&>());
    if (*op == "copy") return copy(source, path);
    auto value = take(source);
    return value && add(path, std::move(*value));
  }

  Json result() && { return std::move(document_); }

 private:
  static const Json* text_member(const Json& operation, const char* name) {
    const auto found = operation.find(name);
    return found != operation.end() && found->is_string() ? &*found : nullptr;
  }

  bool charge(size_t steps) {
    steps_ += steps;
    return steps_ <= kMaxPatchSteps;
  }

  // True if the value nests no deeper than `levels`.
  bool fits(const Json& value, size_t levels) {
    if (!charge(1)) return false;
    if (!value.is_structured()) return true;
    return levels > 0 && std::all_of(value.begin(), value.end(), [&](const Json& v) { return fits(v, levels - 1); });
  }

  static size_t levels_of(const Json::json_pointer& path) {
    const std::string text = path.to_string();
    return static_cast<size_t>(std::count(text.begin(), text.end(), '/'));
  }

  // The position in a list; `end` is the last one allowed.
  static bool list_index(const std::string& text, size_t end, size_t& out) {
    if (text.empty() || (text.size() > 1 && text[0] == '0')) return false;
    const auto [stop, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
    return ec == std::errc() && stop == text.data() + text.size() && out <= end;
  }

  bool add(const Json::json_pointer& path, Json value) {
    const size_t levels = levels_of(path);
    if (levels > kMaxJsonDepth || !fits(value, kMaxJsonDepth - levels)) return false;
    if (path.empty()) {
      document_ = std::move(value);
      return true;
    }
    Json& parent = document_.at(path.parent_pointer());
    if (parent.is_object()) {
      parent[path.back()] = std::move(value);
      return true;
    }
    if (!parent.is_array()) return false;
    size_t index = parent.size();
    if (path.back() != "-" && !list_index(path.back(), parent.size(), index)) return false;
    if (!charge(parent.size() - index)) return false;
    parent.insert(parent.begin() + static_cast<std::ptrdiff_t>(index), std::move(value));
    return true;
  }

  // Upstream's library lets "replace" create a member of an object.
  bool replace(const Json::json_pointer& path, const Json& value) {
    if (!path.empty() && document_.at(path.parent_pointer()).is_object()) return add(path, value);
    const size_t levels = levels_of(path);
    if (levels > kMaxJsonDepth || !fits(value, kMaxJsonDepth - levels)) return false;
    document_.at(path) = value;
    return true;
  }

  bool copy(const Json::json_pointer& source, const Json::json_pointer& path) {
    const Json& value = document_.at(source);
    copied_ += compact_text(value).size();
    return copied_ <= kMaxCopiedBytes && add(path, value);
  }

  // Removes and returns the value.
  std::optional<Json> take(const Json::json_pointer& path) {
    if (path.empty()) return std::nullopt;
    Json value = std::move(document_.at(path));
    Json& parent = document_.at(path.parent_pointer());
    if (parent.is_object()) {
      parent.erase(path.back());
      return value;
    }
    size_t index = 0;
    if (!list_index(path.back(), parent.size() - 1, index) || !charge(parent.size() - index)) return std::nullopt;
    parent.erase(index);
    return value;
  }

  Json document_;
  size_t copied_ = 0;
  size_t steps_ = 0;
};

}  // namespace

StatusOr<Json> apply_json_patch(const Json& target, const Json& patch) {
  Status refused;
  refused.code = 422;
  refused.reason = "Invalid";
  refused.message = "the server rejected our request due to an error in our request";
  try {
    JsonPatcher patcher(target);
    for (const Json& operation : patch) {
      if (!patcher.run(operation)) return fail_status(refused);
    }
    return std::move(patcher).result();
  } catch (const Json::exception&) {  // malformed pointers, or pointers to nothing
    return fail_status(refused);
  }
}

}  // namespace dra::apiserver
