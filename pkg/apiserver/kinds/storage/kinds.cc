#include "pkg/apiserver/kinds/storage/kinds.h"

#include "pkg/apiserver/kinds/storage/tables.h"
#include "pkg/apiserver/kinds/storage/volume_kinds.h"

namespace dra::apiserver {

std::vector<SchemaTable> storage_tables() {
  return {{"core/v1", core_volume_table()}, {"storage/v1", storage_table()}};
}

void add_storage_kinds(KindRegistry& registry) {
  registry.add(make_persistent_volume_kind());
  registry.add(make_persistent_volume_claim_kind());
  for (auto describe : {storage_class_kind, csi_driver_kind, csi_node_kind, csi_storage_capacity_kind,
                        volume_attachment_kind, volume_attributes_class_kind})
    registry.add(std::make_unique<DescribedKind>(describe()));
}

}  // namespace dra::apiserver
