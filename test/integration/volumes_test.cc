// Volumes beside devices, in bind mode and in gate mode: static local ones, ones provisioned for the first consumer,
// zonal ones that were already bound; and their failures, which must not affect other pods.
#include <cstdlib>
#include <map>

#include "test/integration/groups.h"
#include "test/integration/world.h"

namespace dra::integration::volumes_test {

using namespace std::chrono_literals;

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kHostname = "kubernetes.io/hostname";
constexpr size_t kZones = 2;

std::string zone_of(size_t node) {
  return "zone-" + std::to_string(node % kZones);
}

Json storage_class(const std::string& name, const char* provisioner, const char* mode,
                   const Json& parameters = Json::object()) {
  return {{"apiVersion", "storage.k8s.io/v1"}, {"kind", "StorageClass"},   {"metadata", {{"name", name}}},
          {"provisioner", provisioner},        {"parameters", parameters}, {"volumeBindingMode", mode}};
}

Json volume(const std::string& name, const std::string& class_name, const Json& source, const char* key,
            const std::string& value) {
  Json expression{{"key", key}, {"operator", "In"}, {"values", {value}}};
  Json spec{
      {"capacity", {{"storage", "10Gi"}}},
      {"accessModes", {"ReadWriteOnce"}},
      {"storageClassName", class_name},
      {"persistentVolumeReclaimPolicy", "Retain"},
      {"nodeAffinity",
       {{"required", {{"nodeSelectorTerms", Json::array({{{"matchExpressions", Json::array({expression})}}})}}}}}};
  spec.update(source);
  return {{"apiVersion", "v1"}, {"kind", "PersistentVolume"}, {"metadata", {{"name", name}}}, {"spec", spec}};
}

Json volume_claim(const std::string& name, const std::string& class_name) {
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolumeClaim"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"spec",
           {{"accessModes", {"ReadWriteOnce"}},
            {"storageClassName", class_name},
            {"resources", {{"requests", {{"storage", "5Gi"}}}}}}}};
}

class Volumes : public World, public testing::WithParamInterface<reconcile::Scheduling> {
 protected:
  Volumes() {
    volumes_ = true;
    nodes_ = 4;
  }
  void SetUp() override {
    if (!real_programs().empty()) GTEST_SKIP() << "who makes volumes is simulated; test/e2e/real_volumes_test.py";
  }
  bool binds() const { return GetParam() == reconcile::Scheduling::kBind; }

