#include <yaml.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "pkg/yaml/scalar.h"
#include "pkg/yaml/yaml.h"

namespace dra::yaml {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxFlowDepth = 250;
// Bytes of scalars repeated by aliases, in all documents.
constexpr size_t kMaxAliasBytes = size_t{16} * 1024 * 1024;
constexpr size_t kMaxTags = 1000;
constexpr size_t kMaxDuplicatesKept = 100;

std::string at(const yaml_mark_t& mark) {
  return "line " + std::to_string(mark.line + 1) + ", column " + std::to_string(mark.column + 1) + ": ";
}

// "~" and "/" inside a key, as RFC 6901 escapes them.
std::string pointer_step(const std::string& parent, std::string_view key) {
  std::string path = parent + "/";
  for (const char c : key) {
    if (c == '~')
      path += "~0";
    else if (c == '/')
      path += "~1";
    else
      path += c;
  }
  return path;
}

struct EventGuard {
  yaml_event_t event{};
  EventGuard() = default;
  EventGuard(const EventGuard&) = delete;
  EventGuard& operator=(const EventGuard&) = delete;
  ~EventGuard() { yaml_event_delete(&event); }
};

std::string_view view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char*>(text));
}

std::string_view anchor_of(const yaml_event_t& event) {
  switch (event.type) {
    case YAML_SCALAR_EVENT:
      return view(event.data.scalar.anchor);
    case YAML_SEQUENCE_START_EVENT:
      return view(event.data.sequence_start.anchor);
    case YAML_MAPPING_START_EVENT:
      return view(event.data.mapping_start.anchor);
    default:
      return {};
  }
}

bool is_merge_key(const yaml_event_t& key) {
  return key.type == YAML_SCALAR_EVENT && key.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
         view(key.data.scalar.value) == "<<" && key.data.scalar.tag == nullptr;
}

bool add_merged(Json& merged, const Json& value) {
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      if (!merged.contains(key)) merged[key] = item;
    }
    return true;
  }
  if (!value.is_array()) return false;
  for (const Json& item : value) {
    if (!item.is_object()) return false;
    add_merged(merged, item);
  }
  return true;
}

