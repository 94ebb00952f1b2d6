// YAML as kubectl reads it, into JSON documents.
//
// The grammar is libyaml's, which go-yaml (and so kubectl) is a port of. Plain scalars resolve as in go-yaml v2, and
// keys become strings as in sigs.k8s.io/yaml: yes/no/on/off/y/n are booleans, 010 is 8, 1e3 is a number, dates and
// quantities stay strings, a quoted or !!str scalar is always a string. The same parser reads JSON. A text is parsed
// once. Limits apply before work or memory is spent: depth, nodes, anchors, nodes and bytes repeated by aliases,
// directives. All functions are pure and safe from any thread.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/error.h"

namespace dra::yaml {

// Where a value begins in the text; line and column count from 1.
struct Position {
  size_t line = 0;
  size_t column = 0;
};

struct Options {
  bool refuse_duplicate_keys = false;  // otherwise the last one wins
  // If duplicate keys are accepted, lists them here as the error messages would name them; at most 100.
  std::vector<std::string>* duplicate_keys = nullptr;
  size_t max_depth = 1000;
  size_t max_nodes = 2'000'000;      // nodes in all documents, including those repeated by aliases
  size_t max_anchors = 10'000;       // in all documents
  size_t max_alias_nodes = 200'000;  // nodes kept for aliases or repeated by them
  // Reads no further than the first document, which may be empty (null): what sigs.k8s.io/yaml does.
  bool first_document_only = false;
};

// All documents of a text except empty ones. Errors are InvalidArgument and begin with "line L, column C: ".
Result<std::vector<nlohmann::json>> parse_all(std::string_view text, const Options& options = {});

// The only document of a text; null if there is none; an error if there are several.
Result<nlohmann::json> parse(std::string_view text, const Options& options = {});

using Positions = std::map<std::string, Position, std::less<>>;
// Like parse(), and records where each value is, by JSON pointer ("" is the document itself).
Result<nlohmann::json> parse_with_positions(std::string_view text, Positions& positions, const Options& options = {});

// Block style, keys in document order; a string is quoted wherever it would otherwise read as something else.
std::string emit(const nlohmann::json& value);

}  // namespace dra::yaml
