// The gates of 1.36 and the alpha gates of 1.37 off, on, and switched off while pods wait: the API server stores the
// fields, and the manager is started anew with other gates.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/apiserver/model/release.h"
#include "test/integration/cluster.h"

namespace dra::integration::gates_test {

using namespace std::chrono_literals;

struct Row {
  const char* gate;
  void (*slices)(std::vector<Json>& slices);  // changes those of node n0, with one device
  void (*claim)(Json& claim);
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.gate;
}

// Of a set of 8 the first device takes so many.
void add_counters(std::vector<Json>& slices, const char* taken) {
  Json counters = slices[0];
  counters["metadata"]["name"] = "counters";
  counters["spec"].erase("devices");
  counters["spec"]["sharedCounters"] = {{{"name", "set"}, {"counters", {{"memory", {{"value", "8"}}}}}}};
  slices[0]["spec"]["devices"][0]["consumesCounters"] = {
      {{"counterSet", "set"}, {"counters", {{"memory", {{"value", taken}}}}}}};
  slices.push_back(counters);
  for (Json& slice : slices) slice["spec"]["pool"]["resourceSliceCount"] = 2;
}

const Row kRows[] = {
    {"DRADerivedAttributes", [](std::vector<Json>&) {},
     [](Json& claim) {
       Json& devices = claim["spec"]["devices"];
       devices["requests"][0]["exactly"]["derivedAttributes"] = {
           {{"name", "derived/driver"}, {"expression", "device.driver"}}};
       devices["constraints"] = {{{"matchAttribute", "derived/driver"}}};
     }},
    {"DRADeviceCompatibilityGroups",
     [](std::vector<Json>& slices) {
       add_counters(slices, "1");
       slices[0]["spec"]["devices"][0]["consumesCounters"][0]["compatibilityGroups"] = {"mig"};
     },
     [](Json&) {}},
    {"DRAOptionalNodeOperations", [](std::vector<Json>& slices) { slices[0]["spec"]["skipNodeOperations"] = {"*"}; },
     [](Json&) {}},
    // Those of 1.36 are on by default, and an administrator may switch them off.
    {"DRAPrioritizedList", [](std::vector<Json>&) {},
     [](Json& claim) {
       Json& request = claim["spec"]["devices"]["requests"][0];
       Json only = request["exactly"];
       only["name"] = "only";
       request = {{"name", request["name"]}, {"firstAvailable", {only}}};
     }},
    {"DRAPartitionableDevices", [](std::vector<Json>& slices) { add_counters(slices, "8"); }, [](Json&) {}},
    {"DRAConsumableCapacity",
     [](std::vector<Json>& slices) {
       Json& device = slices[0]["spec"]["devices"][0];
       device["allowMultipleAllocations"] = true;
       device["capacity"] = {{"memory", {{"value", "8"}}}};
     },
     [](Json& claim) {
       claim["spec"]["devices"]["requests"][0]["exactly"]["capacity"] = {{"requests", {{"memory", "8"}}}};
     }},
    {"DRADeviceBindingConditions",
     [](std::vector<Json>& slices) {
       Json& device = slices[0]["spec"]["devices"][0];
       device["bindingConditions"] = {"Attached"};
       device["bindingFailureConditions"] = {"Broken"};
     },
     [](Json&) {}},
};

class GateWorld {
 protected:
  explicit GateWorld(const Row& row) : row_(row) {
    EXPECT_TRUE(apiserver::serve_release("1.37",
                                         "DRADerivedAttributes=true,DRADeviceCompatibilityGroups=true,"
                                         "DRAOptionalNodeOperations=true,DRAPartitionableDevicesType=true"));
    plane_ = std::make_unique<SimControlPlane>();
    api_ = std::make_unique<Api>(*plane_, plane_->transport());
    api_->create(node("n0"));
    api_->create(device_class());
    std::vector<Json> slices{slice("n0", 1)};
    row_.slices(slices);
    for (const Json& one : slices) api_->create(one);
  }
  ~GateWorld() {
    process_.reset();
    api_.reset();
    plane_.reset();
    EXPECT_TRUE(apiserver::serve_release(""));
  }

