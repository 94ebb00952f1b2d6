// PodGroups and Workloads: the causes and admission results of kube-apiserver 1.36.2 with the gates on.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/scheduling/kinds.h"
#include "pkg/apiserver/model/release.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {
namespace {

// At most one Workload "w" with a template "t".
class OneWorkload : public ObjectReader {
 public:
  std::shared_ptr<const Json> find(std::string_view, std::string_view plural, std::string_view,
                                   std::string_view name) const override {
    return plural == "workloads" && name == "w" ? workload : nullptr;
  }
  void for_each(std::string_view, std::string_view, std::string_view,
                const std::function<void(const Json&)>&) const override {}
  std::shared_ptr<const Json> workload = std::make_shared<Json>(
      Json::parse(R"({"metadata": {"name": "w"}, "spec": {"podGroupTemplates": [{"name": "t"}]}})"));
};

std::string created(const Kind& kind, const std::string& spec) {
  Json object = {{"metadata", {{"name", "g"}}}, {"spec", Json::parse(spec)}};
  WriteContext ctx;
  kind.prepare_for_create(ctx, object);
  const FieldErrors errors = kind.validate_create(ctx, object);
  return errors.empty() ? "" : aggregate_text(errors);
}

TEST(PodGroupKind, ItsSpecIsChecked) {
  const auto kind = make_pod_group_kind();
  EXPECT_EQ(created(*kind, R"({"schedulingPolicy": {"gang": {"minCount": 2}}})"), "");
  EXPECT_EQ(created(*kind, R"({"schedulingPolicy": {"basic": {}}})"), "");
  EXPECT_EQ(created(*kind, "{}"), "spec.schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`");
  EXPECT_EQ(created(*kind, R"({"schedulingPolicy": {"basic": {}, "gang": {"minCount": 1}}})"),
            "spec.schedulingPolicy: Invalid value: \"{basic, gang}\": must specify exactly one of: `basic`, `gang`");
  EXPECT_EQ(created(*kind, R"({"schedulingPolicy": {"gang": {"minCount": 0}}})"),
            "spec.schedulingPolicy.gang.minCount: Required value");
  EXPECT_EQ(created(*kind, R"({"schedulingPolicy": {"gang": {"minCount": -3}}})"),
            "spec.schedulingPolicy.gang.minCount: Invalid value: -3: must be greater than or equal to 1");
  EXPECT_EQ(created(*kind, R"({"schedulingPolicy": {"gang": {"minCount": 2}},
                              "schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}})"),
            "spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item");
  EXPECT_EQ(created(*kind, R"({"schedulingPolicy": {"gang": {"minCount": 2}},
                              "schedulingConstraints": {"topology": [{"key": ""}]}})"),
            "spec.schedulingConstraints.topology[0].key: Required value");
  EXPECT_EQ(created(*kind, R"({"schedulingPolicy": {"gang": {"minCount": 2}}, "podGroupTemplateRef": {}})"),
            "spec.podGroupTemplateRef: Invalid value: \"\": must specify one of: `workload`");
}

