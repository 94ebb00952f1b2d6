#include <yaml.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "pkg/yaml/scalar.h"
#include "pkg/yaml/yaml.h"

namespace dra::yaml {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxFlowDepth = 250;
// Bytes of scalars in all documents, beyond the size of the text: only aliases make more of it.
constexpr size_t kMaxAliasBytes = size_t{16} * 1024 * 1024;

struct Budget {
  size_t nodes;
  size_t bytes;
};

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

class DocumentReader {
 public:
  DocumentReader(yaml_document_t& document, const Options& options, Budget& budget, Positions* positions)
      : document_(document), options_(options), budget_(budget), positions_(positions) {}

  Result<Json> read(int id, const std::string& path, size_t depth) {
    yaml_node_t* node = yaml_document_get_node(&document_, id);
    if (depth > options_.max_depth)
      return refuse(*node, "nested deeper than " + std::to_string(options_.max_depth) + " levels");
    const size_t bytes = node->type == YAML_SCALAR_NODE ? node->data.scalar.length : 0;
    if (!charge(bytes)) return refuse(*node, kTooMuch);
    if (positions_ != nullptr)
      positions_->insert_or_assign(path, Position{node->start_mark.line + 1, node->start_mark.column + 1});
    switch (node->type) {
      case YAML_SCALAR_NODE:
        return scalar(*node);
      case YAML_SEQUENCE_NODE:
        return sequence(*node, path, depth);
      case YAML_MAPPING_NODE:
        return mapping(*node, path, depth);
      default:
        return Json(nullptr);
    }
  }

 private:
  static constexpr const char* kTooMuch = "document contains excessive aliasing or more values than can be read";

  bool charge(size_t bytes) {
    if (budget_.nodes == 0 || bytes > budget_.bytes) return false;
    --budget_.nodes;
    budget_.bytes -= bytes;
    return true;
  }

  // The path is only known where positions are asked for.
  std::string below(const std::string& path, std::string_view key) const {
    return positions_ == nullptr ? std::string() : pointer_step(path, key);
  }

  static Unexpected refuse(const yaml_node_t& node, std::string what) {
    return fail(Code::kInvalidArgument, at(node.start_mark) + std::move(what));
  }

  static bool tagged(const yaml_node_t& node, const char* tag) {
    return node.tag != nullptr && std::strcmp(reinterpret_cast<const char*>(node.tag), tag) == 0;
  }

  Result<Json> scalar(const yaml_node_t& node) const {
    const std::string_view text(reinterpret_cast<const char*>(node.data.scalar.value), node.data.scalar.length);
    // libyaml tags every untagged scalar as a string; only plain ones are resolved further. An explicit !!str is the
    // same tag, but it makes the scalar non-plain for go-yaml, which is why the style is looked at as well.
    const bool plain = node.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (!plain || explicit_string(node)) {
      if (tagged(node, "tag:yaml.org,2002:binary"))
        return refuse(node, "!!binary is not supported; use a plain string");
      return Json(std::string(text));
    }
    Json value;
    if (!resolve_plain(text, value))
      return refuse(node, "\"" + std::string(text) + "\" is not a number that JSON can hold");
    return value;
  }

  // True when the text before the scalar's value carries a !!str tag: the node's marks then span more than the value.
  static bool explicit_string(const yaml_node_t& node) {
    return tagged(node, YAML_STR_TAG) && node.end_mark.index - node.start_mark.index > node.data.scalar.length + 1 &&
           node.start_mark.line == node.end_mark.line && node.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  }

  Result<Json> sequence(const yaml_node_t& node, const std::string& path, size_t depth) {
    Json list = Json::array();
    for (const int* item = node.data.sequence.items.start; item != node.data.sequence.items.top; ++item) {
      auto value = read(*item, below(path, std::to_string(list.size())), depth + 1);
      if (!value) return value;
      list.push_back(std::move(*value));
    }
    return list;
  }

