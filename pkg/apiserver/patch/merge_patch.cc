// JSON merge patches (RFC 7386).
#include <nlohmann/json.hpp>

#include "pkg/apiserver/patch/patch.h"

namespace dra::apiserver {

void apply_merge_patch(Json& target, const Json& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = Json::object();
  for (const auto& [key, value] : patch.items()) {
    if (value.is_null()) {
      target.erase(key);
    } else {
      apply_merge_patch(target[key], value);
    }
  }
}

}  // namespace dra::apiserver
