// The kinds of this folder, for its list (kinds.cc). Internal to it.
#pragma once

#include <memory>

#include "pkg/apiserver/kinds/described_kind.h"

namespace dra::apiserver {

std::unique_ptr<Kind> make_persistent_volume_kind();
std::unique_ptr<Kind> make_persistent_volume_claim_kind();
KindDescription storage_class_kind();
KindDescription csi_driver_kind();
KindDescription csi_node_kind();
KindDescription csi_storage_capacity_kind();
KindDescription volume_attachment_kind();
KindDescription volume_attributes_class_kind();

// As admission plug-ins add it; does nothing if it is there.
void add_finalizer(Json& object, const char* name);

}  // namespace dra::apiserver