  void furnish() {
    begin(Claims::kOwn, false);
    for (size_t i = 0; i < nodes_; ++i) {
      const std::string node = node_name(i);
      api().merge(Api::path("Node", node, ""), {{"metadata", {{"labels", {{kZone, zone_of(i)}}}}}});
      api().create(volume("local-" + std::to_string(i), "local", {{"local", {{"path", "/mnt"}}}}, kHostname, node));
    }
    for (size_t z = 0; z < kZones; ++z)
      api().create(volume("zonal-" + std::to_string(z), "zonal",
                          {{"csi", {{"driver", "disk.example.com"}, {"volumeHandle", "h" + std::to_string(z)}}}}, kZone,
                          zone_of(z)));
    api().create(storage_class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"));
    api().create(storage_class("fast", "disk.example.com", "WaitForFirstConsumer"));
    api().create(storage_class("zonal", "kubernetes.io/no-provisioner", "Immediate"));
    api().create(storage_class("refusing", "disk.example.com", "WaitForFirstConsumer", {{"dra-sandbox/refuses", "*"}}));
    api().create(
        storage_class("not-on-n0", "disk.example.com", "WaitForFirstConsumer", {{"dra-sandbox/refuses", "n0"}}));
    start_manager([&](manager::ManagerOptions& options) {
      options.settings.scheduling = GetParam();
      if (binds()) options.settings.scheduler_names = {"ours"};
    });
  }

  // A pod with one device and the volume of this claim.
  Json user(const std::string& name, const std::string& claim) {
    Json object = pod(name, {from_template("gpu", "one-gpu")},
                      {.gated = !binds(), .scheduler = binds() ? "ours" : "", .run_seconds = 1000});
    if (!claim.empty())
      object["spec"]["volumes"] = {{{"name", "data"}, {"persistentVolumeClaim", {{"claimName", claim}}}}};
    return object;
  }
  void add(const std::string& name, const std::string& class_name) {
    if (!class_name.empty()) api().create(volume_claim(name, class_name));
    api().create(user(name, class_name.empty() ? "" : name));
  }
  bool running(const std::string& name) {
    return api().get(Api::path("Pod", name))["status"].value("phase", "") == "Running";
  }
  bool said(const std::string& pod_name, const std::string& words) {
    for (const Json& event : api().list("Event"))
      if (event.value("/regarding/name"_json_pointer, "") == pod_name &&
          event.value("note", "").find(words) != std::string::npos)
        return true;
    return false;
  }
  std::string events_of(const std::string& pod_name) {
    std::string out;
    for (const Json& event : api().list("Event"))
      if (event.value("/regarding/name"_json_pointer, "") == pod_name) out += event.value("note", "") + "\n";
    return out;
  }
  // Each claim's volume is reachable from the pod's node, and no volume has two claims.
  void expect_volumes_fit() {
    std::map<std::string, std::string> claim_of;
    for (const Json& object : api().list("PersistentVolumeClaim")) {
      const std::string name = object["metadata"]["name"], bound_to = object["spec"].value("volumeName", "");
      if (bound_to.empty()) continue;
      EXPECT_TRUE(claim_of.emplace(bound_to, name).second) << bound_to;
      const Json v = api().get(Api::path("PersistentVolume", bound_to, ""));
      EXPECT_EQ(v["spec"]["claimRef"]["uid"], object["metadata"]["uid"]) << bound_to;
      const std::string node = node_of(name);
      if (node.empty()) continue;
      const Json labels = api().get(Api::path("Node", node, ""))["metadata"]["labels"];
      for (const Json& term : v["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"])
        for (const Json& e : term["matchExpressions"])
          EXPECT_EQ(labels.value(e["key"].get<std::string>(), ""), e["values"][0]) << name << " on " << node;
    }
  }
};

TEST_P(Volumes, OfAllKindsAreBoundAndAttachedBeforePodsRun) {
  furnish();
  std::vector<std::string> names;
  const char* const classes[] = {"local", "fast", "zonal", "", "fast", "local"};
  for (size_t i = 0; i < 12; ++i) {
    const std::string class_name = classes[i % 6];
    if (class_name == "zonal" && i > 2 + kZones * 6) continue;
    names.push_back("p" + std::to_string(i));
    add(names.back(), class_name);
  }
  for (const std::string& name : names)
    EXPECT_TRUE(soon([&] { return running(name); }, 60s)) << name << ": " << events_of(name);
  expect_volumes_fit();
  EXPECT_EQ(cluster().verdict(), "");
  // Attached volumes are CSI's, one for each pod that has one, and they are detached with the pod.
  size_t csi = 0;
  for (const Json& v : api().list("PersistentVolume"))
    if (v["spec"].contains("csi") && v["status"].value("phase", "") == "Bound") ++csi;
  EXPECT_EQ(api().list("VolumeAttachment").size(), csi);
  for (const std::string& name : names) api().remove(Api::path("Pod", name));
  EXPECT_TRUE(soon([&] { return api().list("VolumeAttachment").empty(); }, 30s));
}

TEST_P(Volumes, OneThatNobodyCanMakeKeepsItsPodAlone) {
  furnish();
  add("unlucky", "refusing");
  EXPECT_TRUE(never([&] { return running("unlucky"); }, 20s));
  for (int i = 0; i < 4; ++i) add("other-" + std::to_string(i), "fast");
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(soon([&] { return running("other-" + std::to_string(i)); }, 30s)) << i;
  if (binds()) {
    EXPECT_TRUE(soon([&] { return said("unlucky", "the provisioner took node"); }, 30s)) << events_of("unlucky");
    EXPECT_FALSE(bound("unlucky"));
  }
  api().remove(Api::path("Pod", "unlucky"));
  pass(5s);
  EXPECT_EQ(cluster().verdict(), "");
}

TEST_P(Volumes, WhatOneNodeRefusesIsMadeOnAnother) {
  if (!binds()) GTEST_SKIP() << "in gate mode the node is kube-scheduler's last word";
  furnish();
  for (int i = 0; i < 6; ++i) add("p" + std::to_string(i), "not-on-n0");
  for (int i = 0; i < 6; ++i) {
    const std::string name = "p" + std::to_string(i);
    EXPECT_TRUE(soon([&] { return running(name); }, 300s)) << events_of(name);
    EXPECT_NE(node_of(name), "n0");
  }
  expect_volumes_fit();
}

// Each failure is the reason of its own pod, in words that name it; other pods are not affected.
TEST_P(Volumes, BadOnesAreNamed) {
  furnish();
  api().create(user("missing", "nowhere"));
  add("classless", "no-such-class");
  api().create(volume_claim("leaving", "fast"));
  api().merge(Api::path("PersistentVolumeClaim", "leaving"), {{"metadata", {{"finalizers", {"example.com/keep"}}}}});
  api().remove(Api::path("PersistentVolumeClaim", "leaving"));
  api().create(user("leaving", "leaving"));
  Json lost = volume_claim("lost", "zonal");
  lost["spec"]["volumeName"] = "gone";
  lost["metadata"]["annotations"] = {{"pv.kubernetes.io/bind-completed", "yes"}};
  api().create(lost);
  EXPECT_TRUE(soon(
      [&] { return api().get(Api::path("PersistentVolumeClaim", "lost"))["status"].value("phase", "") == "Lost"; }));
  api().create(user("lost", "lost"));
  add("well", "fast");
  EXPECT_TRUE(within(30s, [&] { return running("well"); })) << events_of("well");
  const std::map<std::string, std::string> words = {
      {"missing", "nowhere"}, {"classless", "no-such-class"}, {"leaving", "leaving"}, {"lost", "lost"}};
  for (const auto& [name, word] : words) {
    EXPECT_TRUE(soon([&, &pod = name, quoted = "\"" + word + "\""] { return said(pod, quoted); }, 60s))
        << name << ": " << events_of(name);
    EXPECT_FALSE(bound(name)) << name;
  }
  EXPECT_EQ(cluster().watchdog().held_devices(), 1u) << "pods that cannot run hold no devices";
  // Once the missing object exists, the pod proceeds.
  api().create(volume_claim("nowhere", "fast"));
  EXPECT_TRUE(soon([&] { return running("missing"); }, 60s)) << events_of("missing");
}

// The cause that single pods get.
TEST_P(Volumes, AGroupNamesTheClassThatIsMissing) {
  furnish();
  for (const char* name : {"m0", "m1"}) {
    api().create(volume_claim(name, "no-such-class"));
    api().create(member_of_job(user(name, name), "train", 2));
  }
  // One of them gets the event of both.
  const auto said_of_group = [&](const std::string& words) { return said("m0", words) || said("m1", words); };
  EXPECT_TRUE(soon([&] { return said_of_group("names StorageClass \"no-such-class\", which does not exist"); }, 60s))
      << events_of("m0") << events_of("m1");
  EXPECT_TRUE(said_of_group("one member alone does not fit either")) << events_of("m0") << events_of("m1");
  EXPECT_EQ(cluster().watchdog().held_devices(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Modes, Volumes, testing::Values(reconcile::Scheduling::kBind, reconcile::Scheduling::kGate),
                         [](const auto& mode) { return mode.param == reconcile::Scheduling::kBind ? "Bind" : "Gate"; });

}  // namespace dra::integration::volumes_test
