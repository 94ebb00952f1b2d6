// The words of pkg/api/schema, which explains the tables of fields, for this package. The tables of all kinds are
// builtin_schemas() (kinds/folders.h).
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

}  // namespace dra::apiserver
