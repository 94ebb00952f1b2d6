// The bytes of RawExtension fields (opaque.parameters, device status data) as a client sent them.
//
// Upstream stores these fields as bytes. So white space and key order decide whether a write changes an object
// (generation, resourceVersion) and count towards size limits, although every answer prints them compactly. A patch
// reads the printed form; therefore the first patch after a PUT with extra white space counts as a change of spec.
// Pure; safe from any thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "pkg/apiserver/model/field_error.h"
#include "pkg/apiserver/model/json.h"
#include "pkg/apiserver/model/schema.h"

namespace dra::apiserver {

// Bytes of one such field that upstream accepts (k8s.io/api/resource/v1, OpaqueParametersMaxLength).
inline constexpr size_t kMaxOpaqueBytes = 10 * 1024;

// By JSON pointer ("/spec/config/0/opaque/parameters"). A field whose text equals the server's print is absent.
using RawTexts = std::map<std::string, std::string>;

// The RawExtension fields of an object of this type. `text` must be one JSON value as parse_json() accepts it.
RawTexts raw_texts_of(const ObjectType& type, std::string_view text);

// What JSON and merge patches leave of them: untouched values in their own key order, without white space.
RawTexts raw_texts_after_patch(const RawTexts& before, const Json& old, const Json& patched);

// A write to the status keeps the old texts of everything else; any other write keeps those of the status.
RawTexts raw_texts_after_write(RawTexts sent, const RawTexts& old, bool status_write);

// Reports new texts that exceed upstream's limit, unless `found` already has that field.
void check_raw_sizes(FieldErrors& found, const RawTexts& texts, const RawTexts& old);

// encoding/json's Compact with HTML escaping, as upstream prints these fields. `text` must be JSON.
std::string go_compact_json(std::string_view text);

}  // namespace dra::apiserver
