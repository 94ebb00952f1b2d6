#include "pkg/sandbox/kubelet.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "pkg/base/timestamp.h"
#include "pkg/sandbox/run_time.h"

namespace dra::sandbox::kubelet_test {

const WallTime kNow = WallTime{std::chrono::seconds{1'800'000'000}};

Json bound_pod(const Json& spec_extra = Json::object()) {
  Json pod = {{"metadata", {{"name", "p"}, {"namespace", "ns"}, {"uid", "u1"}}},
              {"spec", {{"nodeName", "n1"}, {"containers", {{{"name", "c"}, {"image", "i"}}}}}},
              {"status", {{"phase", "Pending"}, {"conditions", {{{"type", "PodScheduled"}, {"status", "True"}}}}}}};
  pod["spec"].update(spec_extra);
  return pod;
}

struct Claims {
  std::map<std::string, Json> by_key;
  ClaimLookup lookup() const {
    return [this](std::string_view ns, std::string_view name) -> const Json* {
      const auto it = by_key.find(std::string(ns) + "/" + std::string(name));
      return it == by_key.end() ? nullptr : &it->second;
    };
  }
};

Json claim(bool allocated, const char* reserved_uid, const char* owner_uid) {
  Json object = {{"metadata", {{"name", "x"}, {"namespace", "ns"}}}, {"status", Json::object()}};
  if (allocated) object["status"]["allocation"] = Json::object();
  if (*reserved_uid != 0)
    object["status"]["reservedFor"] = {{{"resource", "pods"}, {"name", "p"}, {"uid", reserved_uid}}};
  if (*owner_uid != 0) object["metadata"]["ownerReferences"] = {{{"controller", true}, {"uid", owner_uid}}};
  return object;
}

TEST(KubeletTest, RunsABoundPodAndKeepsItsOtherConditions) {
  const Step step = kubelet_pass(bound_pod(), Claims().lookup(), kNow);
  ASSERT_EQ(step.calls.size(), 1U);
  EXPECT_EQ(step.calls[0].path, "/api/v1/namespaces/ns/pods/p/status");
  const Json body = Json::parse(step.calls[0].body);
  EXPECT_EQ(body["metadata"]["uid"], "u1");
  EXPECT_EQ(body["status"]["phase"], "Running");
  EXPECT_EQ(body["status"]["conditions"].size(), 5U);
  EXPECT_EQ(body["status"]["containerStatuses"][0]["ready"], true);
}

TEST(KubeletTest, LeavesUnboundPodsAlone) {
  Json pod = bound_pod();
  pod["spec"].erase("nodeName");
  EXPECT_TRUE(kubelet_pass(pod, Claims().lookup(), kNow).calls.empty());
}

// Each of the real kubelet's four conditions alone keeps the pod from running.
TEST(KubeletTest, WaitsForClaims) {
  const Json by_name = bound_pod({{"resourceClaims", {{{"name", "gpu"}, {"resourceClaimName", "x"}}}}});
  Json by_template = bound_pod({{"resourceClaims", {{{"name", "gpu"}, {"resourceClaimTemplateName", "t"}}}}});
  Claims claims;
  const auto runs = [&](const Json& pod) { return !kubelet_pass(pod, claims.lookup(), kNow).calls.empty(); };
  EXPECT_FALSE(runs(by_name)) << "the claim does not exist";
  claims.by_key["ns/x"] = claim(false, "", "");
  EXPECT_FALSE(runs(by_name)) << "the claim is not allocated";
  claims.by_key["ns/x"] = claim(true, "other", "");
  EXPECT_FALSE(runs(by_name)) << "the claim is reserved for another uid";
  claims.by_key["ns/x"] = claim(true, "u1", "");
  EXPECT_TRUE(runs(by_name));
  EXPECT_FALSE(runs(by_template)) << "the claim's name is not published";
  by_template["status"]["resourceClaimStatuses"] = {{{"name", "gpu"}, {"resourceClaimName", "x"}}};
  EXPECT_FALSE(runs(by_template)) << "the claim is not the pod's";
  claims.by_key["ns/x"] = claim(true, "u1", "u1");
  EXPECT_TRUE(runs(by_template));
  by_template["status"]["resourceClaimStatuses"] = {{{"name", "gpu"}}};
  claims.by_key.clear();
  EXPECT_TRUE(runs(by_template)) << "an entry without a claim name needs none";
}

TEST(KubeletTest, EndsPodsThatMayEnd) {
  Json pod = bound_pod({{"restartPolicy", "Never"}});
  pod["metadata"]["annotations"] = {{"dra-sandbox/run-seconds", "30"}, {"dra-sandbox/exit-code", "3"}};
  pod["status"] = {{"phase", "Running"}, {"startTime", format_rfc3339(kNow)}};
  Step step = kubelet_pass(pod, Claims().lookup(), kNow + std::chrono::seconds(10));
  EXPECT_TRUE(step.calls.empty());
  EXPECT_EQ(step.requeue_after, Duration(std::chrono::seconds(20)));
  step = kubelet_pass(pod, Claims().lookup(), kNow + std::chrono::seconds(30));
  ASSERT_EQ(step.calls.size(), 1U);
  const Json body = Json::parse(step.calls[0].body);
  EXPECT_EQ(body["status"]["phase"], "Failed");
  EXPECT_EQ(body["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 3);
  pod["spec"]["restartPolicy"] = "Always";
  EXPECT_TRUE(kubelet_pass(pod, Claims().lookup(), kNow + std::chrono::hours(9)).calls.empty());
}

TEST(KubeletTest, RemovesDeletedPods) {
  Json pod = bound_pod();
  pod["metadata"]["deletionTimestamp"] = format_rfc3339(kNow);
  const Step step = kubelet_pass(pod, Claims().lookup(), kNow);
  ASSERT_EQ(step.calls.size(), 1U);
  EXPECT_EQ(step.calls[0].method, "DELETE");
  EXPECT_EQ(Json::parse(step.calls[0].body), Json({{"gracePeriodSeconds", 0}, {"preconditions", {{"uid", "u1"}}}}));
}

TEST(RunTimeTest, IsReadFromTheCommand) {
  const auto seconds = [](const char* command) { return command_seconds(command).value_or(-1); };
  EXPECT_EQ(seconds("nvidia-smi -L"), 1);
  EXPECT_EQ(seconds("sleep 9999"), 9999);
  EXPECT_EQ(seconds("bash -c export; trap 'exit 0' TERM; sleep 9999 & wait"), 9999);
  EXPECT_EQ(seconds("sh -c \"/bin/sleep 2m; sleep 0.5\""), 121);
  EXPECT_EQ(seconds("sleep infinity"), -1);
  EXPECT_EQ(seconds("sh -c while true; do sleep 5; done"), -1);
  EXPECT_EQ(seconds("tail -f /dev/null"), -1);
  // No user input breaks it.
  EXPECT_EQ(seconds("sleep"), 1);
  EXPECT_EQ(seconds("sleep -5 sleep x sleep 1.2.3 sleep . sleep 99999999999999999999"), 1);
  EXPECT_EQ(seconds("sleep 99999999999d"), 10LL * 365 * 24 * 3600);
}

TEST(RunTimeTest, APodEndsWithItsLastContainerAndTheAnnotationGoesFirst) {
  Json pod = bound_pod(
      {{"restartPolicy", "Never"},
       {"containers", {{{"name", "a"}, {"command", {"sleep", "60"}}}, {{"name", "b"}, {"command", {"true"}}}}}});
  pod["status"]["phase"] = "Running";
  pod["status"]["startTime"] = format_rfc3339(kNow);
  EXPECT_TRUE(kubelet_pass(pod, Claims().lookup(), kNow + std::chrono::seconds(59)).calls.empty());
  EXPECT_EQ(kubelet_pass(pod, Claims().lookup(), kNow + std::chrono::seconds(60)).calls.size(), 1U);
  pod["metadata"]["annotations"] = {{"dra-sandbox/run-seconds", "5"}};
  EXPECT_EQ(kubelet_pass(pod, Claims().lookup(), kNow + std::chrono::seconds(5)).calls.size(), 1U);
  pod["metadata"].erase("annotations");
  pod["spec"]["containers"] = {{{"name", "a"}, {"image", "registry.k8s.io/pause:3.10"}}};
  EXPECT_TRUE(kubelet_pass(pod, Claims().lookup(), kNow + std::chrono::hours(9)).calls.empty());
}

}  // namespace dra::sandbox::kubelet_test
