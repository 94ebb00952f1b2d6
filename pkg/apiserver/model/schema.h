// The schemas of all kinds that this server knows: those shared with the client (pkg/api/schema, which also explains
// the tables), and those of the folders of kinds.
#pragma once

#include "pkg/api/schema/schema.h"

namespace dra::apiserver {

using api::schema::Field;
using api::schema::FieldType;
using api::schema::ListType;
using api::schema::ObjectType;
using api::schema::SchemaSet;
using api::schema::SchemaTable;
using api::schema::ValueType;

// Parsed on first use (kinds/folders.cc).
const SchemaSet& builtin_schemas();

}  // namespace dra::apiserver