TEST(PodGroupKind, FieldsOfGatesThatAreOffAreDropped) {
  const auto kind = make_pod_group_kind();
  Json object = {{"spec", Json::parse(R"({"schedulingPolicy": {"gang": {"minCount": 2}}, "priority": 5,
      "priorityClassName": "no", "disruptionMode": "odd", "resourceClaims": [{"name": "A_"}]})")}};
  kind->prepare_for_create({}, object);
  EXPECT_EQ(object["spec"], Json::parse(R"({"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": "Pod"})"));
}

// The causes of the real server, recorded as podgroup-claims and podgroup-crud.
TEST(PodGroupKind, ClaimsAreKeptAndCheckedWithTheirGate) {
  ASSERT_TRUE(serve_release("1.36", "DRAWorkloadResourceClaims=true"));
  const auto kind = make_pod_group_kind();
  const auto with = [&](const std::string& claims) {
    return created(*kind, R"({"schedulingPolicy": {"basic": {}}, "resourceClaims": )" + claims + "}");
  };
  EXPECT_EQ(with(R"([{"name": "c", "resourceClaimTemplateName": "t"}, {"name": "d", "resourceClaimName": "x"}])"), "");
  EXPECT_EQ(with(R"([{"name": "c"}])"),
            "spec.resourceClaims[0]: Invalid value: \"\": must specify one of: `resourceClaimName`, "
            "`resourceClaimTemplateName`");
  EXPECT_EQ(with(R"([{"name": "c", "resourceClaimName": "x", "resourceClaimTemplateName": "t"}])"),
            "spec.resourceClaims[0]: Invalid value: \"{resourceClaimName, resourceClaimTemplateName}\": must specify "
            "exactly one of: `resourceClaimName`, `resourceClaimTemplateName`");
  EXPECT_EQ(with(R"([{"name": "c", "resourceClaimName": "x"}, {"name": "c", "resourceClaimName": "x"}])"),
            R"(spec.resourceClaims[1]: Duplicate value: {"name":"c","resourceClaimName":"x"})");
  EXPECT_EQ(with(R"([{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}, {"name": "e"}])"),
            "spec.resourceClaims: Too many: 5: must have at most 4 items");
  const Json group = {{"spec", Json::parse(R"({"schedulingPolicy": {"basic": {}},
      "resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}]})")}};
  Json reported = group;
  reported["status"]["resourceClaimStatuses"] = Json::parse(R"([{"name": "c", "resourceClaimName": "g-c-x"}])");
  kind->prepare_for_status_update({}, reported, group);
  EXPECT_EQ(reported["status"]["resourceClaimStatuses"].size(), 1u);
  EXPECT_TRUE(kind->validate_status_update({}, reported, group).empty());
  reported["status"]["resourceClaimStatuses"][0]["name"] = "d";
  EXPECT_EQ(aggregate_text(kind->validate_status_update({}, reported, group)),
            "status.resourceClaimStatuses[0].name: Invalid value: \"d\": must match the name of an entry in "
            "`spec.resourceClaims`");
  Json more = group;
  more["spec"]["resourceClaims"] = Json::array();
  EXPECT_EQ(aggregate_text(kind->validate_update({}, more, group)),
            "spec.resourceClaims: Invalid value: null: field is immutable");
  // Switched off: what is stored stays.
  ASSERT_TRUE(serve_release(""));
  Json kept = group, added = {{"spec", group["spec"]}};
  kind->prepare_for_update({}, kept, group);
  EXPECT_EQ(kept["spec"]["resourceClaims"].size(), 1u);
  kind->prepare_for_create({}, added);
  EXPECT_FALSE(added["spec"].contains("resourceClaims"));
}

TEST(PodGroupKind, ItsSpecNeverChanges) {
  const auto kind = make_pod_group_kind();
  const Json old = {
      {"spec", Json::parse(R"({"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": "Pod"})")}};
  Json more = old;
  EXPECT_TRUE(kind->validate_update({}, more, old).empty());
  more["spec"]["schedulingPolicy"]["gang"]["minCount"] = 3;
  EXPECT_EQ(aggregate_text(kind->validate_update({}, more, old)),
            "spec.schedulingPolicy: Invalid value: null: field is immutable");
}

TEST(PodGroupKind, TheWorkloadThatItNamesMustBeThere) {
  const auto kind = make_pod_group_kind();
  const OneWorkload reader;
  WriteContext ctx;
  ctx.reader = &reader;
  const auto admitted = [&](const std::string& workload, const std::string& of_template) {
    Json object = {{"metadata", {{"name", "g"}}},
                   {"spec",
                    {{"podGroupTemplateRef",
                      {{"workload", {{"workloadName", workload}, {"podGroupTemplateName", of_template}}}}}}}};
    const auto ok = kind->admit_create(ctx, object);
    return ok ? std::string() : ok.error().message;
  };
  EXPECT_EQ(admitted("w", "t"), "");
  EXPECT_EQ(admitted("v", "t"),
            "podgroups.scheduling.k8s.io \"g\" is forbidden: PodGroup rejected: Workload \"v\" not found");
  EXPECT_EQ(admitted("w", "u"),
            "podgroups.scheduling.k8s.io \"g\" is forbidden: PodGroup rejected: PodGroupTemplate \"u\" not found in "
            "Workload \"w\"");
}

TEST(PodGroupKind, TheTableSaysWhetherItIsScheduled) {
  const auto kind = make_pod_group_kind();
  Json object = {{"metadata", {{"name", "g"}}},
                 {"spec", Json::parse(R"({"schedulingPolicy": {"gang": {"minCount": 2}}})")}};
  const auto row = [&] { return kind->cells(object, {}); };
  EXPECT_EQ(row()[1], "Gang");
  EXPECT_EQ(row()[2], "<none>");
  EXPECT_EQ(row()[3], "Pending");
  object["status"]["conditions"] = Json::parse(R"([{"type": "PodGroupScheduled", "status": "False"}])");
  EXPECT_EQ(row()[3], "Unschedulable");
  object["status"]["conditions"][0]["status"] = "True";
  EXPECT_EQ(row()[3], "Scheduled");
}

TEST(WorkloadKind, ItsTemplatesAreChecked) {
  const auto kind = make_workload_kind();
  EXPECT_EQ(created(*kind, "{}"), "spec.podGroupTemplates: Required value");
  EXPECT_EQ(created(*kind, R"({"podGroupTemplates": [{"schedulingPolicy": {"basic": {}}}]})"),
            "spec.podGroupTemplates[0].name: Required value");
  Json many = {{"podGroupTemplates", Json::array()}};
  for (int i = 0; i < 9; ++i)
    many["podGroupTemplates"].push_back(
        {{"name", "t" + std::to_string(i)}, {"schedulingPolicy", {{"basic", Json::object()}}}});
  EXPECT_EQ(created(*kind, many.dump()), "spec.podGroupTemplates: Too many: 9: must have at most 8 items");
  EXPECT_EQ(created(*kind, R"({"podGroupTemplates": [{"name": "t", "schedulingPolicy": {"basic": {}}}],
                              "controllerRef": {"kind": "J/b"}})"),
            "[spec.controllerRef.kind: Invalid value: \"J/b\": may not contain '/', spec.controllerRef.name: Required "
            "value]");
}

}  // namespace
}  // namespace dra::apiserver
