#include "pkg/apiserver/kinds/quota/quota.h"
#include "pkg/apiserver/kinds/core/kinds.h"
#include "pkg/apiserver/kinds/quota/kinds.h"
#include "pkg/apiserver/kinds/resource/kinds.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/apiserver/model/kind.h"

namespace dra::apiserver::quota_test {

class Objects : public ObjectReader {
 public:
  std::map<std::string, Json> all;  // by "plural/namespace/name"

  void add(const std::string& plural, const std::string& ns, Json object) {
    if (!ns.empty()) object["metadata"]["namespace"] = ns;
    const std::string key = plural + "/" + ns + "/" + object["metadata"]["name"].get<std::string>();
    all[key] = std::move(object);
  }
  std::shared_ptr<const Json> find(std::string_view, std::string_view plural, std::string_view ns,
                                   std::string_view name) const override {
    const auto at = all.find(std::string(plural) + "/" + std::string(ns) + "/" + std::string(name));
    return at == all.end() ? nullptr : std::make_shared<const Json>(at->second);
  }
  void for_each(std::string_view, std::string_view plural, std::string_view ns,
                const std::function<void(const Json&)>& visit) const override {
    const std::string prefix = std::string(plural) + "/" + std::string(ns) + "/";
    for (const auto& [key, object] : all)
      if (key.starts_with(prefix)) visit(object);
  }
};

Json quota(const Json& hard, const Json& more = Json::object()) {
  Json out = {{"metadata", {{"name", "q"}}}, {"spec", {{"hard", hard}}}};
  out["spec"].update(more);
  return out;
}

Json claim(const char* name, const std::vector<Json>& requests) {
  return {{"metadata", {{"name", name}, {"namespace", "ns"}}}, {"spec", {{"devices", {{"requests", requests}}}}}};
}

Json exactly(const char* device_class, const char* mode, int count) {
  return {{"exactly", {{"deviceClassName", device_class}, {"allocationMode", mode}, {"count", count}}}};
}

std::string refusal(const Objects& objects, const KindInfo& info, const Json& object) {
  WriteContext ctx;
  ctx.reader = &objects;
  const auto admitted = admit_by_quota(ctx, info, object);
  return admitted ? "" : admitted.error().message;
}

const KindInfo kClaims = resource_claim_info();
const KindInfo kPods = pod_info();

TEST(Quota, DevicesOfAClassByModeAndTheWorstAlternative) {
  Objects objects;
  const QuotaUsage usage =
      quota_usage(objects, kClaims,
                  claim("c", {exactly("a", "ExactCount", 3),
                              exactly("b", "All", 0),
                              exactly("b", "Future", 5),
                              {{"firstAvailable",
                                {{{"deviceClassName", "a"}, {"allocationMode", "ExactCount"}, {"count", 2}},
                                 {{"deviceClassName", "a"}, {"allocationMode", "ExactCount"}, {"count", 4}},
                                 {{"deviceClassName", "c"}, {"allocationMode", "ExactCount"}, {"count", 1}}}}}}));
  EXPECT_EQ(usage.at("a.deviceclass.resource.k8s.io/devices").to_string(), "7");
  EXPECT_EQ(usage.at("b.deviceclass.resource.k8s.io/devices").to_string(), "32");
  EXPECT_EQ(usage.at("c.deviceclass.resource.k8s.io/devices").to_string(), "1");
  EXPECT_EQ(usage.at("count/resourceclaims.resource.k8s.io").to_string(), "1");
}

TEST(Quota, RefusesWithTheRealWords) {
  Objects objects;
  objects.add("resourcequotas", "ns", quota({{"gpu.deviceclass.resource.k8s.io/devices", "4"}}));
  objects.add("resourceclaims", "ns", claim("there", {exactly("gpu", "ExactCount", 3)}));
  objects.add("resourceclaims", "other", claim("elsewhere", {exactly("gpu", "ExactCount", 9)}));
  EXPECT_EQ(refusal(objects, kClaims, claim("c", {exactly("gpu", "ExactCount", 1)})), "");
  EXPECT_EQ(refusal(objects, kClaims, claim("c", {exactly("nic", "ExactCount", 9)})), "");
  EXPECT_EQ(refusal(objects, kClaims, claim("c", {exactly("gpu", "ExactCount", 2)})),
            "resourceclaims.resource.k8s.io \"c\" is forbidden: exceeded quota: q, requested: "
            "gpu.deviceclass.resource.k8s.io/devices=2, used: gpu.deviceclass.resource.k8s.io/devices=3, limited: "
            "gpu.deviceclass.resource.k8s.io/devices=4");
}

// A pod with an extended resource pays for it; the scheduler's claim for it does not pay again, but a claim that only
// pretends to be one does.
TEST(Quota, TheClaimOfAnExtendedResourceIsPaidOnce) {
  Objects objects;
  objects.add("resourcequotas", "ns", quota({{"requests.example.com/gpu", "2"}}));
  objects.add("deviceclasses", "",
              {{"metadata", {{"name", "gpu"}}}, {"spec", {{"extendedResourceName", "example.com/gpu"}}}});
  const Json pod = {
      {"metadata", {{"name", "p"}, {"namespace", "ns"}, {"uid", "u"}}},
      {"spec",
       {{"containers", Json::array({{{"name", "c"}, {"resources", {{"requests", {{"example.com/gpu", "2"}}}}}}})}}}};
  EXPECT_EQ(refusal(objects, kPods, pod), "");
  objects.add("pods", "ns", pod);
  Json special = claim("p-extended", {exactly("gpu", "ExactCount", 2)});
  special["metadata"]["annotations"] = {{"resource.kubernetes.io/extended-resource-claim", "true"}};
  special["metadata"]["ownerReferences"] =
      Json::array({{{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", "p"}, {"uid", "u"}, {"controller", true}}});
  EXPECT_EQ(refusal(objects, kClaims, special), "");
  special["metadata"]["ownerReferences"][0]["uid"] = "forged";
  EXPECT_NE(refusal(objects, kClaims, special).find("exceeded quota: q, requested: requests.example.com/gpu=2"),
            std::string::npos);
}

TEST(Quota, PodsByTheirRequestsAndScopes) {
  Objects objects;
  objects.add("resourcequotas", "ns",
              quota({{"pods", "1"}, {"requests.cpu", "2"}}, {{"scopes", Json::array({"NotBestEffort"})}}));
  const auto pod = [](const char* name, const Json& resources) {
    return Json{{"metadata", {{"name", name}, {"namespace", "ns"}}},
                {"spec", {{"containers", Json::array({{{"name", "c"}, {"resources", resources}}})}}}};
  };
  EXPECT_EQ(refusal(objects, kPods, pod("best-effort", Json::object())), "") << "out of scope";
  EXPECT_EQ(refusal(objects, kPods, pod("a", {{"requests", {{"memory", "1Gi"}}}})),
            "pods \"a\" is forbidden: failed quota: q: must specify requests.cpu for: c");
  EXPECT_EQ(refusal(objects, kPods, pod("a", {{"requests", {{"cpu", "2500m"}}}})),
            "pods \"a\" is forbidden: exceeded quota: q, requested: requests.cpu=2500m, used: requests.cpu=0, limited: "
            "requests.cpu=2");
  Json over = pod("over", {{"requests", {{"cpu", "2"}}}});
  over["status"]["phase"] = "Succeeded";
  objects.add("pods", "ns", over);
  EXPECT_EQ(refusal(objects, kPods, pod("a", {{"requests", {{"cpu", "2"}}}})), "")
      << "a pod that is over counts no more";
}

TEST(Quota, UnknownNamesAndHalfPodsAreRefused) {
  KindRegistry kinds;
  add_quota_kinds(kinds);
  const Kind* kind = kinds.find({"", "v1"}, "resourcequotas");
  const FieldErrors errors = kind->validate_create({}, quota({{"gpus", "1"}, {"pods", "1500m"}, {"cpu", "-1"}}));
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_EQ(errors[0].message, "Invalid value: \"-1\": must be greater than or equal to 0");
  EXPECT_EQ(errors[1].message, "Invalid value: \"gpus\": must be a standard resource for quota");
  EXPECT_EQ(errors[2].message, "Invalid value: \"1500m\": must be an integer");
}

}  // namespace dra::apiserver::quota_test
