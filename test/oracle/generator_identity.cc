// Worlds in which devices are one piece of silicon under several names: random ones, with identities added.
#include "test/oracle/generator_dice.h"
#include "test/oracle/silicon.h"

namespace dra::oracle {
namespace {

class IdentityMaker {
 public:
  IdentityMaker(World world, uint64_t seed) : world_(std::move(world)), dice_(seed ^ 0x1de47171) {}

  World make() {
    make_rules();
    for (api::ResourceSlice& slice : world_.slices)
      for (api::Device& device : slice.devices) name(slice, device);
    for (api::DeviceClass& one : world_.classes)
      if (dice_.chance(15))
        one.metadata.annotations["dra-controller-manager/shared-silicon"] = dice_.chance(80) ? "true" : "false";
    if (dice_.chance(12)) make_plugin();
    hold();
    return std::move(world_);
  }

 private:
  void make_rules() {
    identity::Rules& rules = world_.identity_rules;
    if (dice_.chance(60)) rules.own["a.example.com/serial"] = "acc";
    if (dice_.chance(60)) rules.own["b.example.com/number"] = "acc";
    if (dice_.chance(40)) rules.parent["b.example.com/above"] = "acc";
    if (dice_.chance(40)) rules.parent["a.example.com/bus"] = "pci";
    if (dice_.chance(40)) rules.parts["a.example.com"] = {"part"};
    if (dice_.chance(40)) rules.exclusive["a.example.com"] = {{"part", "vm"}, {"vm", "whole"}};
  }

  std::string bus() {
    static const std::vector<std::string> kTexts = {"0000:1a:00.0", "1A:00.0",      "00000000:3b:00.0",
                                                    "0000:3b:00.0", "0000:3B:00.0", "0000:5c:0.0",
                                                    "n/a",          "0000:5c:00.1"};
    return dice_.one_of(kTexts);
  }
  std::string serial() { return "SN" + std::to_string(dice_.below(4)); }

  void name(const api::ResourceSlice& slice, api::Device& device) {
    if (dice_.chance(20)) return;
    const std::string bare = dice_.chance(50) ? "" : slice.driver + "/";
    if (dice_.chance(60)) {
      if (dice_.chance(15)) {
        device.attributes["resource.kubernetes.io/pciBusID"] = std::vector<std::string>{bus(), bus()};
      } else {
        device.attributes["resource.kubernetes.io/pciBusID"] = bus();
      }
      if (!world_.on("DRAListTypeAttributes")) device.attributes["resource.kubernetes.io/pciBusID"] = bus();
    }
    if (slice.driver == "a.example.com") {
      if (dice_.chance(40)) device.attributes[bare + "serial"] = serial();
      if (dice_.chance(20)) device.attributes[bare + "bus"] = bus();
      if (dice_.chance(60))
        device.attributes[bare + "type"] = std::string(dice_.chance(40) ? "whole" : dice_.chance(50) ? "part" : "vm");
    } else {
      if (dice_.chance(40)) device.attributes[bare + "number"] = serial();
      if (dice_.chance(30)) device.attributes[bare + "above"] = serial();
    }
  }

  void make_plugin() {
    api::DeviceClass& one = world_.classes[dice_.below(world_.classes.size())];
    one.extended_resource_name = "example.com/gpu";
    for (api::Node& node : world_.nodes)
      if (dice_.chance(40)) node.allocatable["example.com/gpu"] = dice_.chance(70) ? "2" : "0";
    if (dice_.chance(40)) world_.identity_rules.plugin["a.example.com"] = identity::PluginUse::kDra;
    if (dice_.chance(30)) world_.identity_rules.plugin["b.example.com"] = identity::PluginUse::kApart;
    if (dice_.chance(20)) world_.identity_rules.plugin_resources["b.example.com"] = {"example.com/gpu"};
    if (!dice_.chance(40)) return;
    api::Pod& pod = world_.pods.emplace_back();
    pod.metadata.name = "of-plugin";
    pod.node_name = world_.nodes[0].metadata.name;
    pod.phase = dice_.chance(80) ? "Running" : "Failed";
    pod.containers.emplace_back().requests["example.com/gpu"] = "1";
  }

  // What is held: sometimes as published, sometimes as it was before, sometimes of a device that is gone.
  void hold() {
    const SiliconOracle silicon(world_);
    if (dice_.chance(25)) {
      const DeviceName gone{dice_.chance(50) ? "a.example.com" : "b.example.com", "gone", "d0"};
      world_.allocated.insert(gone);
    }
    std::set<DeviceName> names = world_.allocated;
    for (const auto& [name, share] : world_.allocated_shares) names.insert(name);
    for (const DeviceName& name : names) {
      if (dice_.chance(40)) continue;
      std::optional<identity::Record> record;
      for (const api::Node& node : world_.nodes)
        if (!record) record = silicon.record(name, node.metadata.name);
      if (!record) record = silicon.record(name, "");
      if (!record || dice_.chance(25)) {
        identity::Record other;
        if (dice_.chance(70)) other.own.push_back("pci 0000:" + std::string(dice_.chance(50) ? "1a" : "3b") + ":00.0");
        if (dice_.chance(30)) other.own.insert(other.own.begin(), "acc sn" + std::to_string(dice_.below(4)));
        if (dice_.chance(30)) other.part_of.push_back("acc sn" + std::to_string(dice_.below(4)));
        if (dice_.chance(85)) {
          other.node = world_.nodes[0].metadata.name;
        } else {
          std::erase_if(other.own, [](const std::string& value) { return value.starts_with("pci"); });
        }
        std::erase_if(other.part_of, [&](const std::string& value) {
          return std::find(other.own.begin(), other.own.end(), value) != other.own.end();
        });
        if (dice_.chance(50)) other.type = dice_.chance(50) ? "vm" : "whole";
        record = other;
      }
      record->shared = dice_.chance(15);
      world_.recorded[name] = *record;
    }
  }

  World world_;
  Dice dice_;
};

}  // namespace

World with_identities(World world, uint64_t seed) {
  return IdentityMaker(std::move(world), seed).make();
}

}  // namespace dra::oracle
