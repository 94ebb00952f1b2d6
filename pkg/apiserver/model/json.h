// The JSON document type of this package as a forward declaration: headers stay free of json.hpp.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace dra::apiserver {

using Json = nlohmann::json;

}  // namespace dra::apiserver
