// Request bodies: JSON, YAML or protobuf into a decoded document of the request's kind. Internal to this package.
#pragma once

#include "pkg/apiserver/codec/codec.h"
#include "pkg/apiserver/rest/call.h"

namespace dra::apiserver {

enum class FieldValidation { kIgnore, kWarn, kStrict };

// Checks dryRun, fieldManager and fieldValidation (422 of CreateOptions, UpdateOptions or PatchOptions).
StatusOr<void> check_write_options(const Call& call, std::string_view options_kind);

// Decodes the body as this kind, which need not be the call's (Binding, Eviction, Scale).
StatusOr<Json> decode_body(Call& call, const BodyKind& expected);

// Checks types and unknown fields of a document that did not come as a body (a patched object).
StatusOr<void> decode_document(Call& call, const BodyKind& expected, Json& document,
                               const std::vector<std::string>& duplicates, std::string_view text,
                               MismatchWords words = MismatchWords::kJson);

// For kinds that are not stored (reviews): accepts only the expected version.
StatusOr<Json> decode_plain_body(Call& call, const BodyKind& expected);

BodyKind body_kind(const Call& call);

}  // namespace dra::apiserver
