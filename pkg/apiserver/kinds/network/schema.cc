#include "pkg/apiserver/kinds/network/kinds.h"

namespace dra::apiserver {

// k8s.io/api/networking/v1 of 1.36: NetworkPolicy.
std::vector<SchemaTable> network_tables() {
  return {{"networking/v1", R"(
type NetworkPolicy
1 metadata ObjectMeta
2 spec NetworkPolicySpec

type NetworkPolicySpec
1 podSelector LabelSelector
2 ingress []NetworkPolicyIngressRule
3 egress []NetworkPolicyEgressRule
4 policyTypes []string

type NetworkPolicyIngressRule
1 ports []NetworkPolicyPort
2 from []NetworkPolicyPeer

type NetworkPolicyEgressRule
1 ports []NetworkPolicyPort
2 to []NetworkPolicyPeer

type NetworkPolicyPort
1 protocol *string
2 port *IntOrString
3 endPort *int32

type NetworkPolicyPeer
1 podSelector *LabelSelector
2 namespaceSelector *LabelSelector
3 ipBlock *IPBlock

type IPBlock
1 cidr string !
2 except []string
)"}};
}

}  // namespace dra::apiserver