// Builds documents from libyaml's events, in one pass. (yaml_parser_load() compares every anchor with every other one,
// and reports the depth of flow collections only at the end, although each token costs time in proportion to it.)
class StreamReader {
 public:
  StreamReader(std::string_view text, const Options& options, Positions* positions)
      : options_(options), positions_(positions), ready_(yaml_parser_initialize(&parser_) != 0) {
    if (!ready_) return;
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    // Forces UTF-8: check_directives() could not count directives in UTF-16, which a byte order mark would select.
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~StreamReader() { yaml_parser_delete(&parser_); }
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  Result<std::vector<Json>> read() {
    if (!ready_) return fail(Code::kInternal, "the YAML parser could not be set up");
    std::vector<Json> documents;
    for (;;) {
      EventGuard next;
      if (auto ok = pull(next.event); !ok) return tl::make_unexpected(ok.error());
      if (next.event.type == YAML_STREAM_END_EVENT) return documents;
      if (next.event.type != YAML_DOCUMENT_START_EVENT) continue;
      anchors_.clear();
      EventGuard root;
      if (auto ok = pull(root.event); !ok) return tl::make_unexpected(ok.error());
      auto value = node(root.event, "", 1);
      if (!value) return tl::make_unexpected(value.error());
      if (!value->is_null() || options_.first_document_only) documents.push_back(std::move(*value));
      if (options_.first_document_only) return documents;
    }
  }

 private:
  struct Spent {
    size_t nodes = 0;
    size_t bytes = 0;  // of scalars
  };

  struct Anchor {
    Json value;
    std::string path;
    Spent cost;         // of one copy
    size_t height = 0;  // levels below the value
    bool finished = false;
  };

  static constexpr const char* kTooMuch = "document contains excessive aliasing or more values than can be read";

  Result<void> pull(yaml_event_t& event) {
    if (yaml_parser_parse(&parser_, &event) != 0) return {};
    std::string what = parser_.problem != nullptr ? parser_.problem : "cannot be parsed";
    if (parser_.context != nullptr) what = std::string(parser_.context) + ": " + what;
    return fail(Code::kInvalidArgument, at(parser_.problem_mark) + what);
  }

  static Unexpected refuse(const yaml_event_t& event, std::string what) {
    return fail(Code::kInvalidArgument, at(event.start_mark) + std::move(what));
  }

  Unexpected too_deep(const yaml_event_t& event) const {
    return refuse(event, "nested deeper than " + std::to_string(options_.max_depth) + " levels");
  }

  // The path is built only if positions are wanted.
  std::string below(const std::string& path, std::string_view key) const {
    return positions_ == nullptr ? std::string() : pointer_step(path, key);
  }

  Result<Json> node(const yaml_event_t& event, const std::string& path, size_t depth) {
    if (depth > options_.max_depth) return too_deep(event);
    if (++made_.nodes > options_.max_nodes) return refuse(event, kTooMuch);
    deepest_ = std::max(deepest_, depth);
    if (positions_ != nullptr)
      positions_->insert_or_assign(path, Position{event.start_mark.line + 1, event.start_mark.column + 1});
    if (event.type == YAML_ALIAS_EVENT) return alias(event, path, depth);
    const std::string name(anchor_of(event));
    return name.empty() ? content(event, path, depth) : anchored(event, name, path, depth);
  }

  Result<Json> content(const yaml_event_t& event, const std::string& path, size_t depth) {
    switch (event.type) {
      case YAML_SCALAR_EVENT:
        return scalar(event);
      case YAML_SEQUENCE_START_EVENT:
        return collection(event, event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE, path, depth);
      case YAML_MAPPING_START_EVENT:
        return collection(event, event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE, path, depth);
      default:
        return refuse(event, "a value is missing");
    }
  }

  Result<Json> anchored(const yaml_event_t& event, const std::string& name, const std::string& path, size_t depth) {
    if (++anchors_made_ > options_.max_anchors)
      return refuse(event, "more than " + std::to_string(options_.max_anchors) + " anchors");
    // A name may be defined again; its earlier value is then unreachable.
    anchors_.insert_or_assign(name, Anchor{});
    const Spent before = made_;
    const size_t deepest_before = std::exchange(deepest_, depth);
    auto value = content(event, path, depth);
    if (!value) return value;
    Anchor anchor;
    anchor.cost = {made_.nodes - before.nodes + 1, made_.bytes - before.bytes};
    anchor.height = deepest_ - depth;
    deepest_ = std::max(deepest_, deepest_before);
    // The copy kept for the anchor counts like one made by an alias.
    if (!charge_copy(anchor.cost)) return refuse(event, kTooMuch);
    anchor.value = *value;
    anchor.path = path;
    anchor.finished = true;
    anchors_.insert_or_assign(name, std::move(anchor));
    return value;
  }

  Result<Json> alias(const yaml_event_t& event, const std::string& path, size_t depth) {
    const std::string name(view(event.data.alias.anchor));
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) return refuse(event, "found undefined alias");
    const Anchor& anchor = found->second;
    if (!anchor.finished) return refuse(event, "anchor '" + name + "' value contains itself");
    if (depth + anchor.height > options_.max_depth) return too_deep(event);
    deepest_ = std::max(deepest_, depth + anchor.height);
    if (!charge_copy(anchor.cost)) return refuse(event, kTooMuch);
    made_.nodes += anchor.cost.nodes;
    made_.bytes += anchor.cost.bytes;
    if (positions_ != nullptr) copy_positions(anchor.path, path);
    return anchor.value;
  }

  bool charge_copy(const Spent& cost) {
    copied_.nodes += cost.nodes;
    copied_.bytes += cost.bytes;
    return copied_.nodes <= options_.max_alias_nodes && copied_.bytes <= kMaxAliasBytes;
  }

  // A value below an alias has the position it has in its anchor.
  void copy_positions(const std::string& from, const std::string& to) {
    Positions copies;
    const std::string prefix = from + "/";
    for (auto it = positions_->lower_bound(prefix); it != positions_->end() && it->first.starts_with(prefix); ++it)
      copies.emplace(to + it->first.substr(from.size()), it->second);
    copies.emplace(to, positions_->at(from));
    for (auto& [path, position] : copies) positions_->insert_or_assign(path, position);
  }

  Result<Json> scalar(const yaml_event_t& event) {
    const auto& s = event.data.scalar;
    made_.bytes += s.length;
    const std::string_view text(reinterpret_cast<const char*>(s.value), s.length);
    const std::string_view tag = view(s.tag);
    if (tag == "tag:yaml.org,2002:binary") return refuse(event, "!!binary is not supported; use a plain string");
    if (s.style != YAML_PLAIN_SCALAR_STYLE || tag == "!" || tag == YAML_STR_TAG) return Json(std::string(text));
    Json value;
    if (!resolve_plain(text, value))
      return refuse(event, "\"" + std::string(text) + "\" is not a number that JSON can hold");
    return value;
  }

  Result<Json> collection(const yaml_event_t& event, bool flow, const std::string& path, size_t depth) {
    // libyaml spends time on every token for every open flow collection.
    if (flow && ++flow_depth_ > kMaxFlowDepth)
      return refuse(event, "[] and {} nested deeper than " + std::to_string(kMaxFlowDepth) + " levels");
    auto value = event.type == YAML_MAPPING_START_EVENT ? mapping(path, depth) : sequence(path, depth);
    if (flow) --flow_depth_;
    return value;
  }

