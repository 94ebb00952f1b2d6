// explain, fits and doctor say of what is not known what the manager decides.
#include "pkg/inspect/state/unknown.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/inspect/state/manifest.h"
#include "pkg/inspect/verbs/doctor.h"
#include "pkg/inspect/verbs/explain.h"
#include "pkg/inspect/verbs/fits.h"
#include "pkg/inspect/verbs/top.h"

namespace dra::inspect::unknown_test {

namespace {

// One node with two devices; pod "a" waits for claim "a", pod "g" is a member of PodGroup "g".
struct Cluster {
  Objects objects;

  Cluster(const std::string& in_device, const std::string& in_claim, const std::string& in_class,
          const std::string& in_group) {
    parse_rfc3339("2026-03-01T12:00:00Z", objects.taken);
    objects.server_version = "v1.36.2";
    objects.dra_versions = {"v1"};
    add("nodes", R"({"metadata": {"name": "n", "uid": "n"}, "status": {"allocatable": {"pods": "9", "cpu": "8"}}})");
    add("resourceslices", R"({"metadata": {"name": "s", "uid": "s"}, "spec": {"driver": "gpu.example.com",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n",
        "devices": [{"name": "gpu-0")" +
                              in_device + R"(}, {"name": "gpu-1")" + in_device + "}]}}");
    add("deviceclasses", R"({"metadata": {"name": "gpu", "uid": "k"}, "spec": {)" + in_class + "}}");
    add("resourceclaims", R"({"metadata": {"name": "a", "namespace": "ml", "uid": "c"}, "spec": {"devices": {
        "requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": 1)" +
                              in_claim + "}}]}}}");
    add("pods", R"({"metadata": {"name": "a", "namespace": "ml", "uid": "a"}, "status": {"phase": "Pending"}, "spec": {
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "a"}], "containers": [{"name": "c"}]}})");
    add("pods", R"({"metadata": {"name": "g", "namespace": "ml", "uid": "g"}, "status": {"phase": "Pending"}, "spec": {
        "schedulingGroup": {"podGroupName": "g"}, "containers": [{"name": "c"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "a"}]}})");
    add("podgroups", R"({"metadata": {"name": "g", "namespace": "ml", "uid": "p"}, "spec": {)" + in_group + "}}");
  }

  void add(const char* plural, const std::string& object) {
    const auto added = add_page(objects, plural, "{\"items\": [" + object + "]}");
    EXPECT_TRUE(added && objects.unreadable.empty()) << object;
  }
  std::string explain(const std::string& pod, StateOptions options = {}) {
    State state(objects, std::move(options));
    auto answer = inspect::explain(state, "pod/" + pod, {.ns = "ml"});
    if (!answer) return answer.error().message();
    std::string text;
    for (const std::string& line : answer->lines) text += line + " ";
    // Lines are wrapped, and indented.
    text.erase(std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }), text.end());
    return text;
  }
  // "TOTAL USED FREE BAD TROUBLE" of the node, where USED is whole or cut.
  std::string top() {
    State state(objects, {});
    const Answer answer = top_nodes(state, {});
    const std::vector<Cell>& cells = answer.tables.at(0).rows.at(0).cells;
    const int used = std::stoi(cells.at(3).text) + std::stoi(cells.at(4).text);
    return cells.at(2).text + " " + std::to_string(used) + " " + cells.at(5).text + " " + cells.at(6).text + " " +
           cells.at(11).text;
  }
  std::string doctor(StateOptions options = {}) {
    State state(objects, std::move(options));
    std::string text;
    for (const Diagnosis& one : diagnose(state))
      if (one.check == "unknown fields") text += one.finding + "\n";
    return text;
  }
};

StateOptions ignoring(const std::string& field) {
  StateOptions options;
  options.features.ignore({field});
  return options;
}

}  // namespace

TEST(Unknown, NothingIsSaidWithoutAny) {
  Cluster cluster("", "", "", R"("schedulingPolicy": {"basic": {}})");
  EXPECT_EQ(cluster.doctor(), "every field of slices, classes, claims and PodGroups is known\n");
  EXPECT_NE(cluster.explain("a").find("Fits on node n"), std::string::npos) << cluster.explain("a");
}

