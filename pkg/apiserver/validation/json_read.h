// Reads decoded documents: absent or null members read as the zero value, as in Go; so does a value of another type
// (the codec has refused it before). Pure; the references live as long as the document.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pkg/apiserver/model/json.h"

namespace dra::apiserver {

// The member, or a null document if `object` is not an object or lacks it.
const Json& member(const Json& object, std::string_view key);
// member() of member() ...: path "spec.devices.requests".
const Json& member_at(const Json& object, std::string_view dotted_path);
// Present and not null.
bool is_set(const Json& object, std::string_view key);
// The member as text; "" if absent.
const std::string& text_of(const Json& object, std::string_view key);
const std::string& as_text(const Json& value);
int64_t int_of(const Json& object, std::string_view key);
bool bool_of(const Json& object, std::string_view key);
// The member if it is an array (object), else an empty array (object).
const Json& list_of(const Json& object, std::string_view key);
const Json& map_of(const Json& object, std::string_view key);
// Number of items or members; 0 for anything else.
size_t count_of(const Json& value);
// Equality like Go's semantic deep-equal: as members, absent, null, "", [] and {} are equal.
bool semantic_equal(const Json& a, const Json& b);
// The member as an object to write to; created if absent.
Json& object_member(Json& object, std::string_view key);
// Sets a member unless it is already set.
void set_default(Json& object, std::string_view key, const Json& value);

}  // namespace dra::apiserver
