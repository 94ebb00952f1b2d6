// YAML as kubectl reads it, into JSON documents.
//
// The grammar is libyaml's, which go-yaml (and so kubectl) is a port of; plain scalars are resolved as go-yaml v2
// resolves them and keys become strings as sigs.k8s.io/yaml makes them: yes/no/on/off/y/n are booleans, 010 is 8, 1e3
// is a number, dates and quantities stay strings, a quoted or !!str scalar is always a string. JSON is read by the same
// parser. A text is parsed once, and work and memory are bounded before they are spent: depth, nodes, anchors, what
// aliases repeat (nodes and bytes), directives. All functions are pure and safe from any thread.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/error.h"

namespace dra::yaml {

// Where a value begins in the text; both count from 1.
struct Position {
  size_t line = 0;
  size_t column = 0;
};

struct Options {
  bool refuse_duplicate_keys = false;  // otherwise the last one wins
  // Where keys that stand twice are noted when they are not refused, as errors would name them; at most 100.
  std::vector<std::string>* duplicate_keys = nullptr;
  size_t max_depth = 1000;
  size_t max_nodes = 2'000'000;      // nodes of all documents, those that aliases repeat included
  size_t max_anchors = 10'000;       // in all documents
  size_t max_alias_nodes = 200'000;  // nodes that are kept for aliases or repeated by them
};

// All documents of a text, empty ones left out. Errors are InvalidArgument and begin with "line L, column C: ".
Result<std::vector<nlohmann::json>> parse_all(std::string_view text, const Options& options = {});

// The one document of a text; an error when there are several; null when there is none.
Result<nlohmann::json> parse(std::string_view text, const Options& options = {});

using Positions = std::map<std::string, Position, std::less<>>;
// Like parse(), and says where each value stands, by JSON pointer ("" is the document itself).
Result<nlohmann::json> parse_with_positions(std::string_view text, Positions& positions, const Options& options = {});

// Block style, keys in the document's order, strings quoted wherever they would be read as something else.
std::string emit(const nlohmann::json& value);

}  // namespace dra::yaml
