#include "pkg/apiserver/coreapi/kinds.h"
#include "pkg/apiserver/kind.h"
#include "pkg/apiserver/resourceapi/kinds.h"

namespace dra::apiserver {

void register_all_kinds(KindRegistry& registry) {
  auto plain = [&](std::string_view group, std::string_view plural) {
    registry.add(std::make_unique<Kind>(catalog_info(group, plural)));
  };
  plain("", "configmaps");
  plain("", "events");
  plain("", "namespaces");
  plain("", "nodes");
  registry.add(make_pod_kind());
  plain("", "secrets");
  plain("", "serviceaccounts");
  plain("", "services");
  plain("apps", "deployments");
  plain("apps", "replicasets");
  plain("batch", "jobs");
  plain("coordination.k8s.io", "leases");
  plain("scheduling.k8s.io", "priorityclasses");
  registry.add(make_device_class_kind());
  registry.add(make_resource_claim_kind());
  registry.add(make_resource_claim_template_kind());
  registry.add(make_resource_slice_kind());
}

}  // namespace dra::apiserver
