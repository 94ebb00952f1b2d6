// Volumes and their classes through the server: defaults, refusals, permitted changes, columns.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/model/kind.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver::storage_test {

class Classes : public ObjectReader {
 public:
  std::vector<Json> all;
  std::shared_ptr<const Json> find(std::string_view, std::string_view, std::string_view,
                                   std::string_view) const override {
    return nullptr;
  }
  void for_each(std::string_view, std::string_view plural, std::string_view,
                const std::function<void(const Json&)>& visit) const override {
    if (plural != "storageclasses") return;
    for (const Json& c : all) visit(c);
  }
};

struct Fixture : testing::Test {
  Fixture() {
    register_all_kinds(registry);
    ctx.clock = &clock;
    ctx.reader = &classes;
  }
  const Kind& kind(const char* group, const char* plural) {
    const Kind* found = registry.find({group, "v1"}, plural);
    EXPECT_NE(found, nullptr) << plural;
    return *found;
  }
  // The object as it would be stored.
  Json made(const Kind& k, Json object) {
    k.set_defaults(object);
    k.prepare_for_create(ctx, object);
    EXPECT_TRUE(k.admit_create(ctx, object));
    return object;
  }
  std::vector<std::string> errors(const Kind& k, Json object) {
    object = made(k, std::move(object));
    std::vector<std::string> out;
    for (const FieldError& e : k.validate_create(ctx, object)) out.push_back(to_text(e));
    return out;
  }
  std::vector<std::string> change_errors(const Kind& k, const Json& old, const Json& object) {
    std::vector<std::string> out;
    for (const FieldError& e : k.validate_update(ctx, object, old)) out.push_back(to_text(e));
    return out;
  }

  KindRegistry registry;
  ManualClock clock;
  Classes classes;
  WriteContext ctx;
};

Json claim() {
  return {{"metadata", {{"name", "c"}, {"namespace", "ns"}}},
          {"spec", {{"accessModes", {"ReadWriteOnce"}}, {"resources", {{"requests", {{"storage", "5Gi"}}}}}}}};
}

Json volume() {
  return {{"metadata", {{"name", "v"}}},
          {"spec",
           {{"accessModes", {"ReadWriteMany", "ReadWriteOnce"}},
            {"capacity", {{"storage", "9Gi"}}},
            {"hostPath", {{"path", "/data"}}}}}};
}

using Texts = std::vector<std::string>;

TEST_F(Fixture, VolumesAndClaimsAreProtectedAndPending) {
  const Json c = made(kind("", "persistentvolumeclaims"), claim());
  EXPECT_EQ(c["metadata"]["finalizers"], Json::array({"kubernetes.io/pvc-protection"}));
  EXPECT_EQ(c["status"]["phase"], "Pending");
  EXPECT_EQ(c["spec"]["volumeMode"], "Filesystem");
  const Json v = made(kind("", "persistentvolumes"), volume());
  EXPECT_EQ(v["metadata"]["finalizers"], Json::array({"kubernetes.io/pv-protection"}));
  EXPECT_EQ(v["spec"]["persistentVolumeReclaimPolicy"], "Retain");
  EXPECT_FALSE(text_of(v["status"], "lastPhaseTransitionTime").empty());
}

TEST_F(Fixture, AClaimWithoutAClassGetsTheNewestDefault) {
  const auto storage_class = [](const char* name, const char* created, const char* is_default) {
    return Json{{"metadata",
                 {{"name", name},
                  {"creationTimestamp", created},
                  {"annotations", {{"storageclass.kubernetes.io/is-default-class", is_default}}}}}};
  };
  classes.all = {storage_class("old", "2026-01-01T00:00:00Z", "true"),
                 storage_class("new", "2026-02-01T00:00:00Z", "true"),
                 storage_class("other", "2026-03-01T00:00:00Z", "false")};
  const Kind& claims = kind("", "persistentvolumeclaims");
  EXPECT_EQ(made(claims, claim())["spec"]["storageClassName"], "new");
  Json none = claim();
  none["spec"]["storageClassName"] = "";
  EXPECT_EQ(made(claims, none)["spec"]["storageClassName"], "") << "none at all is a choice";
}

