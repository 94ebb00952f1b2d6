#include "pkg/apiserver/kinds/rbac/kinds.h"

namespace dra::apiserver {

// k8s.io/api/rbac/v1 of 1.36.
std::vector<SchemaTable> rbac_tables() {
  return {{"rbac/v1", R"(
type Role
1 metadata ObjectMeta
2 rules []PolicyRule !

type ClusterRole
1 metadata ObjectMeta
2 rules []PolicyRule !
3 aggregationRule *AggregationRule

type AggregationRule
1 clusterRoleSelectors []LabelSelector

type PolicyRule
1 verbs []string !
2 apiGroups []string
3 resources []string
4 resourceNames []string
5 nonResourceURLs []string

type RoleBinding
1 metadata ObjectMeta
2 subjects []Subject
3 roleRef RoleRef

type ClusterRoleBinding
1 metadata ObjectMeta
2 subjects []Subject
3 roleRef RoleRef

type RoleRef atomic
1 apiGroup string !
2 kind string !
3 name string !

type Subject atomic
1 kind string !
2 apiGroup string
3 name string !
4 namespace string
)"}};
}

}  // namespace dra::apiserver
