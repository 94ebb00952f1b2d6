// The kinds of resource.k8s.io.
#pragma once

#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

std::vector<SchemaTable> resource_tables();
void add_resource_kinds(KindRegistry& registry);

KindInfo resource_claim_info();
std::unique_ptr<Kind> make_device_class_kind();
std::unique_ptr<Kind> make_device_taint_rule_kind();
// Served with the gate DRAResourcePoolStatus.
std::unique_ptr<Kind> make_pool_status_request_kind();
std::unique_ptr<Kind> make_resource_claim_kind();
std::unique_ptr<Kind> make_resource_claim_template_kind();
std::unique_ptr<Kind> make_resource_slice_kind();

// Of a kind that v1 and both beta versions serve.
KindInfo resource_kind_info(const std::string& kind, const std::string& plural, const std::string& singular,
                            bool namespaced);

}  // namespace dra::apiserver
