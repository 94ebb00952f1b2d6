#include "pkg/apiserver/apply.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/body.h"
#include "pkg/apiserver/patch.h"

namespace dra::apiserver {

StatusOr<Json> run_apply(const Env&, Call& call, const Json& config, const std::vector<std::string>& duplicates,
                         const Json* current) {
  Json out = current ? *current : Json::object();
  Json body = config;
  body.erase("apiVersion");
  body.erase("kind");
  apply_merge_patch(out, body);
  auto ok = decode_document(call, body_kind(call), out, duplicates, "");
  if (!ok) return fail_status(ok.error());
  return out;
}

}  // namespace dra::apiserver
