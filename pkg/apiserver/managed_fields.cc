#include "pkg/apiserver/managed_fields.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/rest_write.h"

namespace dra::apiserver {

const ObjectType* managed_type(const Kind& kind, const GroupVersion&) {
  const ServedVersion* hub = kind.info().find_version(kind.info().hub);
  return SchemaSet::builtin().find(hub->schema_package, kind.info().kind);
}

ManagerTag manager_tag(const Env& env, const Call& call) {
  ManagerTag tag;
  tag.manager = call.manager();
  tag.subresource = call.path.subresource;
  tag.api_version = call.gv().text();
  tag.time = format_rfc3339(env.reactor.clock().wall_now());
  return tag;
}

void track_update(const ObjectType*, const Json*, Json&, const ManagerTag&) {}

}  // namespace dra::apiserver
