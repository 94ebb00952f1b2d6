// The expected sets are those that kube-apiserver 1.36.2 records for the same documents.
#include "pkg/apiserver/patch/field_tree.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/apiserver/codec/codec.h"
#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver::field_tree_test {

const ObjectType* type_of(const char* package, const char* kind) {
  return builtin_schemas().find(package, kind);
}

TEST(FieldTree, AnAppliedMapOwnsItsMembersButNotItself) {
  const Json config = Json::parse(R"({"metadata":{"name":"a","labels":{"x":"1"}},"data":{"k":"v"}})");
  EXPECT_EQ(to_fields_v1(applied_fields(type_of("core/v1", "ConfigMap"), config)),
            Json::parse(R"({"f:data":{"f:k":{}},"f:metadata":{"f:labels":{"f:x":{}}}})"));
  EXPECT_EQ(to_fields_v1(applied_fields(type_of("core/v1", "ConfigMap"), Json::parse(R"({"data":{}})"))),
            Json::parse(R"({"f:data":{}})"));
}

TEST(FieldTree, AnUpdateOwnsEachLevelThatItAdds) {
  const ObjectType* pod = type_of("core/v1", "Pod");
  Json after = Json::parse(R"({"spec":{"containers":[{"name":"c","env":[{"name":"A","value":"1"}],
    "livenessProbe":{"httpGet":{"port":80}}}]}})");
  ASSERT_EQ(decode_object(pod, after).error, "");
  const Json fields = to_fields_v1(compare_fields(pod, zero_object(*pod), after).changed());
  const Json container = fields["f:spec"]["f:containers"][R"(k:{"name":"c"})"];
  EXPECT_FALSE(fields["f:spec"].contains("."));                  // existed before, though empty
  EXPECT_FALSE(fields["f:spec"]["f:containers"].contains("."));  // null before, which is a value
  EXPECT_TRUE(container.contains("."));
  EXPECT_TRUE(container["f:env"].contains("."));
  EXPECT_TRUE(container["f:livenessProbe"].contains("."));
}

TEST(FieldTree, WhatAnotherStillOwnsStaysWhenOneGivesItUp) {
  const ObjectType* type = type_of("core/v1", "ConfigMap");
  const auto fields = [&](const char* text) { return applied_fields(type, Json::parse(text)); };
  const Json merged = Json::parse(R"({"metadata":{"name":"a"},"data":{"x":"1","y":"2","z":"3"}})");
  const FieldSet last = fields(R"({"data":{"x":"1","y":"2"}})");
  FieldSet owned = fields(R"({"data":{"x":"1"}})");
  owned.merge(fields(R"({"data":{"y":"2","z":"3"}})"));
  EXPECT_EQ(prune_abandoned(type, merged, last, owned), merged);
  EXPECT_EQ(prune_abandoned(type, merged, last, fields(R"({"data":{"x":"1"}})")),
            Json::parse(R"({"metadata":{"name":"a"},"data":{"x":"1","z":"3"}})"));
}

TEST(FieldTree, TheServersMetadataIsNeverPruned) {
  const ObjectType* type = type_of("core/v1", "ConfigMap");
  const Json merged = Json::parse(R"({"metadata":{"name":"a","uid":"u","finalizers":["x.io/a"]}})");
  const FieldSet last = applied_fields(type, merged);
  const Json pruned = prune_abandoned(type, merged, last, {});
  EXPECT_EQ(pruned["metadata"]["uid"], "u");
  EXPECT_FALSE(pruned["metadata"].contains("finalizers") && !pruned["metadata"]["finalizers"].is_null());
}

}  // namespace dra::apiserver::field_tree_test
