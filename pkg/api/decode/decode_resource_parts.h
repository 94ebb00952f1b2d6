// Readers that classes and claims share. Internal to pkg/api.
#pragma once

#include "pkg/api/decode/read_fields.h"
#include "pkg/api/resource.h"

namespace dra::api::detail {

// {"cel": {"expression": "..."}} -> the expression, "" without cel
bool read_selector(const WireValue& value, std::string& out, Trouble& trouble);
// {"driver": ..., "parameters": raw JSON}
bool read_opaque(const WireValue& value, OpaqueConfig& out, Trouble& trouble);
// An entry of DeviceClass.spec.config: {"opaque": {...}}
bool read_class_config(const WireValue& value, OpaqueConfig& out, Trouble& trouble);

}  // namespace dra::api::detail
