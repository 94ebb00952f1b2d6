// The oracle of devices that are one piece of silicon: docs/design/identity.md by the letter, on texts, every pair of
// devices by itself. Shares no code with pkg/identity but the values of its rules and records.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "test/oracle/selectors.h"
#include "test/oracle/world.h"

namespace dra::oracle {

// A published device, or what an allocation recorded of one.
struct SiliconFace {
  DeviceName name;
  std::set<std::string> own, parent;  // "NAMESPACE TEXT"
  std::string node;                   // "": none
  std::set<std::string> types;
};

class SiliconOracle {
 public:
  explicit SiliconOracle(const World& world, const SelectorJudge& judge = judge_selector);

  // Two published devices that must not both be taken.
  bool rivals(const DeviceName& a, const std::string& node_a, const DeviceName& b, const std::string& node_b) const;
  // Something held excludes the device with this node ("": none): the first holder, and the least value.
  struct Why {
    std::string holder, value;
  };
  std::optional<Why> excluded(const DeviceName& device, const std::string& node) const;
  // The device, or one that it conflicts with, is the device plugin's.
  bool is_plugins(const DeviceName& device, const std::string& node) const;
  // What an allocation must record of the device; nothing if it has no values.
  std::optional<identity::Record> record(const DeviceName& device, const std::string& node) const;

  const std::set<std::string>& malformed() const { return malformed_; }  // "DEVICE ATTRIBUTE"
  const std::set<std::string>& changed() const { return changed_; }
  const std::set<std::string>& unknown() const { return unknown_; }
  // By node and driver: the first resource.
  const std::map<std::pair<std::string, std::string>, std::string>& plugin() const { return plugin_; }

 private:
  void publish(const api::ResourceSlice& slice, const api::Device& device, bool counts);
  void hold();
  void find_plugin(const SelectorJudge& judge);
  std::optional<std::string> piece(const SiliconFace& a, const SiliconFace& b) const;
  std::optional<std::string> conflict(const SiliconFace& a, const SiliconFace& b) const;
  const SiliconFace* find(const DeviceName& device, const std::string& node) const;

  const World& world_;
  std::vector<SiliconFace> published_;
  struct Held {
    DeviceName name;
    std::vector<SiliconFace> faces;
    std::optional<SiliconFace> recorded;
    std::set<std::string> published_own;
    bool published = false;
    bool exempt = false;
  };
  std::vector<Held> held_;
  std::set<std::string> malformed_, changed_, unknown_;
  std::map<std::pair<std::string, std::string>, std::string> plugin_;
};

// Requests of the class share silicon.
bool is_exempt(const World& world, const std::string& device_class);

}  // namespace dra::oracle
