// The kinds of resource.k8s.io, for the registry.
#pragma once

#include <memory>

#include "pkg/apiserver/kind.h"

namespace dra::apiserver {

std::unique_ptr<Kind> make_device_class_kind();
std::unique_ptr<Kind> make_device_taint_rule_kind();
std::unique_ptr<Kind> make_resource_claim_kind();
std::unique_ptr<Kind> make_resource_claim_template_kind();
std::unique_ptr<Kind> make_resource_slice_kind();

}  // namespace dra::apiserver
