#include <gtest/gtest.h>

#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/model/kind.h"
#include "pkg/apiserver/model/schema.h"

namespace dra::apiserver::tables_test {

const Field* field_of(std::string_view package, std::string_view type, std::string_view name) {
  const ObjectType* t = builtin_schemas().find(package, type);
  return t == nullptr ? nullptr : t->find(name);
}

TEST(Tables, EveryServedVersionOfEveryKindHasASchema) {
  KindRegistry registry;
  register_all_kinds(registry);
  for (const auto& k : registry.kinds()) {
    for (const auto& v : k->info().served) {
      const ObjectType* t = builtin_schemas().find(v.schema_package, k->info().kind);
      ASSERT_NE(t, nullptr) << v.schema_package << " " << k->info().kind;
      EXPECT_NE(t->find("metadata"), nullptr) << v.schema_package << " " << k->info().kind;
    }
  }
}

TEST(Tables, ListTypesAndMergeKeysOfTheFieldsControllersWrite) {
  const Field* devices = field_of("resource/v1", "ResourceClaimStatus", "devices");
  ASSERT_NE(devices, nullptr);
  EXPECT_EQ(devices->map_keys, (std::vector<std::string>{"driver", "device", "pool", "shareID"}));
  EXPECT_FALSE(devices->merge);  // strategic merge replaces it whole
  const Field* reserved = field_of("resource/v1", "ResourceClaimStatus", "reservedFor");
  ASSERT_NE(reserved, nullptr);
  EXPECT_EQ(reserved->merge_key, "uid");
  EXPECT_EQ(reserved->list_type, ListType::kMap);
  const Field* statuses = field_of("core/v1", "PodStatus", "resourceClaimStatuses");
  ASSERT_NE(statuses, nullptr);
  EXPECT_TRUE(statuses->retain_keys);
  EXPECT_EQ(statuses->merge_key, "name");
  EXPECT_EQ(field_of("resource/v1", "DeviceClaim", "requests")->list_type, ListType::kAtomic);
  EXPECT_TRUE(field_of("resource/v1", "DeviceClaim", "requests")->always);
  const Field* ports = field_of("core/v1", "Container", "ports");
  EXPECT_EQ(ports->map_keys, (std::vector<std::string>{"containerPort", "protocol"}));
  EXPECT_EQ(ports->merge_key, "containerPort");
  EXPECT_EQ(field_of("core/v1", "ContainerPort", "protocol")->default_text, "TCP");
}

TEST(Tables, InlinedSourcesAreFields) {
  EXPECT_NE(field_of("core/v1", "Volume", "emptyDir"), nullptr);
  EXPECT_NE(field_of("core/v1", "EphemeralContainer", "image"), nullptr);
  EXPECT_NE(field_of("resource/v1", "DeviceClaimConfiguration", "opaque"), nullptr);
  EXPECT_EQ(field_of("resource/v1beta1", "DeviceRequest", "exactly"), nullptr);
  EXPECT_NE(field_of("resource/v1beta1", "Device", "basic"), nullptr);
}

}  // namespace dra::apiserver::tables_test
