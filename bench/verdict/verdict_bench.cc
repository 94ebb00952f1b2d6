// The cost of a verdict compared with the decision that it explains, in a large fleet without free devices.
//
//   verdict_bench --nodes 5000 --devices 8 --pods 3000
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "pkg/base/random.h"
#include "pkg/placement/decide.h"
#include "pkg/verdict/verdict.h"

namespace {

using namespace dra;

struct Fleet {
  placement::Cluster cluster;
  inventory::Inventory inventory;
  placement::NodeNumbers numbers{inventory};
  SeededRandom random{1};
  allocator::Allocator allocator{inventory, {}, random};

  void add_node(int number, int devices) {
    auto node = std::make_shared<api::Node>();
    node->metadata.name = "node-" + std::to_string(number);
    node->metadata.labels = {{"kubernetes.io/hostname", node->metadata.name}, {"zone", std::to_string(number % 3)}};
    node->allocatable = {{"cpu", "96"}, {"memory", "512Gi"}, {"pods", "110"}};
    node->unschedulable = number % 50 == 0;
    inventory.apply_node(node);
    api::ResourceSlice slice;
    slice.metadata.name = "slice-" + node->metadata.name;
    slice.driver = "gpu.example.com";
    slice.pool = {node->metadata.name, 1, 1};
    slice.node_name = node->metadata.name;
    for (int d = 0; d < devices; ++d) {
      api::Device& device = slice.devices.emplace_back();
      device.name = "gpu-" + std::to_string(d);
      device.attributes["productName"] = std::string(number % 4 == 0 ? "H100" : "A100");
      if (number % 100 == 1 && d == 0) device.taints.push_back({"broken", "yes", "NoSchedule", ""});
    }
    inventory.apply_slice(slice);
    cluster.set_node(std::move(node));
  }
  void hold(int node, int device) {
    api::AllocationResult allocation;
    allocation.results.emplace_back();
    allocation.results.back().driver = "gpu.example.com";
    allocation.results.back().pool = "node-" + std::to_string(node);
    allocation.results.back().device = "gpu-" + std::to_string(device);
    inventory.apply_allocation("h-" + std::to_string(node) + "-" + std::to_string(device), allocation);
  }
};

std::shared_ptr<const api::ResourceClaim> make_claim(int number) {
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->metadata.name = claim->metadata.uid = "c" + std::to_string(number);
  claim->metadata.ns = "ns" + std::to_string(number % 20);
  api::DeviceRequest& request = claim->spec.requests.emplace_back();
  request.name = "gpu";
  request.exactly.emplace();
  request.exactly->device_class_name = "gpu";
  request.exactly->selectors = {"device.attributes[\"gpu.example.com\"].productName == \"H100\""};
  request.exactly->count = 1 + number % 3;
  return claim;
}

struct Times {
  std::vector<double> micros;
  void print(const char* what) {
    std::sort(micros.begin(), micros.end());
    double sum = 0;
    for (const double one : micros) sum += one;
    std::printf("%-10s %8.1f us on average, %8.1f median, %8.1f p99, %8.1f most\n", what,
                sum / static_cast<double>(micros.size()), micros[micros.size() / 2], micros[micros.size() * 99 / 100],
                micros.back());
  }
  double total() const {
    double sum = 0;
    for (const double one : micros) sum += one;
    return sum;
  }
};

// In microseconds: other load on the machine does not count.
double processor_time() {
  return std::chrono::duration<double, std::micro>(thread_processor_time()).count();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Verdicts beside decisions.");
  int nodes = 5000, devices = 8, pods = 3000;
  app.add_option("--nodes", nodes)->capture_default_str();
  app.add_option("--devices", devices, "a node")->capture_default_str();
  app.add_option("--pods", pods, "that are refused")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Fleet fleet;
  api::DeviceClass gpu;
  gpu.metadata.name = "gpu";
  gpu.selectors = {"device.driver == \"gpu.example.com\""};
  fleet.inventory.apply_class(gpu);
  for (int n = 0; n < nodes; ++n) fleet.add_node(n, devices);
  for (int n = 0; n < nodes; ++n)
    for (int d = 0; d < devices; ++d) fleet.hold(n, d);
  Times decisions, verdicts;
  size_t bytes = 0;
  std::string said;
  for (int p = 0; p < pods; ++p) {
    fleet.hold(p % nodes, p % devices);  // some claim changed meanwhile
    api::Pod pod;
    pod.metadata.name = pod.metadata.uid = "p" + std::to_string(p);
    pod.metadata.ns = "ns" + std::to_string(p % 20);
    pod.containers.emplace_back().requests["cpu"] = "4";
    verdict::Question question;
    question.pod = &pod;
    question.claims = {make_claim(p)};
    const double begin = processor_time();
    const Result<placement::PodNeeds> needs = placement::PodNeeds::of(pod);
    const placement::Decision decision = placement::decide(fleet.cluster, *needs);
    std::vector<inventory::NodeId> order;
    order.reserve(decision.nodes.size());
    fleet.numbers.follow(fleet.cluster);
    for (const placement::RankedNode& node : decision.nodes) order.push_back(fleet.numbers.of(node.node));
    const allocator::FoundNodes found = fleet.allocator.find_nodes({question.claims, true}, order, 1);
    decisions.micros.push_back(processor_time() - begin);
    if (found.outcome != allocator::Outcome::kInfeasible) return 1;
    const double refused = processor_time();
    const verdict::NodeFindings findings = verdict::findings_of(fleet.cluster, *needs, decision);
    const verdict::NameOfHolder nobody;
    const verdict::Verdict verdict =
        verdict::explain({fleet.inventory, fleet.allocator, nobody}, question, findings, order, &found);
    said = verdict::sentence(verdict);
    bytes += said.size() + verdict::kind(verdict).size();
    verdicts.micros.push_back(processor_time() - refused);
  }
  std::printf("%d nodes, %d devices, %d refused pods, %zu bytes said\n  %s\n", nodes, nodes * devices, pods, bytes,
              said.c_str());
  std::printf("first:     decision %.1f us, verdict %.1f us\n", decisions.micros.front(), verdicts.micros.front());
  const double share = verdicts.total() / (verdicts.total() + decisions.total());
  decisions.print("decision");
  verdicts.print("verdict");
  std::printf("verdicts take %.1f %% of both\n", 100 * share);
  return 0;
}
