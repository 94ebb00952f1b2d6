#include "pkg/protocol/pod_changes.h"

#include "pkg/protocol/history.h"

namespace dra::protocol {

bool is_only_of_conditions(const api::Pod& before, const api::Pod& after) {
  api::Pod same = after;
  same.conditions = before.conditions;
  same.metadata.resource_version = before.metadata.resource_version;
  same.metadata.managed_fields = before.metadata.managed_fields;
  // Written along with a condition.
  same.metadata.annotations.erase(std::string(kHistoryAnnotation));
  if (const auto known = before.metadata.annotations.find(kHistoryAnnotation);
      known != before.metadata.annotations.end())
    same.metadata.annotations.insert(*known);
  return same == before;
}

}  // namespace dra::protocol
