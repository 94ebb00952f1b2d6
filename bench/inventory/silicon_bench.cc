// silicon_bench: what names of silicon cost. Three fleets side by side, in turns: `plain` publishes attributes that
// name no hardware; `named` the same number of attributes, two of which do (PCI address, NVIDIA's UUID); `twice` is
// `named` with a second driver that publishes the same GPUs. Half of the devices are held, with records where there are
// names.
//
// Prints, for each fleet, the median time of an update of a slice and of a decision (a claim with one device, which is
// assumed and forgotten again), and the ratio to `plain`.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/base/random.h"
#include "pkg/inventory/device_index.h"
#include "pkg/inventory/inventory.h"

namespace {

using namespace dra;

struct Size {
  int nodes = 5000;
  int devices = 8;
  int rounds = 40;
  int each = 50;  // updates and decisions a round
};

double micros_now() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times.empty() ? 0 : times[times.size() / 2];
}

class Fleet {
 public:
  Fleet(std::string called, const Size& size, bool named, bool twice)
      : name(std::move(called)), size_(size), named_(named), random_(1), allocator_(inventory_, {}, random_) {
    for (int n = 0; n < size.nodes; ++n) {
      nodes_.push_back(inventory_.apply_node(node_name(n), {}));
      inventory_.apply_slice(slice(n, "gpu.nvidia.com", "1"));
      if (twice) inventory_.apply_slice(slice(n, "pt.example.com", "1"));
    }
    api::DeviceClass made;
    made.metadata.name = "gpu";
    made.selectors = {"device.driver == \"gpu.nvidia.com\""};
    inventory_.apply_class(made);
    api::ResourceClaim claim;
    claim.metadata.uid = claim.metadata.name = "asks";
    claim.spec.requests.emplace_back().name = "r";
    claim.spec.requests[0].exactly.emplace().device_class_name = "gpu";
    claim.spec.requests[0].exactly->count = 1;
    request_.claims = {std::make_shared<const api::ResourceClaim>(claim)};
    // Half of each node.
    for (int i = 0; i < size.nodes * size.devices / 2; ++i) {
      const std::vector<inventory::NodeId> one{nodes_[static_cast<size_t>(i % size.nodes)]};
      const allocator::FoundNodes found = allocator_.find_nodes(request_, one, 1);
      inventory_.apply_allocation("held-" + std::to_string(i), found.decisions.at(0).results.at(0));
    }
  }

  void update() {
    const int n = static_cast<int>(random_.below(static_cast<uint64_t>(size_.nodes)));
    const api::ResourceSlice changed = slice(n, "gpu.nvidia.com", std::to_string(++updates_));
    const double start = micros_now();
    inventory_.apply_slice(changed);
    update_times.push_back(micros_now() - start);
  }

  void decide() {
    const std::vector<inventory::NodeId> order{nodes_[random_.below(nodes_.size())],
                                               nodes_[random_.below(nodes_.size())]};
    const double start = micros_now();
    const allocator::FoundNodes found = allocator_.find_nodes(request_, order, 1);
    inventory_.assume("asks", found.decisions.at(0).results.at(0));
    inventory_.forget("asks");
    decision_times.push_back(micros_now() - start);
  }

  std::string name;
  std::vector<double> update_times, decision_times;

 private:
  static std::string node_name(int n) { return "node-" + std::to_string(n); }
  api::ResourceSlice slice(int n, const std::string& driver, const std::string& firmware) const {
    api::ResourceSlice made;
    made.metadata.name = node_name(n) + "-" + driver;
    made.driver = driver;
    made.node_name = node_name(n);
    made.pool = {node_name(n), 1, 1};
    for (int d = 0; d < size_.devices; ++d) {
      api::Device& device = made.devices.emplace_back();
      device.name = "gpu-" + std::to_string(d);
      device.attributes["type"] = std::string("gpu");
      device.attributes["firmware"] = firmware;
      char uuid[48];
      std::snprintf(uuid, sizeof uuid, "gpu-%08x-0000-0000-0000-%012x", static_cast<unsigned>(n),
                    static_cast<unsigned>(d + 1));
      device.attributes[named_ ? "gpu.nvidia.com/uuid" : "gpu.nvidia.com/label"] = std::string(uuid);
      device.attributes[named_ ? "resource.kubernetes.io/pciBusID" : "resource.kubernetes.io/pciAny"] =
          "0000:" + std::to_string(10 + d) + ":00.0";
      device.capacity["memory"].value = "80Gi";
    }
    return made;
  }

  const Size size_;
  const bool named_;
  SeededRandom random_;
  inventory::Inventory inventory_;
  allocator::Allocator allocator_;
  std::vector<inventory::NodeId> nodes_;
  allocator::Request request_;
  uint64_t updates_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  Size size;
  CLI::App app("What names of silicon cost an update of a slice, and a decision.");
  app.add_option("--nodes", size.nodes);
  app.add_option("--devices", size.devices, "of each node");
  app.add_option("--rounds", size.rounds);
  CLI11_PARSE(app, argc, argv);
  std::vector<std::unique_ptr<Fleet>> fleets;
  fleets.push_back(std::make_unique<Fleet>("plain", size, false, false));
  fleets.push_back(std::make_unique<Fleet>("named", size, true, false));
  fleets.push_back(std::make_unique<Fleet>("twice", size, true, true));
  for (int round = 0; round < size.rounds; ++round)
    for (const auto& fleet : fleets)
      for (int i = 0; i < size.each; ++i) {
        fleet->update();
        fleet->decide();
      }
  std::printf("%d nodes of %d devices, medians in microseconds of processor time\n", size.nodes, size.devices);
  const double update = median(fleets[0]->update_times), decision = median(fleets[0]->decision_times);
  for (const auto& fleet : fleets)
    std::printf("%-6s update %7.2f (%.2f)  decision %7.2f (%.2f)\n", fleet->name.c_str(), median(fleet->update_times),
                median(fleet->update_times) / update, median(fleet->decision_times),
                median(fleet->decision_times) / decision);
  return 0;
}
