#include "pkg/apiserver/kinds/kind_info.h"

namespace dra::apiserver {

KindInfo kind_info(const GroupVersion& version, const std::string& schema_package, const std::string& kind,
                   const std::string& plural, const std::string& singular, bool namespaced) {
  KindInfo i;
  i.group = version.group;
  i.kind = kind;
  i.plural = plural;
  i.singular = singular;
  i.namespaced = namespaced;
  i.hub = version;
  i.served = {{version, schema_package, ""}};
  return i;
}

void with_status(KindInfo& info) {
  info.has_status = true;
  info.subresources.push_back({"status", {}, info.kind, {"get", "patch", "update"}});
}

}  // namespace dra::apiserver
