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

KindInfo core_kind_info(const std::string& kind, const std::string& plural, const std::string& singular,
                        bool namespaced) {
  return kind_info({"", "v1"}, "core/v1", kind, plural, singular, namespaced);
}

SubresourceInfo proxy_subresource(const std::string& options_kind) {
  return {"proxy", {}, options_kind, {"create", "delete", "get", "patch", "update"}};
}

void with_status(KindInfo& info) {
  info.has_status = true;
  info.subresources.push_back({"status", {}, info.kind, {"get", "patch", "update"}});
}

}  // namespace dra::apiserver
