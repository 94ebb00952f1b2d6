// A field that this build does not know, at any place of a slice, claim or class: what it could forbid is not
// allocated, and what it has nothing to do with is.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <span>

#include "pkg/allocator/allocator.h"
#include "pkg/api/decode/decode.h"
#include "pkg/base/random.h"
#include "pkg/inventory/inventory.h"
#include "test/allocharness/contest.h"
#include "test/support/conformance_data.h"
#include "test/support/schema_places.h"

namespace dra::allocharness::unknown_fields_test {

using allocator::Outcome;
using test::json;
using test::Place;

namespace {

// Three drivers on one node, each with a class and a claim. Together the objects have every field that the tables have.
constexpr const char* kWorld = R"({
 "slices": {
  "one-counters": {"metadata": {"name": "one-counters"}, "spec": {"driver": "one.example.com",
    "pool": {"name": "one", "generation": 1, "resourceSliceCount": 2}, "nodeName": "n",
    "sharedCounters": [{"name": "set", "counters": {"memory": {"value": "80Gi"}}}]}},
  "one": {"metadata": {"name": "one"}, "spec": {"driver": "one.example.com",
    "pool": {"name": "one", "generation": 1, "resourceSliceCount": 2}, "perDeviceNodeSelection": true,
    "devices": [DEVICE_A, DEVICE_B]}},
  "two": {"metadata": {"name": "two"}, "spec": {"driver": "two.example.com",
    "pool": {"name": "two", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n", "devices": [{"name": "a"}]}},
  "three": {"metadata": {"name": "three"}, "spec": {"driver": "three.example.com",
    "pool": {"name": "three", "generation": 1, "resourceSliceCount": 1},
    "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}],
      "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}, "devices": [{"name": "a"}]}}},
 "classes": {
  "one": {"metadata": {"name": "one"}, "spec": {"extendedResourceName": "example.com/one",
    "selectors": [{"cel": {"expression": "device.driver == 'one.example.com'"}}],
    "config": [{"opaque": {"driver": "one.example.com", "parameters": {"a": {"b": 1}}}}]}},
  "two": {"metadata": {"name": "two"},
    "spec": {"selectors": [{"cel": {"expression": "device.driver == 'two.example.com'"}}]}},
  "three": {"metadata": {"name": "three"},
    "spec": {"selectors": [{"cel": {"expression": "device.driver == 'three.example.com'"}}]}}},
 "claims": {
  "one": {"metadata": {"name": "one", "namespace": "d", "uid": "u1"}, "spec": {"devices": {
    "requests": [
     {"name": "r", "exactly": {"deviceClassName": "one", "allocationMode": "ExactCount", "count": 1,
       "selectors": [{"cel": {"expression": "device.attributes['one.example.com'].model == 'm'"}}],
       "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
       "capacity": {"requests": {"slots": "1"}},
       "derivedAttributes": [{"name": "derived/x", "expression": "device.driver"}]}},
     {"name": "f", "firstAvailable": [{"name": "s", "deviceClassName": "one", "allocationMode": "ExactCount",
       "count": 1, "selectors": [{"cel": {"expression": "true"}}],
       "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}],
       "capacity": {"requests": {"slots": "1"}},
       "derivedAttributes": [{"name": "derived/x", "expression": "device.driver"}]}]}],
    "constraints": [{"requests": ["r", "f"], "matchAttribute": "one.example.com/model"},
      {"matchAttribute": "derived/x"}],
    "config": [{"requests": ["r"], "opaque": {"driver": "one.example.com", "parameters": {"a": 1}}}]}}},
  "two": {"metadata": {"name": "two", "namespace": "d", "uid": "u2"}, "spec": {"devices": {
    "requests": [{"name": "r", "exactly": {"deviceClassName": "two", "allocationMode": "All"}}]}}},
  "three": {"metadata": {"name": "three", "namespace": "d", "uid": "u3"}, "spec": {"devices": {
    "requests": [{"name": "r", "exactly": {"deviceClassName": "three", "allocationMode": "ExactCount", "count": 1}}]}}}}
})";

json device(const char* name) {
  json out = json::parse(R"({"attributes": {"model": {"string": "m"}, "n": {"int": 1}, "b": {"bool": true},
      "v": {"version": "1.2.3"}, "is": {"ints": [1]}, "bs": {"bools": [true]}, "ss": {"strings": ["x"]},
      "vs": {"versions": ["1.0.0"]}},
    "capacity": {"slots": {"value": "8", "requestPolicy": {"default": "1", "validRange": {"min": "1", "max": "4",
        "step": "1"}}},
      "other": {"value": "8", "requestPolicy": {"default": "1", "validValues": ["1", "2"]}}},
    "consumesCounters": [{"counterSet": "set", "counters": {"memory": {"value": "40Gi"}}}],
    "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}],
      "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]},
    "taints": [{"key": "k", "value": "v", "effect": "NoSchedule", "timeAdded": "2026-01-02T03:04:05Z"}],
    "bindsToNode": true, "bindingConditions": ["c"], "bindingFailureConditions": ["f"],
    "allowMultipleAllocations": true})");
  out["name"] = name;
  return out;
}

json make_world() {
  std::string text = kWorld;
  for (const auto& [word, name] : {std::pair("DEVICE_A", "a"), std::pair("DEVICE_B", "b")})
    text.replace(text.find(word), 8, device(name).dump());
  return json::parse(text);
}

struct Answer {
  Outcome outcome = Outcome::kError;
  std::set<std::string> devices;  // driver/pool/device
  std::string why;
};

class World {
 public:
  explicit World(const json& world, inventory::Features features = inventory::Features::all(),
                 allocator::Strategy strategy = allocator::Strategy::kFirstFit)
      : inventory_(features), random_(1) {
    node_ = inventory_.apply_node("n", {{"zone", "a"}});
    for (const auto& [name, one] : world["classes"].items())
      inventory_.apply_class(*api::decode<api::DeviceClass>(one.dump()));
    for (const auto& [name, one] : world["slices"].items())
      inventory_.apply_slice(*api::decode<api::ResourceSlice>(one.dump()));
    for (const auto& [name, one] : world["claims"].items())
      claims_[name] = std::make_shared<const api::ResourceClaim>(*api::decode<api::ResourceClaim>(one.dump()));
    allocator::Options options;
    options.strategy = strategy;
    allocator_ = std::make_unique<allocator::Allocator>(inventory_, options, random_);
  }

  Answer ask(const std::string& claim) {
    allocator::Request request;
    request.claims = {claims_.at(claim)};
    const allocator::FoundNodes found =
        allocator_->find_nodes(request, std::span<const inventory::NodeId>(&node_, 1), 1);
    Answer answer{found.outcome, {}, found.error ? found.error->message() : ""};
    for (const allocator::Decision& decision : found.decisions)
      for (const api::AllocationResult& result : decision.results)
        for (const auto& one : result.results) answer.devices.insert(one.driver + "/" + one.pool + "/" + one.device);
    if (answer.outcome == Outcome::kInfeasible)
      answer.why = allocator_->explain(request, std::span<const inventory::NodeId>(&node_, 1)).summary();
    return answer;
  }

  inventory::Inventory& inventory() { return inventory_; }

 private:
  inventory::Inventory inventory_;
  SeededRandom random_;
  inventory::NodeId node_;
  std::map<std::string, std::shared_ptr<const api::ResourceClaim>> claims_;
  std::unique_ptr<allocator::Allocator> allocator_;
};

struct Kind {
  const char* list;
  const char* type;
};
constexpr Kind kKinds[] = {{"slices", "ResourceSlice"}, {"classes", "DeviceClass"}, {"claims", "ResourceClaim"}};

const api::schema::ObjectType& type_of(const Kind& kind) {
  return *test::all_schemas().find("resource/v1", kind.type);
}

bool is_under(const std::string& place, const std::string& root) {
  return place == root || place.starts_with(root + ".");
}

// What the place of a newer field makes unusable.
enum class Reach { kNothing, kDevice, kAll };
Reach reach_of(const Kind& kind, const std::string& place) {
  if (is_under(place, "metadata") || is_under(place, "status")) return Reach::kNothing;
  if (std::string(kind.list) != "slices" || !is_under(place, "spec.devices")) return Reach::kAll;
  const bool of_pool = is_under(place, "spec.devices.consumesCounters") || is_under(place, "spec.devices.nodeSelector");
  return of_pool ? Reach::kAll : Reach::kDevice;
}

// The claim that uses the object: all of a driver have its name.
std::string user_of(const std::string& name) {
  return name.substr(0, name.find('-'));
}

const json kValues[] = {json("x"), json(0), json(false), json::object(), json::array({1})};

}  // namespace

TEST(UnknownFieldsOfObjects, TheWorldHasEveryPlaceOfTheSchema) {
  const json world = make_world();
  for (const Kind& kind : kKinds) {
    std::set<std::string> has;
    for (const auto& [name, object] : world[kind.list].items())
      test::each_place(object, type_of(kind), Place{}, [&](const Place& place) { has.insert(place.place); });
    const json full = test::full_object(type_of(kind));
    test::each_place(full, type_of(kind), Place{}, [&](const Place& place) {
      if (reach_of(kind, place.place) == Reach::kNothing) return;
      // Not supported.
      if (is_under(place.place, "spec.devices.nodeAllocatableResourceMappings")) return;
      if (is_under(place.place, "spec.devices.nodeAllocatableResources")) return;
      EXPECT_TRUE(has.contains(place.place)) << kind.type << " " << place.place;
    });
  }
}

TEST(UnknownFieldsOfObjects, NothingIsAllocatedThatAFieldCouldForbid) {
  const json world = make_world();
  {
    World untouched(world);
    for (const char* claim : {"one", "two", "three"})
      ASSERT_EQ(untouched.ask(claim).outcome, Outcome::kFeasible) << claim << ": " << untouched.ask(claim).why;
  }
  size_t places = 0;
  for (const Kind& kind : kKinds)
    for (const auto& [name, object] : world[kind.list].items())
      test::each_place(object, type_of(kind), Place{}, [&, name = name](const Place& place) {
        json changed = world;
        changed[kind.list][name][place.at]["newField"] = kValues[places++ % std::size(kValues)];
        const bool best = places % 2 == 0;
        World now(changed, inventory::Features::all(),
                  best ? allocator::Strategy::kBestFit : allocator::Strategy::kFirstFit);
        const std::string user = user_of(name);
        const Reach reach = reach_of(kind, place.place);
        for (const std::string claim : {"one", "two", "three"}) {
          const Answer answer = now.ask(claim);
          const std::string what =
              std::string(kind.type) + " " + name + " " + place.at.to_string() + ", claim " + claim;
          if (claim != user || reach == Reach::kNothing) {
            EXPECT_EQ(answer.outcome, Outcome::kFeasible) << what << ": " << answer.why;
            continue;
          }
          // The device that has the field: /spec/devices/N/...
          const std::string at = place.at.to_string();
          const std::string device = at.starts_with("/spec/devices/1") ? "b" : "a";
          if (reach == Reach::kDevice && name == "one") {
            EXPECT_EQ(answer.outcome, Outcome::kFeasible) << what << ": " << answer.why;
            EXPECT_FALSE(answer.devices.contains("one.example.com/one/" + device)) << what;
            continue;
          }
          EXPECT_NE(answer.outcome, Outcome::kFeasible) << what;
          EXPECT_TRUE(answer.devices.empty()) << what;
          EXPECT_NE(answer.why.find(reach == Reach::kDevice || std::string(kind.list) == "slices" ? "UnknownField"
                                                                                                  : "newField"),
                    std::string::npos)
              << what << ": " << answer.why;
        }
        EXPECT_TRUE(now.inventory().audit().empty());
      });
  EXPECT_GT(places, 100u);
}

// Mode All means the device with the field as well, if it may be one of the class.
TEST(UnknownFieldsOfObjects, AllDevicesAreNotThoseThatAreLeft) {
  json world = make_world();
  json& request = world["claims"]["two"]["spec"]["devices"]["requests"][0]["exactly"];
  world["slices"]["two"]["spec"]["devices"].push_back({{"name", "b"}});
  EXPECT_EQ(World(world).ask("two").devices.size(), 2u);
  world["slices"]["two"]["spec"]["devices"][1]["newField"] = 1;
  EXPECT_NE(World(world).ask("two").outcome, Outcome::kFeasible);
  request["allocationMode"] = "ExactCount";
  request["count"] = 1;
  EXPECT_EQ(World(world).ask("two").devices, std::set<std::string>{"two.example.com/two/a"});
  // A class that looks at an attribute whose kind is not known.
  request["allocationMode"] = "All";
  request.erase("count");
  world["classes"]["two"]["spec"]["selectors"][0]["cel"]["expression"] =
      "device.driver == 'two.example.com' && device.attributes['two.example.com'].model == 'm'";
  for (json& one : world["slices"]["two"]["spec"]["devices"]) one["attributes"]["model"]["string"] = "m";
  world["slices"]["two"]["spec"]["devices"][1]["attributes"]["model"] = {{"quantity", "1Gi"}};
  EXPECT_NE(World(world).ask("two").outcome, Outcome::kFeasible);
}

// Mode All means a device that may be on the node, too: where it is, is said in a way that is not known.
TEST(UnknownFieldsOfObjects, AllDevicesAreThoseThatMayBeOnTheNode) {
  const auto all = [](json slice) {
    json world = make_world();
    slice["metadata"]["name"] = "two-more";
    slice["spec"]["driver"] = "two.example.com";
    slice["spec"]["pool"] = {{"name", "more"}, {"generation", 1}, {"resourceSliceCount", 1}};
    slice["spec"]["devices"][0]["name"] = "b";
    world["slices"]["two-more"] = slice;
    const Outcome found = World(world).ask("two").outcome;
    json& request = world["claims"]["two"]["spec"]["devices"]["requests"][0]["exactly"];
    request["allocationMode"] = "ExactCount";
    request["count"] = 1;
    EXPECT_EQ(World(world).ask("two").devices, std::set<std::string>{"two.example.com/two/a"}) << slice.dump();
    return found;
  };
  const json nowhere_near = {
      {"nodeSelectorTerms", {{{"matchExpressions", {{{"key", "zone"}, {"operator", "In"}, {"values", {"b"}}}}}}}}};
  json other_operator = nowhere_near;
  other_operator["nodeSelectorTerms"][0]["matchExpressions"][0]["operator"] = "Near";
  json of_selector = nowhere_near;
  of_selector["nodeSelectorTerms"][0]["newField"] = 1;
  EXPECT_EQ(all({{"spec", {{"nodeSelector", nowhere_near}}}}), Outcome::kFeasible);
  EXPECT_EQ(all({{"spec", {{"nodeName", "other"}, {"newField", 1}}}}), Outcome::kFeasible);
  EXPECT_NE(all({{"spec", {{"newPlace", "rack-1"}}}}), Outcome::kFeasible);
  EXPECT_NE(all({{"spec", {{"nodeSelector", other_operator}}}}), Outcome::kFeasible);
  EXPECT_NE(all({{"spec", {{"nodeSelector", of_selector}}}}), Outcome::kFeasible);
  const auto of_device = [&](const json& device) {
    return all({{"spec", {{"perDeviceNodeSelection", true}, {"devices", {device}}}}});
  };
  EXPECT_EQ(of_device({{"nodeName", "other"}, {"newField", 1}}), Outcome::kFeasible);
  EXPECT_NE(of_device({{"newPlace", "rack-1"}}), Outcome::kFeasible);
  EXPECT_NE(of_device({{"nodeSelector", of_selector}}), Outcome::kFeasible);
}

TEST(UnknownFieldsOfObjects, NotEvenWithAdministrativeAccess) {
  json world = make_world();
  json& request = world["claims"]["two"]["spec"]["devices"]["requests"][0]["exactly"];
  for (const char* mode : {"All", "ExactCount"}) {
    request["allocationMode"] = mode;
    request["adminAccess"] = true;
    EXPECT_EQ(World(world).ask("two").outcome, Outcome::kFeasible);
    json changed = world;
    changed["slices"]["two"]["spec"]["devices"][0]["newField"] = 1;
    EXPECT_NE(World(changed).ask("two").outcome, Outcome::kFeasible) << mode;
    changed = world;
    changed["slices"]["two"]["spec"]["newField"] = 1;
    EXPECT_NE(World(changed).ask("two").outcome, Outcome::kFeasible) << mode;
  }
}

TEST(UnknownFieldsOfObjects, WhatAnAdministratorListsIsIgnored) {
  json world = make_world();
  world["slices"]["two"]["spec"]["devices"][0]["newField"] = 1;
  world["claims"]["two"]["spec"]["newField"] = 1;
  inventory::Features features = inventory::Features::all();
  features.ignored_fields = {"resourceslices.spec.devices.newField"};
  EXPECT_NE(World(world, features).ask("two").outcome, Outcome::kFeasible);
  features.ignored_fields.push_back("resourceclaims.spec.newField");
  EXPECT_EQ(World(world, features).ask("two").outcome, Outcome::kFeasible);
}

// Of a device that somebody holds by an allocation with such a field nobody gets another share; the holder keeps it.
TEST(UnknownFieldsOfObjects, ADeviceOfAnAllocationIsNotShared) {
  json world = make_world();
  world["slices"]["one"]["spec"]["devices"].erase(1);
  json holder = world["claims"]["one"];
  holder["metadata"]["uid"] = "holder";
  holder["status"]["allocation"]["devices"]["results"] =
      json::array({{{"request", "r"},
                    {"driver", "one.example.com"},
                    {"pool", "one"},
                    {"device", "a"},
                    {"shareID", "s"},
                    {"consumedCapacity", {{"slots", "1"}, {"other", "1"}}}}});
  const auto held_by = [&](const json& claim) {
    World now(world);
    now.inventory().apply_claim(*api::decode<api::ResourceClaim>(claim.dump()));
    EXPECT_EQ(now.inventory().observed_devices("holder").size(), 1u);
    EXPECT_TRUE(now.inventory().audit().empty());
    return now.ask("one").outcome;
  };
  EXPECT_EQ(held_by(holder), Outcome::kFeasible);
  for (const char* at : {"/status/allocation/devices/results/0", "/status/allocation/devices", "/status/allocation"}) {
    json changed = holder;
    changed[json::json_pointer(at)]["newField"] = "x";
    EXPECT_EQ(held_by(changed), Outcome::kInfeasible) << at;
  }
  json elsewhere = holder;
  elsewhere["status"]["newField"] = "x";
  EXPECT_EQ(held_by(elsewhere), Outcome::kFeasible);
}

namespace {

bool is_allocated(const oracle::World& world) {
  Result<std::unique_ptr<Contest>> contest = Contest::make(world, {});
  EXPECT_TRUE(contest) << contest.error().message();
  return contest && (*contest)->decide().outcome == Outcome::kFeasible;
}

oracle::World ignoring_what_is_new(oracle::World world) {
  for (api::ResourceSlice& slice : world.slices)
    for (api::Device& one : slice.devices)
      for (api::DeviceCounterConsumption& consumption : one.consumes_counters) consumption.compatibility_groups.clear();
  for (api::ResourceClaim& claim : world.claims)
    for (api::DeviceRequest& request : claim.spec.requests) {
      if (request.exactly) request.exactly->derived_attributes.reset();
      for (api::DeviceSubRequest& alternative : request.first_available) alternative.derived_attributes.reset();
    }
  return world;
}

}  // namespace

// Worlds of a 1.37 server with both of its gates off: where the fields forbid an allocation, there is none.
TEST(UnknownFieldsOfObjects, OfKubernetes137) {
  const test::ConformanceData data = test::conformance_data();
  std::ifstream file(data.file("allocator_137.jsonl"));
  ASSERT_TRUE(file) << data.file("allocator_137.jsonl");
  int cases = 0, forbidden = 0, wrong_if_ignored = 0;
  for (std::string line; std::getline(file, line);) {
    Result<oracle::Case> one = oracle::read_case(line);
    ASSERT_TRUE(one) << to_string(one.error());
    const bool gated = one->world.gates.erase("DRADeviceCompatibilityGroups") > 0;
    one->world.gates.erase("DRADerivedAttributes");
    ++cases;
    const bool may_be = one->expect.feasible.value_or(false);
    forbidden += may_be ? 0 : 1;
    const bool is = is_allocated(one->world);
    EXPECT_TRUE(may_be || !is) << one->world.id;
    const bool plain = line.find("derivedAttributes") == std::string::npos &&
                       (line.find("compatibilityGroups") == std::string::npos || !gated);
    EXPECT_TRUE(!plain || is == may_be) << one->world.id << " has none of the fields, or its gate was off";
    if (!may_be) wrong_if_ignored += is_allocated(ignoring_what_is_new(one->world)) ? 1 : 0;
  }
  EXPECT_TRUE(data.at_least(1500, 32, cases, "cases"));
  EXPECT_TRUE(data.at_least(400, 24, forbidden, "forbidden"));
  EXPECT_TRUE(data.at_least(300, 13, wrong_if_ignored, "wrong if the fields are ignored"));
}

}  // namespace dra::allocharness::unknown_fields_test
