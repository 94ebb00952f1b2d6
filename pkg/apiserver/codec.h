// Decoding by schema: what Go's typed decoding does to a document.
//
// decode_object() checks types, drops and reports unknown fields, drops what omitempty drops, adds what is always
// printed, and brings quantities and times into canonical form, so that equal objects are equal documents.
// Pure; safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/apiserver/json.h"
#include "pkg/apiserver/schema.h"

namespace dra::apiserver {

struct DecodeReport {
  std::vector<std::string> unknown;  // paths of unknown fields, dropped from the document
  std::string error;                 // the first mismatch, worded as Go's decoder does; empty when all fits
};

// What Go's JSON decoder calls a value: string, number, bool, array or object.
std::string json_kind_name(const Json& value);

// Whose words a mismatch has: those of Go's JSON decoder, or, of objects that a strategic merge patch made, those of
// the converter from unstructured objects.
enum class MismatchWords { kJson, kConverter };

// `object` must be a JSON object. apiVersion and kind at the top are left alone. Without a schema only metadata is
// looked at.
DecodeReport decode_object(const ObjectType* type, Json& object, MismatchWords words = MismatchWords::kJson);

// The same for a partial object (an apply configuration): nothing is dropped for being empty, nothing is added.
DecodeReport decode_partial(const ObjectType& type, Json& object);

// Lists that are always printed and have no elements become null, as storing them does upstream.
void null_empty_lists(const ObjectType& type, Json& object);

// A value of one type in a document that is already decoded: the zero object of a kind ("spec":{...},"status":{}).
Json zero_object(const ObjectType& type);

}  // namespace dra::apiserver
