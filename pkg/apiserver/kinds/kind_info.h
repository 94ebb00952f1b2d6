// Facts of ordinary kinds: one version, served and stored. Pure.
#pragma once

#include <string>

#include "pkg/apiserver/model/kind.h"

namespace dra::apiserver {

// `schema_package` as in SchemaSet::find(): "storage/v1".
KindInfo kind_info(const GroupVersion& version, const std::string& schema_package, const std::string& kind,
                   const std::string& plural, const std::string& singular, bool namespaced);
// A kind of the core group, v1.
KindInfo core_kind_info(const std::string& kind, const std::string& plural, const std::string& singular,
                        bool namespaced);
// The subresource "proxy", whose options are of this kind.
SubresourceInfo proxy_subresource(const std::string& options_kind);
// Adds the status subresource.
void with_status(KindInfo& info);

}  // namespace dra::apiserver
