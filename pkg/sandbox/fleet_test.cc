#include "pkg/sandbox/fleet.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/api/decode/decode.h"

namespace dra::sandbox::fleet_test {

using Json = nlohmann::json;

Fleet must_load(std::string_view text) {
  auto fleet = load_fleet(text, "fleet.yaml");
  EXPECT_TRUE(fleet) << (fleet ? "" : fleet.error().message());
  return fleet ? std::move(*fleet) : Fleet{};
}

std::string error_of(std::string_view text) {
  auto fleet = load_fleet(text, "fleet.yaml");
  return fleet ? "no error" : fleet.error().message();
}

std::vector<Json> of_kind(const Fleet& fleet, std::string_view kind) {
  std::vector<Json> found;
  for (const Json& object : fleet.objects)
    if (object["kind"] == kind) found.push_back(object);
  return found;
}

TEST(FleetTest, DefaultFleetHasEveryKindOfDevice) {
  const Fleet fleet = must_load(default_fleet());
  EXPECT_EQ(fleet.nodes, 10U);
  EXPECT_EQ(of_kind(fleet, "Node").size(), 10U);
  EXPECT_EQ(of_kind(fleet, "DeviceClass").size(), 5U);
  // 4 x (4 x (1 + 14 partitions) + 2 NICs) + 2 x (8 x (1 + 25 partitions) + 4 NICs) + 2 x 2 + 1 + 4
  EXPECT_EQ(fleet.devices, 4U * (4 * 15 + 2) + 2U * (8 * 26 + 4) + 4 + 1 + 4);
}

// Every slice keeps the API's limits, pools are complete, and partitions draw on existing counters.
TEST(FleetTest, SlicesAreSuchAsAnApiServerAccepts) {
  const Fleet fleet = must_load(default_fleet());
  std::map<std::string, size_t> slices_of_pool;
  std::map<std::string, Json> counter_sets;
  const std::vector<Json> slices = of_kind(fleet, "ResourceSlice");
  for (const Json& slice : slices) {
    const Json& spec = slice["spec"];
    ++slices_of_pool[spec["driver"].get<std::string>() + "/" + spec["pool"]["name"].get<std::string>()];
    EXPECT_NE(spec.contains("devices"), spec.contains("sharedCounters"));
    for (const Json& set : spec.value("sharedCounters", Json::array()))
      counter_sets[spec["pool"]["name"].get<std::string>() + "/" + set["name"].get<std::string>()] = set["counters"];
  }
  for (const Json& slice : slices) {
    const Json& spec = slice["spec"];
    EXPECT_EQ(spec["pool"]["resourceSliceCount"],
              slices_of_pool[spec["driver"].get<std::string>() + "/" + spec["pool"]["name"].get<std::string>()]);
    bool counters = false;
    for (const Json& device : spec.value("devices", Json::array())) {
      for (const Json& consumption : device.value("consumesCounters", Json::array())) {
        counters = true;
        const Json& set = counter_sets.at(spec["pool"]["name"].get<std::string>() + "/" +
                                          consumption["counterSet"].get<std::string>());
        for (const auto& [name, value] : consumption["counters"].items())
          EXPECT_TRUE(set.contains(name)) << device["name"] << " " << name;
        EXPECT_LE(consumption["counters"].size(), 32U);
      }
      EXPECT_LE(device["attributes"].size() + device["capacity"].size(), 32U);
    }
    EXPECT_LE(spec.value("devices", Json::array()).size(), counters ? 64U : 128U);
    EXPECT_TRUE(api::decode<api::ResourceSlice>(slice.dump()));
  }
}

TEST(FleetTest, ExpansionRepeatsAndUuidsDiffer) {
  const Fleet a = must_load(default_fleet()), b = must_load(default_fleet());
  EXPECT_EQ(a.objects, b.objects);
  std::set<std::string> uuids;
  size_t devices = 0;
  for (const Json& slice : of_kind(a, "ResourceSlice")) {
    for (const Json& device : slice["spec"].value("devices", Json::array())) {
      if (!device["attributes"].contains("uuid")) continue;
      ++devices;
      uuids.insert(device["attributes"]["uuid"]["string"]);
    }
  }
  EXPECT_EQ(uuids.size(), devices);
}

TEST(FleetTest, PlaceholdersCount) {
  const Fleet fleet = must_load(
      "models: {m: {driver: d.example, name: 'dev-{device+1}', attributes: {half: {int: '{device/2}'}}}}\n"
      "nodes:\n- name: n{index}\n  count: 3\n  labels: {zone: 'z{index%2}'}\n  devices: [{model: m, count: 4}]\n");
  EXPECT_EQ(of_kind(fleet, "Node")[2]["metadata"]["labels"]["zone"], "z0");
  const Json device = of_kind(fleet, "ResourceSlice")[0]["spec"]["devices"][3];
  EXPECT_EQ(device["name"], "dev-4");
  EXPECT_EQ(device["attributes"]["half"]["int"], 1);
}

TEST(FleetTest, PlaceholdersInHexadecimal) {
  const Fleet fleet = must_load(
      "models: {m: {driver: d.example, name: 'dev-{device}', attributes: {a: '{device/16:04x}:{device%16:x}0'}}}\n"
      "nodes:\n- {name: n, devices: [{model: m, count: 300}]}\n");
  std::vector<std::string> got;
  for (const Json& slice : of_kind(fleet, "ResourceSlice"))
    for (const Json& device : slice["spec"]["devices"]) got.push_back(device["attributes"]["a"]["string"]);
  ASSERT_EQ(got.size(), 300U);
  EXPECT_EQ(got[0], "0000:00");
  EXPECT_EQ(got[27], "0001:b0");
  EXPECT_EQ(got[299], "0012:b0");
  for (const char* wrong : {"{device:}", "{device:d}", "{device:4x}", "{device:00x}", "{device:010x}", "{device:0xx}"})
    EXPECT_NE(error_of("nodes:\n- name: a" + std::string(wrong) + "\n").find("x for hexadecimal"), std::string::npos)
        << wrong << ": " << error_of("nodes:\n- name: a" + std::string(wrong) + "\n");
}

TEST(FleetTest, PartitionsLackWhatTheirParentAloneHas) {
  const std::string model =
      "models:\n  m:\n    driver: d.example\n    name: g\n    attributes: {uuid: 'U-{uuid}', kind: whole}\n"
      "    capacity: {memory: 8Gi}\n    partitions:\n      name: 'g-{profileLabel}-{start}'\n      counterSet: s\n"
      "      memorySlices: 2\n      attributes: {kind: part}\n      without: [WITHOUT]\n"
      "      profiles: [{name: 1g.4gb+me, size: 1, starts: [0, 1], capacity: {memory: 4Gi}}]\n"
      "nodes: [{name: n, devices: [{model: m}]}]\n";
  const auto with = [&](const std::string& name) {
    std::string text = model;
    return text.replace(text.find("WITHOUT"), 7, name);
  };
  const Json devices = of_kind(must_load(with("uuid")), "ResourceSlice")[1]["spec"]["devices"];
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_TRUE(devices[0]["attributes"].contains("uuid"));
  EXPECT_EQ(devices[2]["name"], "g-1g4gb-me-1");
  EXPECT_EQ(devices[2]["attributes"], (Json{{"kind", {{"string", "part"}}}}));
  EXPECT_NE(error_of(with("uid")).find("without: the model has no attribute \"uid\""), std::string::npos)
      << error_of(with("uid"));
}

TEST(FleetTest, ErrorsNameLineAndField) {
  EXPECT_EQ(error_of("nodes:\n- name: a\n  cuont: 2\n"),
            "fleet.yaml:3:10: nodes[0].cuont: unknown field; did you mean \"count\"?");
  EXPECT_EQ(error_of("nodes:\n- name: a\n  count: 2\n"),
            "fleet.yaml:2:9: nodes[0].name: count is 2, so the name must hold {index}");
  EXPECT_EQ(error_of("nodes:\n- name: a\n  count: many\n"),
            "fleet.yaml:3:10: nodes[0].count: a whole number from 1 to 20000 is expected here");
  EXPECT_EQ(error_of("nodes:\n- name: a\n  devices: [{model: x}]\n"),
            "fleet.yaml:3:21: nodes[0].devices[0].model: no such model; models here: ");
  EXPECT_EQ(error_of("nodes:\n- labels: {}\n"), "fleet.yaml:2:3: nodes[0]: field \"name\" is required");
  EXPECT_NE(error_of("nodes:\n- name: a{indx}\n").find("unknown placeholder {indx}"), std::string::npos);
  EXPECT_NE(error_of("nodes:\n- name: a{index\n").find("not closed"), std::string::npos);
  EXPECT_NE(error_of("nodes: [\n").find("fleet.yaml: line 2"), std::string::npos) << error_of("nodes: [\n");
  EXPECT_NE(error_of("models: {m: {driver: d, name: x}}\nnodes: [{name: a, devices: [{model: m, count: 2}]}]\n")
                .find("two devices named"),
            std::string::npos);
  EXPECT_NE(error_of("- 1\n").find("a map is expected"), std::string::npos);
}

TEST(FleetTest, DriversLateSlicesAndWhatDevicesAskFor) {
  const auto fleet = load_fleet(R"(
models:
  m:
    driver: d.example.com
    name: dev-{device}
    taints: [{key: k, effect: NoSchedule}]
    bindsToNode: true
    bindingConditions: [attached]
    bindingFailureConditions: [failed]
nodes:
- {name: n, devices: [{model: m}], slicesAfterSeconds: 5}
drivers:
  d.example.com: {bindingSeconds: 2, failingDevices: [dev-9], conditions: [Ready], health: {dev-0: Unhealthy}}
)",
                                "f");
  ASSERT_TRUE(fleet) << fleet.error().message();
  ASSERT_EQ(fleet->late.size(), 1U);
  EXPECT_EQ(fleet->late[0].first, 5);
  const Json& device = fleet->late[0].second["spec"]["devices"][0];
  EXPECT_EQ(device["taints"][0]["key"], "k");
  EXPECT_EQ(device["bindingConditions"][0], "attached");
  const DriverBehaviour& driver = fleet->drivers.at("d.example.com");
  EXPECT_EQ(driver.binding_delay, Duration(std::chrono::seconds(2)));
  EXPECT_EQ(driver.health.at("dev-0"), "Unhealthy");
  const auto wrong = load_fleet("drivers: {d: {health: {x: Ill}}}", "f");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("drivers.d.health.x: health is Healthy, Unhealthy or Unknown"),
            std::string::npos)
      << wrong.error().message();
}

