// The schemas of all kinds that this server knows: those shared with the client (pkg/api/schema, which also explains
// the tables), and those that only a server needs (schema/, and the folders of kinds).
#pragma once

#include <vector>

#include "pkg/api/schema/schema.h"

namespace dra::apiserver {

using api::schema::Field;
using api::schema::FieldType;
using api::schema::ListType;
using api::schema::ObjectType;
using api::schema::SchemaSet;
using api::schema::SchemaTable;
using api::schema::ValueType;

// schema/<name>.cc defines a function that returns a table's text; schema/tables.cc lists them.
const std::vector<SchemaTable>& builtin_schema_tables();
// All of them, parsed on first use.
const SchemaSet& builtin_schemas();

}  // namespace dra::apiserver