TEST(Unknown, EachKindIsNamedWithItsFieldAndTheFlag) {
  const std::string flag = "--ignore-unknown-fields=";
  struct Case {
    Cluster cluster;
    std::string pod, object, field;
  };
  Case cases[] = {
      {{R"(, "newField": 1)", "", "", ""},
       "a",
       "ResourceSlice s: 2 of its devices",
       "resourceslices.spec.devices.newField"},
      {{R"(, "consumesCounters": [{"counterSet": "x", "newField": ["a"]}])", "", "", ""},
       "a",
       "ResourceSlice s: no device of pool gpu.example.com/n",
       "resourceslices.spec.devices.consumesCounters.newField"},
      {{R"(, "nodeAllocatableResourceMappings": {"cpu": {"allocationMultiplier": "3"}})", "", "", ""},
       "a",
       "ResourceSlice s: 2 of its devices",
       "resourceslices.spec.devices.nodeAllocatableResourceMappings"},
      {{"", R"(, "newField": [{"name": "a/b"}])", "", ""},
       "a",
       "ResourceClaim ml/a: it is not allocated",
       "resourceclaims.spec.devices.requests.exactly.newField"},
      {{"", "", R"("newField": 1)", ""}, "a", "DeviceClass gpu: claims", "deviceclasses.spec.newField"},
      {{"", "", "", R"("newField": {"a": 1})"},
       "g",
       "PodGroup ml/g: its pods are not placed",
       "podgroups.spec.newField"},
  };
  for (Case& one : cases) {
    const std::string ill = one.cluster.doctor();
    EXPECT_NE(ill.find(one.object), std::string::npos) << ill;
    EXPECT_NE(ill.find(flag + one.field + "\n"), std::string::npos) << ill;
    std::string why = one.cluster.explain(one.pod);
    EXPECT_EQ(why.find("Fits on"), std::string::npos) << why;
    EXPECT_EQ(one.cluster.doctor(ignoring(one.field)),
              "every field of slices, classes, claims and PodGroups is known\n");
    // The counter set does not exist: that pool is unusable for another reason, too.
    if (one.field.find("consumesCounters") != std::string::npos) continue;
    EXPECT_NE(why.find("this version"), std::string::npos) << why;
    why = one.cluster.explain(one.pod, ignoring(one.field));
    EXPECT_NE(why.find("Fits on node n"), std::string::npos) << one.field << ": " << why;
  }
}

TEST(Unknown, TopCountsRefusedDevicesAsBad) {
  EXPECT_EQ(Cluster("", "", "", "").top(), "2 0 2 0 -");
  const std::string some = Cluster(R"(, "newField": 1)", "", "", "").top();
  EXPECT_TRUE(some.starts_with("2 0 0 2 n has 2 refused devices: ResourceSlice \"s\": field spec.devices[0].newField"))
      << some;
  const std::string all = Cluster(R"(, "consumesCounters": [{"newField": 1}])", "", "", "").top();
  EXPECT_NE(all.find("n is refused: ResourceSlice \"s\": field spec.devices[0].consumesCounters[0].newField"),
            std::string::npos)
      << all;
  EXPECT_TRUE(all.starts_with("2 0 0 2 ")) << all;
}

TEST(Unknown, FitsJudgesAFileAsTheManagerWould) {
  Cluster cluster("", "", "", "");
  const auto read = [](const std::string& field) {
    return read_manifest(R"({"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "h"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 1}})" +
                             field + R"(}}
---
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"schedulingGroup": {"podGroupName": "h"},
 "containers": [{"name": "c"}], "resourceClaims": [{"name": "gpu", "resourceClaimName": "a"}]}})",
                         "ml");
  };
  for (const bool known : {true, false}) {
    auto manifest = read(known ? "" : R"(, "newField": 1)");
    ASSERT_TRUE(manifest) << manifest.error().message();
    auto found = fits(cluster.objects, *manifest, {});
    ASSERT_TRUE(found) << found.error().message();
    ASSERT_EQ(found->size(), 1u);
    EXPECT_EQ(found->front().fit, known ? Fit::kNow : Fit::kNever) << found->front().why;
    if (!known) {
      EXPECT_NE(found->front().why.find("field spec.newField is not known"), std::string::npos);
    }
  }
}

}  // namespace dra::inspect::unknown_test
