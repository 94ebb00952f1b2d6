// memory_bench: the memory cost of a stored pod, claim and slice, and whether stores, inventory and allocator keep
// their size while pods come and go.
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "client/informer/entry.h"
#include "client/informer/store.h"
#include "pkg/allocator/allocator.h"
#include "pkg/base/random.h"
#include "pkg/inventory/device_index.h"

namespace {

using namespace dra;
using nlohmann::json;

size_t allocated() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

double resident_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  return 0;
}

json metadata(const std::string& name, const std::string& ns, uint64_t revision) {
  json out = {{"name", name},
              {"uid", "0b8c2a4e-6d5f-4a3b-9c1d-" + std::to_string(100'000'000'000 + revision)},
              {"resourceVersion", std::to_string(revision)},
              {"creationTimestamp", "2026-01-01T00:00:00Z"},
              {"managedFields", json::array({{{"manager", "kubectl-create"}, {"operation", "Update"}},
                                             {{"manager", "kubelet"}, {"operation", "Update"}}})}};
  if (!ns.empty()) out["namespace"] = ns;
  return out;
}

json pod_object(int number, uint64_t revision, size_t annotation) {
  const std::string name = "train-" + std::to_string(number);
  json pod = {{"metadata", metadata(name, "team", revision)},
              {"spec",
               {{"schedulerName", "default-scheduler"},
                {"resourceClaims", json::array({{{"name", "gpu"}, {"resourceClaimTemplateName", "gpu"}}})},
                {"tolerations", json::array({{{"key", "node.kubernetes.io/not-ready"},
                                              {"operator", "Exists"},
                                              {"effect", "NoExecute"},
                                              {"tolerationSeconds", 300}}})},
                {"containers", json::array({{{"name", "main"},
                                             {"resources",
                                              {{"requests", {{"cpu", "1"}, {"memory", "1Gi"}}},
                                               {"claims", json::array({{{"name", "gpu"}}})}}}}})}}},
              {"status",
               {{"phase", "Pending"},
                {"resourceClaimStatuses", json::array({{{"name", "gpu"}, {"resourceClaimName", name + "-gpu"}}})}}}};
  pod["metadata"]["annotations"] = {{"example.com/notes", std::string(annotation, 'x')}};
  return pod;
}

json claim_object(int number, uint64_t revision) {
  const std::string pod = "train-" + std::to_string(number);
  json claim = {
      {"metadata", metadata(pod + "-gpu", "team", revision)},
      {"spec",
       {{"devices",
         {{"requests",
           json::array(
               {{{"name", "gpu"},
                 {"exactly", {{"deviceClassName", "gpu"}, {"allocationMode", "ExactCount"}, {"count", 1}}}}})}}}}}};
  claim["metadata"]["ownerReferences"] =
      json::array({{{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod}, {"uid", "u" + pod}, {"controller", true}}});
  claim["metadata"]["annotations"] = {{"resource.kubernetes.io/pod-claim-name", "gpu"}};
  return claim;
}

void allocate(json& claim, const api::AllocationResult& result) {
  json results = json::array();
  for (const auto& entry : result.results)
    results.push_back(
        {{"request", entry.request}, {"driver", entry.driver}, {"pool", entry.pool}, {"device", entry.device}});
  claim["status"] = {{"allocation", {{"devices", {{"results", results}}}}},
                     {"reservedFor", json::array({{{"resource", "pods"}, {"name", "p"}, {"uid", "u"}}})}};
}

json slice_object(int node, uint64_t revision, int devices) {
  const std::string name = "node-" + std::to_string(node);
  json slice = {{"metadata", metadata(name + "-gpu.example.com", "", revision)},
                {"spec",
                 {{"driver", "gpu.example.com"},
                  {"nodeName", name},
                  {"pool", {{"name", name}, {"generation", 1}, {"resourceSliceCount", 1}}},
                  {"devices", json::array()}}}};
  for (int d = 0; d < devices; ++d) {
    const std::string uuid = "GPU-" + std::to_string(node) + "-" + std::to_string(d);
    slice["spec"]["devices"].push_back({{"name", "gpu-" + std::to_string(d)},
                                        {"attributes",
                                         {{"type", {{"string", "gpu"}}},
                                          {"uuid", {{"string", uuid}}},
                                          {"productName", {{"string", "NVIDIA A100-SXM4-80GB"}}},
                                          {"driverVersion", {{"version", "570.86.15"}}},
                                          {"index", {{"int", d}}}}},
                                        {"capacity", {{"memory", {{"value", "80Gi"}}}}}});
  }
  return slice;
}

// The stores of a manager, the inventory behind them, and an allocator.
class World {
 public:
  World() : pods(pods_core), claims(claims_core), slices(slices_core), random_(1), allocator(inventory, {}, random_) {
    for (client::ObjectStore* core : {&pods_core, &claims_core, &slices_core}) core->replace({}, 1);
    claims.on_stream_change([this](const client::Change<api::ResourceClaim>& c) {
      c.after ? inventory.apply_claim(*c.after) : inventory.remove_claim(c.before->metadata.uid);
    });
    slices.on_change([this](const client::Change<api::ResourceSlice>& c) {
      c.after ? inventory.apply_slice(*c.after) : inventory.remove_slice(c.before->metadata.name);
    });
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    gpu.selectors = {"device.driver == \"gpu.example.com\""};
    inventory.apply_class(gpu);
  }
  template <class T>
  static client::Entry entry(const json& object) {
    auto read = client::object_type<T>().decode(object.dump());
    if (!read) std::fprintf(stderr, "%s\n", to_string(read.error()).c_str());
    return std::move(*read);
  }

  client::ObjectStore pods_core, claims_core, slices_core;
  client::Store<api::Pod> pods;
  client::Store<api::ResourceClaim> claims;
  client::Store<api::ResourceSlice> slices;
  inventory::Inventory inventory;
  SeededRandom random_;
  allocator::Allocator allocator;
  uint64_t revision = 1;
};

template <class F>
double bytes_of(int count, F&& make) {
  const size_t before = allocated();
  for (int i = 0; i < count; ++i) make(i);
  return static_cast<double>(allocated() - before) / count;
}

void print_sizes() {
  World world;
  const double pod =
      bytes_of(2000, [&](int i) { world.pods_core.apply(World::entry<api::Pod>(pod_object(i, ++world.revision, 0))); });
  const double large = bytes_of(400, [&](int i) {
    world.pods_core.apply(World::entry<api::Pod>(pod_object(10'000 + i, ++world.revision, 250'000)));
  });
  const double slice8 = bytes_of(1000, [&](int i) {
    world.slices_core.apply(World::entry<api::ResourceSlice>(slice_object(i, ++world.revision, 8)));
  });
  const double slice128 = bytes_of(200, [&](int i) {
    world.slices_core.apply(World::entry<api::ResourceSlice>(slice_object(5000 + i, ++world.revision, 128)));
  });
  const double claim = bytes_of(2000, [&](int i) {
    json object = claim_object(i, ++world.revision);
    api::AllocationResult result;
    result.results.push_back(
        {"gpu", "gpu.example.com", "node-" + std::to_string(i / 8), "gpu-" + std::to_string(i % 8)});
    allocate(object, result);
    world.claims_core.apply(World::entry<api::ResourceClaim>(object));
  });
  std::printf("pod %.0f bytes, pod with 250 KB of annotations %.0f, allocated claim %.0f\n", pod, large, claim);
  std::printf("slice of 8 devices %.0f bytes (%.0f a device), of 128 %.0f (%.0f a device)\n", slice8, slice8 / 8,
              slice128, slice128 / 128);
}

// Creates pods with a claim each, gives each a device and deletes it, `alive` at a time; true if allocated and resident
// memory stay within a tenth of their values after the first third.
bool churn(int pods, int nodes, int alive) {
  World world;
  std::vector<inventory::NodeId> ids;
  for (int node = 0; node < nodes; ++node) {
    ids.push_back(world.inventory.apply_node("node-" + std::to_string(node), {}));
    world.slices_core.apply(World::entry<api::ResourceSlice>(slice_object(node, ++world.revision, 8)));
  }
  struct Running {
    json pod, claim;
  };
  std::deque<Running> running;
  double resident_then = 0;
  size_t allocated_then = 0;
  for (int i = 0; i < pods; ++i) {
    Running made{pod_object(i, ++world.revision, 1000), claim_object(i, ++world.revision)};
    world.pods_core.apply(World::entry<api::Pod>(made.pod));
    world.claims_core.apply(World::entry<api::ResourceClaim>(made.claim));
    allocator::Request request;
    request.claims = {world.claims.get(made.claim["metadata"]["namespace"].get<std::string>() + "/" +
                                       made.claim["metadata"]["name"].get<std::string>())};
    const allocator::FoundNodes found = world.allocator.find_nodes(request, ids, 1);
    if (found.decisions.empty()) return std::fprintf(stderr, "pod %d: no device\n", i), false;
    const std::string uid = made.claim["metadata"]["uid"];
    world.inventory.assume(uid, found.decisions[0].results[0]);
    allocate(made.claim, found.decisions[0].results[0]);
    made.claim["metadata"]["resourceVersion"] = std::to_string(++world.revision);
    world.claims_core.answer(World::entry<api::ResourceClaim>(made.claim));
    world.claims_core.apply(World::entry<api::ResourceClaim>(made.claim));
    world.inventory.forget(uid);
    running.push_back(std::move(made));
    if (running.size() > static_cast<size_t>(alive)) {
      for (json* object : {&running.front().pod, &running.front().claim})
        (*object)["metadata"]["resourceVersion"] = std::to_string(++world.revision);
      world.pods_core.remove(World::entry<api::Pod>(running.front().pod));
      running.front().claim["metadata"]["resourceVersion"] = std::to_string(++world.revision);
      world.claims_core.remove(World::entry<api::ResourceClaim>(running.front().claim));
      running.pop_front();
    }
    if (i + 1 != pods / 3 && i + 1 != pods * 2 / 3 && i + 1 != pods) continue;
    std::printf("after %d pods: %.1f MiB resident, %.1f MiB allocated, %zu claims, %zu texts\n", i + 1, resident_mib(),
                static_cast<double>(allocated()) / 1048576, world.inventory.claim_count(),
                world.inventory.device_index().strings().size());
    if (i + 1 == pods / 3) resident_then = resident_mib(), allocated_then = allocated();
  }
  return resident_mib() <= resident_then * 1.1 &&
         static_cast<double>(allocated()) <= 1.1 * static_cast<double>(allocated_then);
}

// Nodes with a pool of eight devices come and go, `alive` at a time, each under a name of its own, as an autoscaler
// makes them; a claim is decided on those that are there. True if a name that is gone leaves at most `most_bytes`.
bool node_names(int names, const char* shown, allocator::Strategy strategy, double most_bytes) {
  constexpr int alive = 100;
  World world;
  world.claims_core.apply(World::entry<api::ResourceClaim>(claim_object(0, ++world.revision)));
  allocator::Request request;
  request.strategy = strategy;
  request.claims = {world.claims.get("team/train-0-gpu")};
  size_t before = 0;
  for (int i = 0; i < names; ++i) {
    world.inventory.apply_node("node-" + std::to_string(i), {});
    world.slices_core.apply(World::entry<api::ResourceSlice>(slice_object(i, ++world.revision, 8)));
    if (i >= alive) {
      world.slices_core.remove(World::entry<api::ResourceSlice>(slice_object(i - alive, ++world.revision, 8)));
      world.inventory.remove_node("node-" + std::to_string(i - alive));
    }
    if (i % alive == 0 && world.allocator.find_nodes(request, world.inventory.nodes(), 1).decisions.empty())
      return std::fprintf(stderr, "node %d: no device\n", i), false;
    if (i == 2 * alive) before = allocated();
  }
  const double each = (static_cast<double>(allocated()) - static_cast<double>(before)) / (names - 2 * alive);
  std::printf("%d names of nodes came and went, %s: %.0f bytes left by each, %zu known\n", names, shown, each,
              world.inventory.device_index().known_nodes());
  return each <= most_bytes;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Bytes of stored objects, and memory while pods come and go.", "memory_bench");
  int pods = 30'000, nodes = 1250, alive = 2000;
  app.add_option("--pods", pods, "pods that come and go")->check(CLI::Range(3, 10'000'000));
  app.add_option("--nodes", nodes, "nodes of eight devices")->check(CLI::Range(1, 100'000));
  app.add_option("--alive", alive, "pods at a time")->check(CLI::Range(1, 1'000'000));
  CLI11_PARSE(app, argc, argv);
  print_sizes();
  bool ok = true;
  const auto check = [&ok](bool met, const char* what) {
    if (!met) std::fprintf(stderr, "missed: %s\n", what);
    ok = ok && met;
  };
  check(node_names(100'000, "first-fit", allocator::Strategy::kFirstFit, 32), "32 bytes for each name that is gone");
  check(node_names(100'000, "best-fit", allocator::Strategy::kBestFit, 320), "320 bytes for each name that is gone");
  check(churn(pods, nodes, alive), "memory within a tenth of what it was after the first third");
  return ok ? 0 : 1;
}
