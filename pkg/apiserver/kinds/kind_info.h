// Facts of ordinary kinds: one version, served and stored. Pure.
#pragma once

#include <string>

#include "pkg/apiserver/kind.h"

namespace dra::apiserver {

// `schema_package` as in SchemaSet::find(): "storage/v1".
KindInfo kind_info(const GroupVersion& version, const std::string& schema_package, const std::string& kind,
                   const std::string& plural, const std::string& singular, bool namespaced);
// Adds the status subresource.
void with_status(KindInfo& info);

}  // namespace dra::apiserver
