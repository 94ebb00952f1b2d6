// JSON text to documents, strictly bounded in nesting depth; reports duplicate keys (the last one wins).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/apiserver/model/json.h"

namespace dra::apiserver {

// True if `text` is one JSON value. On failure `error` has the wording of Go's encoding/json where it is known.
bool parse_json(std::string_view text, Json& out, std::vector<std::string>& duplicate_paths, std::string& error);

// The paths of all object members in document order ("spec.devices.requests[0].name"), used to sort the findings of
// several checks into that order. Empty if the text is not JSON.
std::vector<std::string> member_paths(std::string_view text);

// Compact JSON. Bytes that are not UTF-8 become U+FFFD, so this never throws.
std::string compact_text(const Json& value);
// Compact JSON of an object, with metadata first, as clients expect.
std::string document_text(const Json& document);

// Deepest accepted nesting.
inline constexpr int kMaxJsonDepth = 500;

}  // namespace dra::apiserver
