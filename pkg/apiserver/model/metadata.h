// ObjectMeta: what the server fills in, and its validation (apimachinery/pkg/api/validation/objectmeta.go).
#pragma once

#include <string>
#include <string_view>

#include "pkg/apiserver/model/kind.h"

namespace dra::apiserver {

// Messages about what is wrong with a name; empty if it is valid. `prefix`: a generateName, which may end in '-'.
std::vector<std::string> name_errors(NameRule rule, std::string_view name, bool prefix);
// A whole ObjectMeta at `path`.
FieldErrors validate_object_meta(const Json& meta, const KindInfo& info, const FieldPath& path);
// What an update may not change. `meta` has the old values for fields that were not sent.
FieldErrors validate_object_meta_update(const Json& meta, const Json& old, const FieldPath& path);
// Labels and annotations alone, for templates.
FieldErrors validate_labels(const Json& labels, const FieldPath& path);
FieldErrors validate_annotations(const Json& annotations, const FieldPath& path);

// Drops what clients may not set and fills in uid, timestamp and a generated name.
void init_create_metadata(const KindInfo& info, const WriteContext& ctx, Json& meta);
// Carries over what an update cannot change.
void init_update_metadata(const Json& old, Json& meta);
// The prefix cut to 58 characters plus five random ones.
std::string generate_name(std::string_view prefix, Random& random);

}  // namespace dra::apiserver