// What an API server would refuse is named where it is written, and once.
TEST(FleetTest, WhatNoDriverCouldPublishIsNamedByFileLineAndField) {
  const auto with = [](const std::string& name, const std::string& whole, const std::string& part) {
    return "models:\n  m:\n    driver: d.example.com\n    name: g-{device}\n    capacity: {memory: " + whole +
           "}\n    partitions:\n      name: '" + name +
           "'\n      counterSet: s-{device}\n      memorySlices: 2\n      profiles:\n"
           "      - {name: 1g.10gb, size: 1, starts: [0, 1], capacity: {memory: " +
           part + "}}\nnodes:\n- {name: n, devices: [{model: m, count: 8}]}\n";
  };
  EXPECT_EQ(error_of(with("g-{device}-{profileLabel}-{start}", "8Gi", "4Gi")), "no error");
  EXPECT_EQ(error_of(with("g-{device}-{profile}-{start}", "8Gi", "4Gi")),
            "fleet.yaml:7:13: models.m.partitions.name: \"g-0-1g.10gb-0\" has a dot, which names of devices must not "
            "have; write {profileLabel} for {profile}");
  EXPECT_EQ(error_of(with("G-{device}-{start}", "8Gi", "4Gi"))
                .find("fleet.yaml:7:13: models.m.partitions.name: "
                      "\"G-0-0\" is not the name of a device: "),
            0u);
  EXPECT_EQ(error_of(with("g-{device}-{start}", "8GiB", "4Gi")),
            "fleet.yaml:5:24: models.m.capacity.memory: \"8GiB\" is not a quantity; write a number with a suffix of "
            "Kubernetes, such as 80Gi or 500m");
  EXPECT_EQ(error_of(with("g-{device}-{start}", "8Gi", "404Gi")),
            "fleet.yaml:11:69: models.m.partitions.profiles[0].capacity.memory: a partition cannot have 404Gi memory, "
            "its device has 8Gi");
  EXPECT_EQ(error_of("nodes:\n- {name: n, capacity: {cpu: many}}\n")
                .find("fleet.yaml:2:29: nodes[0].capacity.cpu: \"many\" is not a quantity"),
            0u);
  EXPECT_EQ(error_of("deviceClasses:\n- name: c\n  selectors:\n  - device.drver == 'x'\n")
                .find("fleet.yaml:4:5: deviceClasses[0].selectors[0]: the selector does not compile: "),
            0u);
}

}  // namespace dra::sandbox::fleet_test