  Result<Json> mapping(const yaml_node_t& node, const std::string& path, size_t depth) {
    Json object = Json::object();
    Json merged = Json::object();
    for (const yaml_node_pair_t* pair = node.data.mapping.pairs.start; pair != node.data.mapping.pairs.top; ++pair) {
      const yaml_node_t& key_node = *yaml_document_get_node(&document_, pair->key);
      if (key_node.type != YAML_SCALAR_NODE) return refuse(key_node, "a map key must be a scalar");
      if (key_node.data.scalar.length > budget_.bytes) return refuse(key_node, kTooMuch);
      budget_.bytes -= key_node.data.scalar.length;
      auto key_value = scalar(key_node);
      if (!key_value) return key_value;
      const std::string key = key_text(*key_value);
      const bool merge = key == "<<" && key_node.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
      auto value = read(pair->value, merge ? path : below(path, key), depth + 1);
      if (!value) return value;
      if (merge) {
        if (!add_merged(merged, *value))
          return refuse(key_node, "map merge requires map or sequence of maps as the value");
        continue;
      }
      if (object.contains(key) && options_.refuse_duplicate_keys)
        return refuse(key_node, "key \"" + key + "\" already set in map");
      object[key] = std::move(*value);
    }
    for (auto& [key, value] : merged.items()) {
      if (!object.contains(key)) object[key] = value;
    }
    return object;
  }

  static bool add_merged(Json& merged, const Json& value) {
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

  yaml_document_t& document_;
  const Options& options_;
  Budget& budget_;
  Positions* positions_;
};

struct ParserGuard {
  yaml_parser_t parser;
  ~ParserGuard() { yaml_parser_delete(&parser); }
};

struct DocumentGuard {
  yaml_document_t document;
  ~DocumentGuard() { yaml_document_delete(&document); }
};

Unexpected parser_error(const yaml_parser_t& parser) {
  std::string what = parser.problem != nullptr ? parser.problem : "cannot be parsed";
  if (parser.context != nullptr) what = std::string(parser.context) + ": " + what;
  return fail(Code::kInvalidArgument, at(parser.problem_mark) + what);
}

struct EventGuard {
  yaml_event_t event;
  ~EventGuard() { yaml_event_delete(&event); }
};

// libyaml spends time on every token for every flow collection that is open, and yaml_parser_load() does so for the
// whole document before its depth can be seen: events are looked at first. Errors are left to the loading.
Result<void> check_flow_depth(std::string_view text) {
  const auto opens = std::count_if(text.begin(), text.end(), [](char c) { return c == '[' || c == '{'; });
  if (static_cast<size_t>(opens) <= kMaxFlowDepth) return {};
  ParserGuard guard;
  if (yaml_parser_initialize(&guard.parser) == 0) return fail(Code::kInternal, "the YAML parser could not be set up");
  yaml_parser_set_input_string(&guard.parser, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  size_t flow_depth = 0;
  std::vector<bool> open;  // of each collection: whether it is a flow collection
  for (;;) {
    EventGuard seen{};
    if (yaml_parser_parse(&guard.parser, &seen.event) == 0 || seen.event.type == YAML_STREAM_END_EVENT) return {};
    const auto type = seen.event.type;
    if (type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT) {
      const bool flow = type == YAML_SEQUENCE_START_EVENT
                            ? seen.event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
                            : seen.event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
      open.push_back(flow);
      if (flow && ++flow_depth > kMaxFlowDepth) {
        return fail(Code::kInvalidArgument, at(seen.event.start_mark) + "[] and {} nested deeper than " +
                                                std::to_string(kMaxFlowDepth) + " levels");
      }
    } else if (type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT) {
      if (open.back()) --flow_depth;
      open.pop_back();
    }
  }
}

Result<std::vector<Json>> parse_stream(std::string_view text, const Options& options, Positions* positions) {
  if (auto ok = check_flow_depth(text); !ok) return tl::make_unexpected(ok.error());
  ParserGuard guard;
  if (yaml_parser_initialize(&guard.parser) == 0) return fail(Code::kInternal, "the YAML parser could not be set up");
  yaml_parser_set_input_string(&guard.parser, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  std::vector<Json> documents;
  Budget budget{options.max_nodes, text.size() + kMaxAliasBytes};
  for (;;) {
    DocumentGuard loaded{};
    if (yaml_parser_load(&guard.parser, &loaded.document) == 0) return parser_error(guard.parser);
    const yaml_node_t* root = yaml_document_get_root_node(&loaded.document);
    if (root == nullptr) return documents;
    DocumentReader reader(loaded.document, options, budget, positions);
    auto value = reader.read(1, "", 1);
    if (!value) return tl::make_unexpected(value.error());
    if (!value->is_null()) documents.push_back(std::move(*value));
  }
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
