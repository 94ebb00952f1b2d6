#include "pkg/apiserver/kinds/folders.h"

#include "pkg/apiserver/admissionapi/kinds.h"
#include "pkg/apiserver/extensionapi/kinds.h"
#include "pkg/apiserver/groupapi/kinds.h"
#include "pkg/apiserver/networkapi/kinds.h"
#include "pkg/apiserver/storageapi/kinds.h"

namespace dra::apiserver {

const std::vector<KindFolder>& kind_folders() {
  static const std::vector<KindFolder> folders = {
      {admission_tables, add_admission_kinds}, {extension_tables, add_extension_kinds}, {group_tables, add_group_kinds},
      {network_tables, add_network_kinds},     {storage_tables, add_storage_kinds},
  };
  return folders;
}

}  // namespace dra::apiserver
