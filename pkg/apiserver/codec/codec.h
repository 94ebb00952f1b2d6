// Decoding by schema: applies the rules of Go's typed decoding to a document.
//
// decode_object() checks types, drops and reports unknown fields, drops what omitempty drops, adds fields that are
// printed, and brings quantities and times into canonical form, so that equal objects are equal documents.
// Pure; safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/apiserver/model/json.h"
#include "pkg/apiserver/model/kind.h"
#include "pkg/apiserver/model/schema.h"

namespace dra::apiserver {

// What a document is decoded as.
struct BodyKind {
  GroupVersion gv;
  std::string kind;
  const ObjectType* schema = nullptr;
};

struct DecodeReport {
  std::vector<std::string> unknown;  // paths of unknown fields, dropped from the document
  std::string error;                 // the first mismatch, in the words of Go's decoder; empty if all fits
};

// Go's JSON decoder's name for a value: string, number, bool, array or object.
std::string json_kind_name(const Json& value);

// Whose wording a mismatch has: that of Go's JSON decoder or, for objects made by a strategic merge patch, that of the
// converter from unstructured objects.
enum class MismatchWords { kJson, kConverter };

// `object` must be a JSON object. apiVersion and kind at the top are left alone. Without a schema only metadata is
// checked.
DecodeReport decode_object(const ObjectType* type, Json& object, MismatchWords words = MismatchWords::kJson);

// As above for a partial object (an apply configuration): drops nothing for being empty, adds nothing.
DecodeReport decode_partial(const ObjectType& type, Json& object);

// Lists that are always printed and have no elements become null, as upstream stores them.
void null_empty_lists(const ObjectType& type, Json& object);

// The zero value of a type in a document that is already decoded: the zero object of a kind ("spec":{...},"status":{}).
Json zero_object(const ObjectType& type);

}  // namespace dra::apiserver
