#include "pkg/protocol/pod_changes.h"

namespace dra::protocol {

bool is_only_of_conditions(const api::Pod& before, const api::Pod& after) {
  api::Pod same = after;
  same.conditions = before.conditions;
  same.metadata.resource_version = before.metadata.resource_version;
  same.metadata.managed_fields = before.metadata.managed_fields;
  return same == before;
}

}  // namespace dra::protocol
