// JSON text to documents, strictly bounded: nesting depth, and duplicate keys are found (the last one wins).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/apiserver/json.h"

namespace dra::apiserver {

// True when `text` is one JSON value. On failure `error` has the wording of Go's encoding/json where it is known.
bool parse_json(std::string_view text, Json& out, std::vector<std::string>& duplicate_paths, std::string& error);

// The paths of all object members of the text in document order ("spec.devices.requests[0].name"), for putting the
// findings of several passes in the order in which they stand. Empty when the text is no JSON.
std::vector<std::string> member_paths(std::string_view text);

// Compact JSON. Bytes that are no UTF-8 become U+FFFD, so this never throws.
std::string compact_text(const Json& value);
// Compact JSON of an object, its metadata first, as clients are used to see it.
std::string document_text(const Json& document);

// Deepest nesting that is accepted.
inline constexpr int kMaxJsonDepth = 500;

}  // namespace dra::apiserver