TEST_F(Fixture, RefusalsNameTheField) {
  Json c = claim();
  c["spec"]["accessModes"] = {"ReadWriteOncePod", "ReadWriteOnce"};
  c["spec"]["resources"]["requests"]["storage"] = "0";
  EXPECT_EQ(errors(kind("", "persistentvolumeclaims"), c),
            (Texts{"spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
                   "spec.resources[storage]: Invalid value: \"0\": must be greater than zero"}));
  Json v = volume();
  v["spec"]["local"] = {{"path", "/x"}};
  EXPECT_EQ(errors(kind("", "persistentvolumes"), v),
            (Texts{"spec.local: Forbidden: may not specify more than 1 volume type"}));
  v["spec"].erase("hostPath");
  EXPECT_EQ(errors(kind("", "persistentvolumes"), v),
            (Texts{"spec.nodeAffinity: Required value: Local volume requires node affinity"}));
  EXPECT_EQ(errors(kind("storage.k8s.io", "storageclasses"), {{"metadata", {{"name", "s"}}}, {"provisioner", ""}}),
            (Texts{"provisioner: Required value"}));
  EXPECT_EQ(errors(kind("storage.k8s.io", "volumeattachments"),
                   {{"metadata", {{"name", "a"}}}, {"spec", {{"attacher", "d"}, {"nodeName", "n"}}}}),
            (Texts{"spec.source: Required value: must specify exactly one of inlineVolumeSpec and "
                   "persistentVolumeName"}));
}

TEST_F(Fixture, AClaimTakesItsVolumeOnceAndGrowsWhenBound) {
  const Kind& claims = kind("", "persistentvolumeclaims");
  const Json old = made(claims, claim());
  Json bound = old;
  bound["spec"]["volumeName"] = "v";
  EXPECT_EQ(change_errors(claims, old, bound), Texts{});
  Json other = bound;
  other["spec"]["volumeName"] = "w";
  EXPECT_EQ(change_errors(claims, bound, other).size(), 1U);
  Json grown = bound;
  grown["spec"]["resources"]["requests"]["storage"] = "6Gi";
  EXPECT_EQ(change_errors(claims, bound, grown).size(), 1U) << "not before it is bound";
  bound["status"]["phase"] = grown["status"]["phase"] = "Bound";
  EXPECT_EQ(change_errors(claims, bound, grown), Texts{});
}

TEST_F(Fixture, ColumnsAreKubectls) {
  const auto cells = [&](const Kind& k, const Json& object) {
    Json row = k.cells(object, clock.wall_now());
    EXPECT_EQ(row.size(), k.columns().size());
    return row;
  };
  Json v = made(kind("", "persistentvolumes"), volume());
  v["spec"]["claimRef"] = {{"namespace", "ns"}, {"name", "c"}};
  Json row = cells(kind("", "persistentvolumes"), v);
  row.erase(9);  // the age
  EXPECT_EQ(row, Json::parse(R"(["v","9Gi","RWO,RWX","Retain","Pending","ns/c","","<unset>","","Filesystem"])"));
  Json c = made(kind("", "persistentvolumeclaims"), claim());
  EXPECT_EQ(cells(kind("", "persistentvolumeclaims"), c)[3], "") << "no capacity before it is bound";
  Json s = made(kind("storage.k8s.io", "storageclasses"), {{"metadata", {{"name", "s"}}}, {"provisioner", "p"}});
  s["metadata"]["annotations"] = {{"storageclass.kubernetes.io/is-default-class", "true"}};
  row = cells(kind("storage.k8s.io", "storageclasses"), s);
  row.erase(5);
  EXPECT_EQ(row, Json::array({"s (default)", "p", "Delete", "Immediate", false}));
}

TEST_F(Fixture, PoliciesAreCheckedButNotCompiled) {
  Json policy = {{"metadata", {{"name", "p"}}}, {"spec", {{"validations", {{{"expression", " "}}}}}}};
  EXPECT_EQ(errors(kind("admissionregistration.k8s.io", "validatingadmissionpolicies"), policy),
            (Texts{"spec.matchConstraints: Required value",
                   "spec.validations[0].expression: Required value: expression is not specified"}));
  EXPECT_EQ(errors(kind("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
                   {{"metadata", {{"name", "b"}}}, {"spec", {{"validationActions", {"Deny", "Warn"}}}}})
                .size(),
            2U);
}

}  // namespace dra::apiserver::storage_test
