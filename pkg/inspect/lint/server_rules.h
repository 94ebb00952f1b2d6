// What an API server of 1.36 refuses in a new object, whatever else the cluster has: fields of another type, fields
// that it does not know (kubectl asks for strict validation), and the validation of the kind after its defaults.
//
// The rules are those of the embedded API server (pkg/apiserver), which follows kube-apiserver's words. There is no
// second copy of them here, and no server: kinds are asked directly, without storage and without admission. Only the
// label that admin access wants is looked up, in the namespaces that the caller knows. Pure.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dra::inspect {

struct ServerRefusal {
  std::string field;      // "spec.devices.requests[0].exactly.count", in the newest version; empty: the whole object
  std::string why;        // "Invalid value: 3: must not be specified ..."
  bool unknown = false;   // the field does not exist
  bool mistyped = false;  // it has a value of another type, so that no rule was applied
};

struct ServerRules {
  std::string ns = "default";  // of objects that name none
  // Does the namespace have the label for admin access? Null: nobody knows, and nothing is refused for it.
  std::function<bool(const std::string& ns)> admin_access = nullptr;
};

struct ServerVerdict {
  bool known = false;  // the server serves such a kind; else there are no rules
  std::vector<ServerRefusal> refusals;
};

// `object` has apiVersion and kind.
ServerVerdict refused_by_server(const nlohmann::json& object, const ServerRules& rules);

}  // namespace dra::inspect
