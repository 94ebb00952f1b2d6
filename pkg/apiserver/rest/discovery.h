// Discovery documents (legacy lists and apidiscovery.k8s.io/v2) and the health and version endpoints.
#pragma once

#include "pkg/apiserver/rest/call.h"

namespace dra::apiserver {

// Answers /api, /apis, /api/V, /apis/G, /apis/G/V, /version, /healthz, /livez, /readyz. False if the path is none of
// them.
bool handle_discovery(const Env& env, Call& call);

// Kinds that exist only as a body of POST: bindings and reviews.
struct CreateOnlyResource {
  GroupVersion gv;
  std::string plural;
  std::string singular;
  std::string kind;
  bool namespaced = false;
};
const std::vector<CreateOnlyResource>& create_only_resources();

}  // namespace dra::apiserver
