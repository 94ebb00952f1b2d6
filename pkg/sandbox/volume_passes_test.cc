#include "pkg/sandbox/volume_passes.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

namespace dra::sandbox::volume_passes_test {

// A world of objects by name.
struct Things {
  std::map<std::string, Json> volumes, classes, nodes, attachments, claims, pods;

  static const Json* find(const std::map<std::string, Json>& all, const std::string& key) {
    const auto it = all.find(key);
    return it == all.end() ? nullptr : &it->second;
  }
  VolumeView view() const {
    VolumeView v;
    v.volume = [this](const std::string& n) { return find(volumes, n); };
    v.storage_class = [this](const std::string& n) { return find(classes, n); };
    v.node = [this](const std::string& n) { return find(nodes, n); };
    v.attachment = [this](const std::string& n) { return find(attachments, n); };
    v.claim = [this](const std::string& n) { return find(claims, n); };
    v.volumes = [this] {
      std::vector<const Json*> all;
      for (const auto& [name, volume] : volumes) all.push_back(&volume);
      return all;
    };
    v.pods_of_claim = [this](const std::string& key) {
      std::vector<const Json*> all;
      for (const auto& [name, pod] : pods)
        for (const std::string& used : volume_claims_of(pod))
          if (used == key) all.push_back(&pod);
      return all;
    };
    return v;
  }
};

Json claim(const std::string& class_name = "fast") {
  return {{"metadata", {{"name", "c"}, {"namespace", "ns"}, {"uid", "u"}, {"resourceVersion", "7"}}},
          {"spec",
           {{"accessModes", {"ReadWriteOnce"}},
            {"storageClassName", class_name},
            {"resources", {{"requests", {{"storage", "5Gi"}}}}}}},
          {"status", {{"phase", "Pending"}}}};
}

Json volume(const std::string& name, const char* size, const std::string& class_name = "fast") {
  return {{"metadata", {{"name", name}, {"uid", "v-" + name}, {"resourceVersion", "3"}}},
          {"spec",
           {{"accessModes", {"ReadWriteOnce"}}, {"storageClassName", class_name}, {"capacity", {{"storage", size}}}}}};
}

Json storage_class(const char* mode, const Json& parameters = Json::object()) {
  return {{"metadata", {{"name", "fast"}}},
          {"provisioner", "disk.example.com"},
          {"volumeBindingMode", mode},
          {"reclaimPolicy", "Delete"},
          {"parameters", parameters}};
}

Json pod(const char* node) {
  return {
      {"metadata", {{"name", "p"}, {"namespace", "ns"}, {"uid", "pu"}}},
      {"spec", {{"nodeName", node}, {"volumes", {{{"name", "d"}, {"persistentVolumeClaim", {{"claimName", "c"}}}}}}}},
      {"status", {{"phase", "Pending"}}}};
}

void select_node(Json& claim, const char* node) {
  claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = node;
}

TEST(VolumePasses, AnImmediateClaimTakesTheSmallestVolumeThatFits) {
  Things t;
  t.classes["fast"] = storage_class("Immediate");
  t.volumes = {{"a", volume("a", "20Gi")}, {"b", volume("b", "6Gi")}, {"small", volume("small", "1Gi")}};
  t.volumes["other"] = volume("other", "5Gi", "slow");
  const Step step = volume_claim_pass(claim(), t.view());
  ASSERT_EQ(step.calls.size(), 1U);
  EXPECT_EQ(step.calls[0].path, "/api/v1/persistentvolumes/b");
  const Json body = Json::parse(step.calls[0].body);
  EXPECT_EQ(body["spec"]["claimRef"]["uid"], "u");
  EXPECT_EQ(body["metadata"]["resourceVersion"], "3") << "a volume is never bound twice";
}

TEST(VolumePasses, WaitForFirstConsumerWaitsForANodeAndMakesTheVolumeInItsZone) {
  Things t;
  t.classes["fast"] = storage_class("WaitForFirstConsumer");
  t.volumes["free"] = volume("free", "9Gi");  // the scheduler that chooses the node also binds the volume
  t.nodes["n1"] = {{"metadata", {{"labels", {{"topology.kubernetes.io/zone", "z1"}}}}}};
  Json c = claim();
  EXPECT_TRUE(volume_claim_pass(c, t.view()).calls.empty());
  select_node(c, "n1");
  const Step step = volume_claim_pass(c, t.view());
  ASSERT_EQ(step.calls.size(), 1U);
  EXPECT_EQ(step.calls[0].method, "POST");
  const Json made = Json::parse(step.calls[0].body);
  EXPECT_EQ(made["spec"]["claimRef"]["uid"], "u");
  EXPECT_EQ(made["spec"]["csi"]["driver"], "disk.example.com");
  const Json expression = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0];
  EXPECT_EQ(expression["values"], Json::array({"z1"}));
}

