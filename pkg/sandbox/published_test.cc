// The models of NVIDIA's cards publish what NVIDIA's driver published for a real card (nvidia_slices of the conformance
// data; skipped where that is absent).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "pkg/sandbox/fleet.h"
#include "test/support/conformance_data.h"

namespace dra::sandbox::published_test {

using Json = nlohmann::json;

constexpr const char* kBus = "resource.kubernetes.io/pciBusID";
constexpr const char* kRoot = "resource.kubernetes.io/pcieRoot";

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

// The slices of one node with so many devices of the model, which is one of the fleet's.
std::vector<Json> slices_of(const std::string& fleet_text, const std::string& model, int count) {
  const std::string models = fleet_text.substr(0, fleet_text.find("\nnodes:\n"));
  const auto fleet = load_fleet(
      models + "\nnodes:\n- {name: real-0, devices: [{model: " + model + ", count: " + std::to_string(count) + "}]}\n",
      model);
  EXPECT_TRUE(fleet) << (fleet ? "" : fleet.error().message());
  std::vector<Json> slices;
  if (!fleet) return slices;
  for (const Json& object : fleet->objects)
    if (object["kind"] == "ResourceSlice") slices.push_back(object["spec"]);
  return slices;
}

Json devices_of(const std::vector<Json>& slices) {
  Json devices = Json::array();
  for (const Json& slice : slices)
    for (const Json& device : slice.value("devices", Json::array())) devices.push_back(device);
  return devices;
}

// What may differ from card to card and from host to host; its type may not.
bool may_differ(const std::string& attribute, const Json& value) {
  static const std::set<std::string> kNames{"uuid", "parentUUID", "addressingMode", kBus, kRoot};
  return kNames.contains(attribute) || value.contains("version");
}

void compare_attributes(const Json& published, const Json& ours, const std::string& device) {
  for (const auto& [name, value] : published.items()) {
    ASSERT_TRUE(ours.contains(name)) << device << " lacks attribute " << name;
    EXPECT_EQ(ours[name].begin().key(), value.begin().key()) << device << " " << name;
    if (!may_differ(name, value)) {
      EXPECT_EQ(ours[name], value) << device << " " << name;
    }
  }
  for (const auto& [name, value] : ours.items())
    EXPECT_TRUE(published.contains(name)) << device << " has attribute " << name << ", which is not published";
  EXPECT_EQ(ours["cudaComputeCapability"], published["cudaComputeCapability"]) << device;
}

void compare(const std::vector<Json>& published, const std::vector<Json>& ours) {
  ASSERT_EQ(ours.size(), published.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    for (const char* field : {"driver", "nodeName", "pool", "sharedCounters"})
      EXPECT_EQ(ours[i].value(field, Json()), published[i].value(field, Json())) << field;
    const Json expected = published[i].value("devices", Json::array()), got = ours[i].value("devices", Json::array());
    ASSERT_EQ(got.size(), expected.size());
    for (size_t at = 0; at < got.size(); ++at) {
      const std::string name = expected[at]["name"];
      EXPECT_EQ(got[at]["name"], name);
      compare_attributes(expected[at]["attributes"], got[at]["attributes"], name);
      for (const char* field : {"capacity", "consumesCounters", "allowMultipleAllocations"})
        EXPECT_EQ(got[at].value(field, Json()), expected[at].value(field, Json())) << name << " " << field;
    }
  }
}

// The slices of a file in which each list of slices is one card: by the name of the slice if `named`, else all of them.
std::vector<Json> published_in(const std::string& file, const std::string& named) {
  std::vector<Json> slices;
  for (const Json& slice : Json::parse(text_of(file)))
    if (named.empty() || slice["metadata"]["name"] == named) slices.push_back(slice["spec"]);
  EXPECT_FALSE(slices.empty()) << file << " " << named;
  return slices;
}

TEST(PublishedSlices, ModelsEqualWhatTheDriverPublished) {
  const std::string folder = test::conformance_data().file("nvidia_slices");
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no published slices in " << folder;
  struct Pair {
    const char* file;
    const char* slice;
    const char* model;
  };
  const std::string fleet(default_fleet());
  const Pair pairs[] = {{"h100-default.json", "", "h100-80gb-whole"},
                        {"h100-dynamic-mig.json", "", "h100-80gb"},
                        {"h200-dynamic-mig.json", "", "h200-141gb"},
                        {"h100-shares.json", "shares-unlimited", "h100-80gb-shared"},
                        {"h100-shares.json", "shares-4", "h100-80gb-shared-by-4"},
                        {"h100-shares.json", "shares-memory", "h100-80gb-shared-by-memory"}};
  for (const Pair& pair : pairs) {
    SCOPED_TRACE(pair.model);
    compare(published_in(folder + "/" + pair.file, pair.slice), slices_of(fleet, pair.model, 1));
  }
  SCOPED_TRACE("examples/drivers/fleet.yaml");
  compare(published_in(folder + "/h100-default.json", ""),
          slices_of(text_of("examples/drivers/fleet.yaml"), "h100", 1));
}

// Addresses are those of a real host's /sys: well-formed, one a card, and the same on a card and its partitions.
TEST(PublishedSlices, EachCardHasAnAddressAndARootOfItsOwn) {
  const std::regex bus("[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\\.[0-7]"), root("pci[0-9a-f]{4}:[0-9a-f]{2}");
  const int cards = 40;
  for (const char* model : {"h100-80gb-whole", "h100-80gb", "h200-141gb"}) {
    SCOPED_TRACE(model);
    std::map<std::string, std::string> bus_of, root_of;  // by UUID of the card
    for (const Json& device : devices_of(slices_of(std::string(default_fleet()), model, cards))) {
      const Json& attributes = device["attributes"];
      const std::string card = attributes[attributes.contains("uuid") ? "uuid" : "parentUUID"]["string"];
      const std::string at = attributes[kBus]["string"], below = attributes[kRoot]["string"];
      EXPECT_TRUE(std::regex_match(at, bus)) << at;
      EXPECT_TRUE(std::regex_match(below, root)) << below;
      EXPECT_EQ(bus_of.try_emplace(card, at).first->second, at) << device["name"];
      EXPECT_EQ(root_of.try_emplace(card, below).first->second, below) << device["name"];
    }
    std::set<std::string> buses, roots;
    for (const auto& [card, at] : bus_of) buses.insert(at);
    for (const auto& [card, below] : root_of) roots.insert(below);
    EXPECT_EQ(buses.size(), static_cast<size_t>(cards));
    EXPECT_EQ(roots.size(), static_cast<size_t>(cards));
  }
}

// No device of the shipped fleets has an address that no host has.
TEST(PublishedSlices, AddressesOfAllFleetsAreWellFormed) {
  const std::regex bus("[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\\.[0-7]"), root("pci[0-9a-f]{4}:[0-9a-f]{2}");
  size_t seen = 0;
  for (const std::string& text : {std::string(default_fleet()), text_of("examples/drivers/fleet.yaml")}) {
    const auto fleet = load_fleet(text, "fleet");
    ASSERT_TRUE(fleet) << fleet.error().message();
    for (const Json& object : fleet->objects) {
      if (object["kind"] != "ResourceSlice") continue;
      for (const Json& device : object["spec"].value("devices", Json::array())) {
        const Json& attributes = device["attributes"];
        if (attributes.contains(kRoot)) {
          ++seen;
          EXPECT_TRUE(std::regex_match(attributes[kRoot]["string"].get<std::string>(), root)) << device["name"];
        }
        if (attributes.contains(kBus)) {
          EXPECT_TRUE(std::regex_match(attributes[kBus]["string"].get<std::string>(), bus)) << device["name"];
        }
      }
    }
  }
  EXPECT_GT(seen, 100U);
}

}  // namespace dra::sandbox::published_test
