#include "pkg/apiserver/kinds/quota/kinds.h"

namespace dra::apiserver {

// k8s.io/api/core/v1 of 1.36: ResourceQuota.
std::vector<SchemaTable> quota_tables() {
  return {{"core/v1", R"(
type ResourceQuota
1 metadata ObjectMeta
2 spec ResourceQuotaSpec
3 status ResourceQuotaStatus

type ResourceQuotaSpec
1 hard map[string]Quantity
2 scopes []string atomic
3 scopeSelector *ScopeSelector

type ResourceQuotaStatus
1 hard map[string]Quantity
2 used map[string]Quantity

type ScopeSelector atomic
1 matchExpressions []ScopedResourceSelectorRequirement atomic

type ScopedResourceSelectorRequirement
1 scopeName string !
2 operator string !
3 values []string atomic
)"}};
}

}  // namespace dra::apiserver