TEST(VolumePasses, AProvisionerThatRefusesGivesTheNodeBackAndASilentOneDoesNothing) {
  Things t;
  Json c = claim();
  select_node(c, "n1");
  t.classes["fast"] = storage_class("WaitForFirstConsumer", {{kRefusesParameter, "n1"}});
  const Step step = volume_claim_pass(c, t.view());
  ASSERT_EQ(step.calls.size(), 1U);
  EXPECT_EQ(step.calls[0].method, "PATCH");
  EXPECT_TRUE(
      Json::parse(step.calls[0].body)["metadata"]["annotations"]["volume.kubernetes.io/selected-node"].is_null());
  t.classes["fast"] = storage_class("WaitForFirstConsumer", {{kSilentParameter, "true"}});
  EXPECT_TRUE(volume_claim_pass(c, t.view()).calls.empty());
}

TEST(VolumePasses, AVolumeOfAClaimThatIsGoneIsReleasedOrDeleted) {
  Things t;
  Json v = volume("a", "9Gi");
  v["spec"]["claimRef"] = {{"namespace", "ns"}, {"name", "c"}, {"uid", "u"}};
  v["spec"]["persistentVolumeReclaimPolicy"] = "Retain";
  const Step retained = volume_pass(v, t.view());
  ASSERT_EQ(retained.calls.size(), 1U);
  EXPECT_EQ(Json::parse(retained.calls[0].body)["status"]["phase"], "Released");
  v["spec"]["persistentVolumeReclaimPolicy"] = "Delete";
  EXPECT_EQ(volume_pass(v, t.view()).calls.at(0).method, "DELETE");
  t.claims["ns/c"] = claim();  // now it exists
  EXPECT_EQ(Json::parse(volume_pass(v, t.view()).calls.at(0).body)["status"]["phase"], "Bound");
}

TEST(VolumePasses, ProtectionEndsWithTheLastPod) {
  Things t;
  Json c = claim();
  c["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  c["metadata"]["finalizers"] = {"example.com/keep", "kubernetes.io/pvc-protection"};
  t.pods["ns/p"] = pod("n1");
  EXPECT_TRUE(volume_claim_pass(c, t.view()).calls.empty());
  t.pods["ns/p"]["status"]["phase"] = "Succeeded";
  const Step step = volume_claim_pass(c, t.view());
  ASSERT_EQ(step.calls.size(), 1U);
  EXPECT_EQ(Json::parse(step.calls[0].body)["metadata"]["finalizers"], Json::array({"example.com/keep"}));
}

TEST(VolumePasses, ThePodRunsOnceItsVolumeIsAttached) {
  Things t;
  Json c = claim();
  c["spec"]["volumeName"] = "a";
  c["status"]["phase"] = "Bound";
  t.claims["ns/c"] = c;
  t.volumes["a"] = volume("a", "9Gi");
  t.volumes["a"]["spec"]["claimRef"] = {{"namespace", "ns"}, {"name", "c"}, {"uid", "u"}};
  const Json p = pod("n1");
  EXPECT_TRUE(volumes_ready(p, t.view())) << "no CSI, nothing to attach";
  t.volumes["a"]["spec"]["csi"] = {{"driver", "disk.example.com"}, {"volumeHandle", "h"}};
  EXPECT_FALSE(volumes_ready(p, t.view()));
  Json attachment = Json::parse(attach_pass(p, t.view()).calls.at(0).body);
  const std::string name = attachment["metadata"]["name"];
  t.attachments[name] = attachment;
  EXPECT_EQ(attach_pass(p, t.view()).calls.at(0).method, "PATCH");
  t.attachments[name]["status"] = {{"attached", true}};
  EXPECT_TRUE(attach_pass(p, t.view()).calls.empty());
  EXPECT_TRUE(volumes_ready(p, t.view()));
  t.pods["ns/p"] = p;
  EXPECT_TRUE(attachment_pass(t.attachments[name], t.view()).calls.empty());
  t.pods.clear();
  EXPECT_EQ(attachment_pass(t.attachments[name], t.view()).calls.at(0).method, "DELETE");
}

}  // namespace dra::sandbox::volume_passes_test