  void start(bool on) {
    process_.reset();
    ProcessOptions options;
    options.manager = Cluster::manager_options();
    options.manager.features = *inventory::FeatureChoice::parse(std::string(row_.gate) + (on ? "=true" : "=false"), "");
    process_ = std::make_unique<Process>(plane_->reactor(), plane_->transport(), std::move(options));
    process_->start();
    plane_->pass(30s);
  }
  void add(const std::string& name) {
    Json made = claim(name);
    row_.claim(made);
    api_->create(made);
    api_->create(pod(name, {from_claim("gpu", name)}));
    plane_->pass(30s);
  }
  bool waits(const std::string& name) { return api_->get(Api::path("Pod", name))["spec"].contains("schedulingGates"); }
  Json status(const std::string& name) { return api_->get(Api::path("ResourceClaim", name))["status"]; }
  std::string events() {
    std::string all;
    for (const Json& event : api_->list("Event")) all += event.value("note", event.value("message", "")) + "\n";
    return all;
  }

  std::unique_ptr<SimControlPlane> plane_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<Process> process_;
  const Row row_;
};

class Gates : public testing::TestWithParam<Row>, public GateWorld {
 protected:
  Gates() : GateWorld(GetParam()) {}
};

TEST_P(Gates, OffOnAndSwitchedOffWhilePodsWait) {
  start(false);
  add("first");
  EXPECT_TRUE(waits("first"));
  EXPECT_FALSE(status("first").contains("allocation"));
  EXPECT_NE(events().find(GetParam().gate), std::string::npos) << "the gate is not named in:\n" << events();
  start(true);
  EXPECT_FALSE(waits("first")) << events();
  const Json held = status("first");
  add("second");
  EXPECT_TRUE(waits("second")) << "there is one device";
  // Off again: what is allocated stays, and what waits goes on waiting, also when a device comes free.
  start(false);
  EXPECT_EQ(status("first"), held);
  api_->remove_now(Api::path("Pod", "first"));
  api_->remove(Api::path("ResourceClaim", "first"));
  plane_->pass(2min);
  EXPECT_TRUE(waits("second"));
  EXPECT_FALSE(status("second").contains("allocation"));
  start(true);
  EXPECT_FALSE(waits("second")) << events();
}

// A range with a fraction: 300m of steps of 250m are 500m, and by the rules of 1.36, which count in whole units, all of
// it.
const Row kFractions{
    "DRAFractionalCapacityRange",
    [](std::vector<Json>& slices) {
      Json& device = slices[0]["spec"]["devices"][0];
      device["allowMultipleAllocations"] = true;
      device["capacity"] = {
          {"share",
           {{"value", "1"},
            {"requestPolicy", {{"default", "250m"}, {"validRange", {{"min", "250m"}, {"step", "250m"}}}}}}}};
    },
    [](Json& claim) {
      claim["spec"]["devices"]["requests"][0]["exactly"]["capacity"] = {{"requests", {{"share", "300m"}}}};
    }};

class Fractions : public testing::Test, public GateWorld {
 protected:
  Fractions() : GateWorld(kFractions) {}
  Json share(const std::string& name) {
    return status(name)["allocation"]["devices"]["results"][0]["consumedCapacity"]["share"];
  }
};

TEST_F(Fractions, AreRoundedByTheGateAndWhatIsAllocatedStays) {
  start(true);
  add("first");
  EXPECT_EQ(share("first"), "500m") << events();
  start(false);
  add("second");
  EXPECT_TRUE(waits("second")) << "all of the device is more than is left";
  EXPECT_EQ(share("first"), "500m");
  start(true);
  EXPECT_FALSE(waits("second")) << events();
  EXPECT_EQ(share("second"), "500m");
  // Alone, and without the gate: all of it.
  for (const char* name : {"first", "second"}) {
    api_->remove_now(Api::path("Pod", name));
    api_->remove(Api::path("ResourceClaim", name));
  }
  start(false);
  add("third");
  EXPECT_EQ(share("third"), "1") << events();
}

// It is about the status of pools: no decision depends on it.
const Row kPartitionType{"DRAPartitionableDevicesType",
                         [](std::vector<Json>& slices) {
                           slices[0]["spec"]["partitionTypeAttribute"] = std::string(kDriver) + "/type";
                           slices[0]["spec"]["devices"][0]["attributes"] = {{"type", {{"string", "whole"}}}};
                         },
                         [](Json&) {}};

class PartitionType : public testing::Test, public GateWorld {
 protected:
  PartitionType() : GateWorld(kPartitionType) {}
};

TEST_F(PartitionType, DecidesNothing) {
  for (const bool on : {false, true}) {
    start(on);
    const std::string name = on ? "with" : "without";
    add(name);
    EXPECT_FALSE(waits(name)) << events();
    api_->remove_now(Api::path("Pod", name));
    api_->remove(Api::path("ResourceClaim", name));
    plane_->pass(1min);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Gates, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.gate); });

}  // namespace dra::integration::gates_test