  Result<Json> sequence(const std::string& path, size_t depth) {
    Json list = Json::array();
    for (;;) {
      EventGuard item;
      if (auto ok = pull(item.event); !ok) return tl::make_unexpected(ok.error());
      if (item.event.type == YAML_SEQUENCE_END_EVENT) return list;
      auto value = node(item.event, below(path, std::to_string(list.size())), depth + 1);
      if (!value) return value;
      list.push_back(std::move(*value));
    }
  }

  Result<Json> mapping(const std::string& path, size_t depth) {
    Json object = Json::object();
    Json merged = Json::object();
    for (;;) {
      EventGuard key_event;
      if (auto ok = pull(key_event.event); !ok) return tl::make_unexpected(ok.error());
      if (key_event.event.type == YAML_MAPPING_END_EVENT) break;
      auto key = key_of(key_event.event, depth);
      if (!key) return tl::make_unexpected(key.error());
      const bool merge = is_merge_key(key_event.event);
      EventGuard value_event;
      if (auto ok = pull(value_event.event); !ok) return tl::make_unexpected(ok.error());
      auto value = node(value_event.event, merge ? path : below(path, *key), depth + 1);
      if (!value) return value;
      if (merge) {
        if (!add_merged(merged, *value))
          return refuse(key_event.event, "map merge requires map or sequence of maps as the value");
        continue;
      }
      if (object.contains(*key)) {
        if (auto ok = found_twice(key_event.event, *key); !ok) return tl::make_unexpected(ok.error());
      }
      object[*key] = std::move(*value);
    }
    for (auto& [key, value] : merged.items()) {
      if (!object.contains(key)) object[key] = value;
    }
    return object;
  }

  Result<std::string> key_of(const yaml_event_t& event, size_t depth) {
    if (event.type != YAML_SCALAR_EVENT && event.type != YAML_ALIAS_EVENT)
      return refuse(event, "a map key must be a scalar");
    Result<Json> key = scalar_key(event, depth);
    if (!key) return tl::make_unexpected(key.error());
    if (key->is_structured()) return refuse(event, "a map key must be a scalar");
    return key_text(*key);
  }

  // Keys have no recorded position.
  Result<Json> scalar_key(const yaml_event_t& event, size_t depth) {
    Positions* const positions = std::exchange(positions_, nullptr);
    Result<Json> key =
        event.type == YAML_SCALAR_EVENT && anchor_of(event).empty() ? scalar(event) : node(event, "", depth + 1);
    positions_ = positions;
    return key;
  }

  Result<void> found_twice(const yaml_event_t& key_event, const std::string& key) {
    const std::string what = "key \"" + key + "\" already set in map";
    if (options_.refuse_duplicate_keys) return refuse(key_event, what);
    if (options_.duplicate_keys != nullptr && options_.duplicate_keys->size() < kMaxDuplicatesKept)
      options_.duplicate_keys->push_back(at(key_event.start_mark) + what);
    return {};
  }

  const Options& options_;
  Positions* positions_;
  yaml_parser_t parser_{};
  bool ready_;
  std::unordered_map<std::string, Anchor> anchors_;
  size_t anchors_made_ = 0;
  size_t flow_depth_ = 0;
  size_t deepest_ = 0;
  Spent made_;
  Spent copied_;
};

// libyaml compares every %TAG directive with all earlier ones, in one call. (It rejects any other second directive.)
Result<void> check_directives(std::string_view text) {
  constexpr std::string_view kTag = "%TAG";
  size_t count = 0;
  for (size_t at = text.find(kTag); at != std::string_view::npos; at = text.find(kTag, at + kTag.size())) {
    if (++count > kMaxTags)
      return fail(Code::kInvalidArgument, "more than " + std::to_string(kMaxTags) + " %TAG directives");
  }
  return {};
}

Result<std::vector<Json>> parse_stream(std::string_view text, const Options& options, Positions* positions) {
  if (auto ok = check_directives(text); !ok) return tl::make_unexpected(ok.error());
  return StreamReader(text, options, positions).read();
}

}  // namespace

Result<std::vector<Json>> parse_all(std::string_view text, const Options& options) {
  return parse_stream(text, options, nullptr);
}

namespace {

Result<Json> parse_one(std::string_view text, const Options& options, Positions* positions) {
  auto documents = parse_stream(text, options, positions);
  if (!documents) return tl::make_unexpected(documents.error());
  if (documents->size() > 1)
    return fail(Code::kInvalidArgument, "one document expected, found " + std::to_string(documents->size()));
  return documents->empty() ? Json(nullptr) : std::move(documents->front());
}

}  // namespace

Result<Json> parse(std::string_view text, const Options& options) {
  return parse_one(text, options, nullptr);
}

Result<Json> parse_with_positions(std::string_view text, Positions& positions, const Options& options) {
  return parse_one(text, options, &positions);
}

}  // namespace dra::yaml
