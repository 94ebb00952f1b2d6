// Resolution of plain YAML scalars by go-yaml v2's rules (resolve.go). Internal to this package.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace dra::yaml {

// What a plain (unquoted, untagged) scalar means: null, a boolean, a number or the text itself. False for .inf and
// .nan, which JSON cannot express.
bool resolve_plain(std::string_view text, nlohmann::json& out);

// The JSON key of a scalar key: booleans, numbers and null become their text ("true", "8", "null").
std::string key_text(const nlohmann::json& key);

}  // namespace dra::yaml
