// VerdictWorld: three nodes with two GPUs and one NIC each, a pod that wants one GPU, and everything that can be wrong
// with it. For tests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/verdict/verdict.h"
#include "pkg/verdict/words.h"

namespace dra::verdict {

struct WorldNode {
  bool unschedulable = false, deleting = false;
  std::string cpu = "8", pods = "110";
  int devices = 2, held = 0;
};

// Set everything before judge() creates the objects.
struct VerdictWorld {
  std::vector<WorldNode> nodes{3};
  std::optional<api::Taint> node_taint;
  api::StringMap node_selector;
  std::string cpu = "1";
  std::string other_resource;
  int host_port = 0;
  bool avoids_itself = false;  // anti-affinity to a pod on each node
  bool spreads = false;        // over a label that no node has
  std::string volume_claim;
  bool pinned = false;  // another claim of the pod has devices on a node that is gone

  int count = 1;
  bool all = false;  // allocationMode All
  std::string request_name = "gpu";
  std::vector<std::string> selectors;
  std::string device_class = "gpu";
  std::vector<std::string> class_selectors{"device.driver == \"gpu.example.com\""};
  std::map<std::string, std::string, std::less<>> capacity;
  std::optional<std::string> match;  // constraint
  std::optional<api::DeviceTaint> device_taint;
  bool cut = false;  // a partition of each GPU is in use
  bool incomplete = false, invalid = false;
  bool held = false;
  bool multiple = false;  // devices serve several requests at once
  bool name_holders = true;
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;  // besides the one for GPUs

  void hold_all() { held = true; }
  void hold(size_t node, int devices) { nodes[node].held = devices; }
  std::shared_ptr<const api::ResourceClaim> claim(const std::string& name, const std::string& of_class, int devices);
  Verdict judge();

  // Valid after judge().
  placement::Cluster cluster;
  inventory::Inventory inventory{inventory::Features::all()};
  SeededRandom random{1};
  allocator::Allocator allocator{inventory, {}, random};
  api::Pod pod;
  Question question;
  std::vector<std::shared_ptr<const api::ResourceClaim>> holders;  // claims of others
  Facts facts();

 private:
  void make_nodes();
  void make_pods();
  void make_slices();
  void hold_devices();
  void ask();
};

struct SeededCause {
  std::string name;
  std::string words;  // the words that the sentence has for it
  int rank = 0;       // lower ranks are named first
  std::function<void(VerdictWorld&)> seed;
  std::string excludes;    // causes with the same word here cannot be seeded together
  std::string headline{};  // the page's words, where they differ
};
const std::vector<SeededCause>& seeded_causes();

}  // namespace dra::verdict
