#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/core/pod_spec.h"
#include "pkg/apiserver/kinds/core/pod_table.h"

namespace dra::apiserver::pod_test {

Json parse(const char* text) {
  return Json::parse(text);
}

std::string status_cell(const char* pod) {
  return pod_cells(parse(pod), WallTime{})[2];
}

TEST(PodDefaults, AreIdempotent) {
  Json spec = parse(R"({"containers":[{"name":"c","image":"reg:5000/x","ports":[{"containerPort":80}],
    "resources":{"limits":{"cpu":"1"}},"livenessProbe":{"httpGet":{"port":1}}}],"volumes":[{"name":"v"}]})");
  default_pod_spec(spec);
  default_pod_only(spec);
  const Json once = spec;
  default_pod_spec(spec);
  default_pod_only(spec);
  EXPECT_EQ(spec, once);
  EXPECT_EQ(spec["containers"][0]["imagePullPolicy"], "Always");  // a port is not a tag
  EXPECT_EQ(spec["containers"][0]["resources"]["requests"]["cpu"], "1");
  EXPECT_TRUE(spec["volumes"][0].contains("emptyDir"));
}

TEST(PodQos, Classes) {
  EXPECT_EQ(qos_class(parse(R"({"containers":[{"name":"c"}]})")), "BestEffort");
  EXPECT_EQ(qos_class(parse(R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}]})")), "Burstable");
  EXPECT_EQ(qos_class(parse(R"({"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"},
    "requests":{"cpu":"1000m","memory":"1024Mi"}}}]})")),
            "Guaranteed");
}

TEST(PodUpdate, GatedPodsMayOnlyBeNarrowed) {
  const Json old = parse(R"({"spec":{"containers":[{"name":"c","image":"i"}],"schedulingGates":[{"name":"g"}],
    "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
      {"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}}}})");
  Json narrowed = old;
  Json& terms = narrowed["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                        ["nodeSelectorTerms"];
  terms[0]["matchFields"] = parse(R"([{"key":"metadata.name","operator":"In","values":["n"]}])");
  narrowed["spec"].erase("schedulingGates");
  FieldErrors errors;
  check_pod_update(errors, narrowed, old);
  EXPECT_TRUE(errors.empty()) << errors[0].message;
  Json widened = old;
  widened["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
      .push_back(parse(R"({"matchExpressions":[{"key":"b","operator":"Exists"}]})"));
  check_pod_update(errors, widened, old);
  EXPECT_FALSE(errors.empty());
}

TEST(PodUpdate, TolerationsAreKeptInAnyOrder) {
  constexpr int kMany = 8'000;
  Json before = {
      {"spec", {{"containers", Json::array({Json{{"name", "c"}, {"image", "i"}}})}, {"tolerations", Json::array()}}}};
  Json& tolerations = before["spec"]["tolerations"];
  for (int i = 0; i < kMany; ++i) tolerations.push_back({{"key", "k" + std::to_string(i)}, {"operator", "Exists"}});
  tolerations.push_back({{"key", "e"}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 5}});
  const auto refused = [&](const Json& now) {
    FieldErrors errors;
    check_pod_update(errors, now, before);
    return !errors.empty();
  };
  Json now = before;
  std::reverse(now["spec"]["tolerations"].begin(), now["spec"]["tolerations"].end());
  EXPECT_FALSE(refused(now));
  now["spec"]["tolerations"][0]["tolerationSeconds"] = 9;
  EXPECT_FALSE(refused(now)) << "of NoExecute they may change";
  now["spec"]["tolerations"][1]["value"] = "v";
  EXPECT_TRUE(refused(now));
  now = before;
  now["spec"]["tolerations"].erase(0);
  EXPECT_TRUE(refused(now));
}

TEST(PodStatus, NominatesANodeOnlyBeforeItIsBound) {
  const Json nominated = parse(R"({"spec":{},"status":{"nominatedNodeName":"n"}})");
  const Json bound = parse(R"({"spec":{"nodeName":"m"},"status":{}})");
  FieldErrors none, errors;
  check_nominated_node(none, nominated, parse(R"({"spec":{},"status":{}})"));
  check_nominated_node(none, nominated, nominated);
  check_nominated_node(none, bound, nominated);
  EXPECT_TRUE(none.empty());
  check_nominated_node(errors, parse(R"({"spec":{"nodeName":"m"},"status":{"nominatedNodeName":"n"}})"), bound);
  check_nominated_node(errors, parse(R"({"spec":{},"status":{"nominatedNodeName":"N"}})"), parse(R"({})"));
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].field, "status.nominatedNodeName");
  EXPECT_EQ(errors[0].message, "Forbidden: may not be set on pods that are already bound to a node");
}

TEST(PodTable, Status) {
  EXPECT_EQ(status_cell(R"({"status":{"phase":"Pending"}})"), "Pending");
  EXPECT_EQ(status_cell(R"({"status":{"phase":"Pending","conditions":[
    {"type":"PodScheduled","reason":"SchedulingGated"}]}})"),
            "SchedulingGated");
  EXPECT_EQ(status_cell(R"({"metadata":{"deletionTimestamp":"x"},"status":{"phase":"Running"}})"), "Terminating");
  EXPECT_EQ(status_cell(R"({"spec":{"initContainers":[{"name":"i"},{"name":"j"}]},"status":{"phase":"Pending",
    "initContainerStatuses":[{"name":"i","state":{"running":{}}}]}})"),
            "Init:0/2");
  EXPECT_EQ(status_cell(R"({"status":{"phase":"Running","containerStatuses":[
    {"name":"c","state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}})"),
            "CrashLoopBackOff");
}

}  // namespace dra::apiserver::pod_test
