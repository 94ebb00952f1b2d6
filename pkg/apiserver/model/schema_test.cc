#include "pkg/apiserver/model/schema.h"

#include <gtest/gtest.h>

#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/model/kind.h"

namespace dra::apiserver::schema_test {

TEST(Schema, BuiltinTablesParseAndLink) {
  const ObjectType* meta = builtin_schemas().find("meta/v1", "ObjectMeta");
  ASSERT_NE(meta, nullptr);
  const Field* owners = meta->find("ownerReferences");
  ASSERT_NE(owners, nullptr);
  EXPECT_EQ(owners->list_type, ListType::kMap);
  EXPECT_EQ(owners->merge_key, "uid");
  EXPECT_EQ(owners->value.element->object->name, "OwnerReference");
  EXPECT_EQ(meta->find("finalizers")->list_type, ListType::kSet);
  EXPECT_EQ(meta->find("nope"), nullptr);
}

TEST(Schema, ErrorsNameTheLine) {
  SchemaSet set;
  auto r = set.add("x/v1", "type A\n1 a string\n2 b\n");
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message().find("line 3"), std::string::npos) << r.error().message();
  SchemaSet unlinked;
  ASSERT_TRUE(unlinked.add("x/v1", "type A\n1 a []*Missing map=k\n"));
  auto linked = unlinked.link();
  ASSERT_FALSE(linked);
  EXPECT_NE(linked.error().message().find("Missing"), std::string::npos);
}

TEST(Schema, InlinedStructsAreVisibleInTheirParent) {
  SchemaSet set;
  ASSERT_TRUE(set.add("x/v1", "type A\n1 name string !\n2 source S inline\ntype S\n1 secret *int32\n"));
  ASSERT_TRUE(set.link());
  EXPECT_NE(set.find("x/v1", "A")->find("secret"), nullptr);
  EXPECT_EQ(set.find("x/v1", "A")->find("source"), nullptr);
}

TEST(Kinds, AllOfThemHaveTheirFacts) {
  KindRegistry registry;
  register_all_kinds(registry);
  EXPECT_NE(registry.find({"resource.k8s.io", "v1beta1"}, "resourceclaims"), nullptr);
  EXPECT_NE(registry.find({"events.k8s.io", "v1"}, "events"), nullptr);
  EXPECT_EQ(registry.find({"resource.k8s.io", "v1alpha3"}, "resourceclaims"), nullptr);
  for (const auto& k : registry.kinds()) EXPECT_NE(k->info().find_version(k->info().hub), nullptr) << k->info().plural;
}

TEST(Table, HumanDuration) {
  EXPECT_EQ(human_duration(5), "5s");
  EXPECT_EQ(human_duration(150), "2m30s");
  EXPECT_EQ(human_duration(3 * 3600 + 12 * 60), "3h12m");
  EXPECT_EQ(human_duration(5 * 86400 + 4 * 3600), "5d4h");
  EXPECT_EQ(human_duration(40 * 86400), "40d");
}

}  // namespace dra::apiserver::schema_test
