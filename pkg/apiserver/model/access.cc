#include "pkg/apiserver/model/access.h"

#include "pkg/base/strings.h"

namespace dra::apiserver {

Status forbidden_access(const std::string& user, const AccessAttributes& what, const std::string& reason) {
  const std::string end = reason.empty() ? "" : ": " + reason;
  if (!what.path.empty()) {
    Status s;
    s.code = 403;
    s.reason = "Forbidden";
    s.message = "forbidden: User " + quote(user) + " cannot " + what.verb + " path " + quote(what.path) + end;
    return s;
  }
  std::string resource = what.resource.resource;
  if (!what.subresource.empty()) resource += "/" + what.subresource;
  std::string text = "User " + quote(user) + " cannot " + what.verb + " resource " + quote(resource) +
                     " in API group " + quote(what.resource.group) + " ";
  text += what.namespace_.empty() ? "at the cluster scope" : "in the namespace " + quote(what.namespace_);
  return forbidden_status(what.resource, what.name, text + end);
}

}  // namespace dra::apiserver
