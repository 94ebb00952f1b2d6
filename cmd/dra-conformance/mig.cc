// dra-conformance mig: partitions of GPUs that come and go.
//
// A GPU is a counter set of memory slices (one counter each) and compute slices, with one device for each profile and
// start ("gpu-3-3g.40gb-4"). Line 1 of the list gives the numbers of nodes and GPUs, each further line is an add or a
// remove. An add requests `count` partitions of one profile on one node; a refused add is not retried.
//
// --moves: running asks may go elsewhere, within the limits of MoveBudget. Then the policy of mig_cards.h decides, not
// the allocator; every decision is assumed in the inventory, whose audit must find nothing at the end.
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cmd/command.h"
#include "cmd/dra-conformance/lines.h"
#include "cmd/dra-conformance/lists.h"
#include "cmd/dra-conformance/mig_cards.h"

namespace dra::conformance {
namespace {

using nlohmann::json;

constexpr const char* kMigDriver = "mig.example.com";
constexpr int kNodeCpuMilli = 1'000'000;

api::CounterSet counters_of(int gpu, const json& header) {
  api::CounterSet set;
  set.name = "gpu-" + std::to_string(gpu);
  for (int i = 0; i < header.at("memorySlices").get<int>(); ++i)
    set.counters["memory-slice-" + std::to_string(i)] = "1";
  set.counters["compute"] = std::to_string(header.at("computeSlices").get<int>());
  return set;
}

void add_partitions(int gpu, std::vector<api::Device>& devices) {
  const std::string set = "gpu-" + std::to_string(gpu);
  for (const MigProfile& profile : mig_profiles())
    for (const int start : profile.starts) {
      api::Device device;
      device.name = set + "-" + profile.name + "-" + std::to_string(start);
      device.attributes["profile"] = std::string(profile.name);
      device.attributes["gpu"] = int64_t{gpu};
      device.attributes["start"] = int64_t{start};
      api::DeviceCounterConsumption& use = device.consumes_counters.emplace_back();
      use.counter_set = set;
      use.counters["compute"] = std::to_string(profile.compute);
      for (int i = 0; i < profile.memory; ++i) use.counters["memory-slice-" + std::to_string(start + i)] = "1";
      devices.push_back(std::move(device));
    }
}

std::string node_name_of(int node) {
  const std::string number = std::to_string(node);
  return "node-" + std::string(4 - std::min<size_t>(number.size(), 4), '0') + number;
}

void add_mig_nodes(Fleet& fleet, const json& header) {
  for (int node = 0; node < header.at("nodes").get<int>(); ++node) {
    const std::string name = node_name_of(node);
    fleet.add_node(name, kNodeCpuMilli, kNodeCpuMilli);
    api::ResourceSlice counters, devices;
    counters.driver = devices.driver = kMigDriver;
    counters.node_name = devices.node_name = name;
    counters.pool = devices.pool = {name, 1, 2};
    counters.metadata.name = name + "-counters";
    devices.metadata.name = name + "-devices";
    for (int gpu = 0; gpu < header.at("gpusPerNode").get<int>(); ++gpu) {
      counters.shared_counters.push_back(counters_of(gpu, header));
      add_partitions(gpu, devices.devices);
    }
    fleet.devices().apply_slice(counters);
    fleet.devices().apply_slice(devices);
  }
}

struct MigTally {
  int64_t warmup = 0, adds = 0;
  int64_t requested = 0, admitted = 0;
  uint64_t refused = 0, refused_7g_3g = 0;
};

// How many partitions may move: in a batch of adds, and in all.
class MoveBudget {
 public:
  explicit MoveBudget(double total) : total_(total) {}

  void before_add(int running) {
    if (adds_++ % kBatch == 0) left_ = std::max(1, static_cast<int>(kShare * running));
  }
  void admitted(int partitions) { admitted_ += partitions; }
  // For an ask of this much compute. With a limit in all, moves that win little are left out.
  int limit(int compute) const {
    if (total_ >= 1) return left_;
    const auto in_all = static_cast<int64_t>(total_ * static_cast<double>(admitted_)) - moved_;
    return static_cast<int>(std::max<int64_t>(0, std::min<int64_t>({left_, in_all, compute / kLeastWon})));
  }
  void spend(int partitions) {
    left_ -= partitions;
    moved_ += partitions;
  }
  int64_t moved() const { return moved_; }
  int64_t all_admitted() const { return admitted_; }

 private:
  static constexpr int kBatch = 100;
  static constexpr double kShare = 0.01;
  static constexpr int kLeastWon = 3;  // compute slices for each moved partition
  const double total_;
  int64_t adds_ = 0, admitted_ = 0, moved_ = 0;
  int left_ = 0;
};

struct Moving {
  MigCards cards;
  MoveBudget budget;
};

api::Pod mig_pod(const std::string& id) {
  api::Pod pod;
  pod.metadata.name = pod.metadata.uid = id;
  pod.metadata.ns = "default";
  return pod;
}

std::shared_ptr<const api::ResourceClaim> mig_claim(const std::string& id, const std::string& profile, int count) {
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->metadata.name = claim->metadata.uid = id;
  claim->metadata.ns = "default";
  api::DeviceSubRequest exactly;
  exactly.device_class_name = profile;
  exactly.allocation_mode = "ExactCount";
  exactly.count = count;
  claim->spec.requests.push_back({"partition", exactly, {}});
  return claim;
}

// "gpu-3-3g.40gb-4" on node-0012 is slot [3, 4] of node 12.
json slot_of(const std::string& device) {
  const size_t after_gpu = device.find('-', 4);
  return {std::stoi(device.substr(4, after_gpu - 4)), std::stoi(device.substr(device.rfind('-') + 1))};
}

int node_number_of(const std::string& name) {
  return std::stoi(name.substr(5));
}

MigPlace place_of(const Fleet::Placed& placed) {
  MigPlace place{node_number_of(placed.node), {}};
  for (const api::DeviceRequestAllocationResult& device : placed.devices.results) {
    const json slot = slot_of(device.device);
    place.slots.push_back({slot[0].get<int>(), slot[1].get<int>()});
  }
  return place;
}

Fleet::Placed devices_of(const MigAsk& ask, const MigPlace& place) {
  Fleet::Placed placed;
  placed.node = node_name_of(place.node);
  for (const MigSlot& slot : place.slots) {
    api::DeviceRequestAllocationResult& device = placed.devices.results.emplace_back();
    device.request = "partition";
    device.driver = kMigDriver;
    device.pool = placed.node;
    device.device = "gpu-" + std::to_string(slot.gpu) + "-" + ask.profile->name + "-" + std::to_string(slot.start);
  }
  return placed;
}

json line_of(const std::string& id, const Fleet::Placed& placed) {
  json line = {{"id", id}, {"node", node_number_of(placed.node)}, {"slots", json::array()}};
  for (const api::DeviceRequestAllocationResult& device : placed.devices.results)
    line["slots"].push_back(slot_of(device.device));
  return line;
}

// Moves running asks and places this one, in the fleet; `moves` gets their lines.
std::optional<Fleet::Placed> place_by_moves(Fleet& fleet, Moving& moving, const std::string& id, const MigAsk& ask,
                                            json& moves) {
  const int limit = moving.budget.limit(ask.count * ask.profile->compute);
  if (limit <= 0) return std::nullopt;
  const std::optional<MigCards::Plan> plan = moving.cards.make_room(ask, limit);
  if (!plan) return std::nullopt;
  std::map<std::string, MigAsk> asks;
  for (const auto& [other, place] : plan->moved) {
    asks.emplace(other, moving.cards.ask_of(other));
    moving.cards.lift(other);
    fleet.remove(other);
  }
  for (const auto& [other, place] : plan->moved) {
    const Fleet::Placed placed = devices_of(asks.at(other), place);
    moving.cards.put(other, asks.at(other), place);
    fleet.put(mig_pod(other), placed.node, placed.devices);
    moves.push_back(line_of(other, placed));
  }
  moving.budget.spend(plan->partitions);
  const Fleet::Placed placed = devices_of(ask, plan->place);
  fleet.put(mig_pod(id), placed.node, placed.devices);
  return placed;
}

std::optional<Fleet::Placed> place_on_cards(Fleet& fleet, const Moving& moving, const std::string& id,
                                            const MigAsk& ask) {
  const std::optional<MigPlace> place = moving.cards.best_place(ask);
  if (!place) return std::nullopt;
  const Fleet::Placed placed = devices_of(ask, *place);
  fleet.put(mig_pod(id), placed.node, placed.devices);
  return placed;
}

std::optional<Fleet::Placed> decide_on_cards(Fleet& fleet, Moving& moving, const std::string& id, const MigAsk& ask,
                                             json& moves) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<Fleet::Placed> placed = place_on_cards(fleet, moving, id, ask);
  if (!placed) placed = place_by_moves(fleet, moving, id, ask, moves);
  if (placed) {
    moving.cards.put(id, ask, place_of(*placed));
    moving.budget.admitted(ask.count);
  }
  fleet.count(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  return placed;
}

// `moving`: null unless running asks may move.
void run_event(Fleet& fleet, Moving* moving, const json& event, MigTally& tally, std::ostream* out) {
  const std::string id = event.at("id").get<std::string>();
  if (event.at("op") == "remove") {
    if (moving != nullptr && moving->cards.runs(id)) moving->cards.lift(id);
    return fleet.remove(id);
  }
  const std::string profile = event.at("profile").get<std::string>();
  const MigAsk ask{&mig_profile(profile), event.at("count").get<int>()};
  if (moving != nullptr) moving->budget.before_add(moving->cards.running_partitions());
  json moves = json::array();
  const std::optional<Fleet::Placed> placed = moving != nullptr
                                                  ? decide_on_cards(fleet, *moving, id, ask, moves)
                                                  : fleet.place(mig_pod(id), mig_claim(id, profile, ask.count));
  if (++tally.adds > tally.warmup) {
    tally.requested += int64_t{ask.count} * ask.profile->compute;
    if (placed) tally.admitted += int64_t{ask.count} * ask.profile->compute;
    tally.refused += !placed;
    tally.refused_7g_3g += !placed && (profile == "7g.80gb" || profile == "3g.40gb");
  }
  if (!placed || out == nullptr) return;
  json line = line_of(id, *placed);
  if (!moves.empty()) line["moves"] = std::move(moves);
  *out << line.dump() << "\n";
}

int run_mig(const std::vector<std::string>& arguments) {
  ListFlags flags;
  if (const auto code = parse_list_flags(arguments, "dra-conformance mig", "Places partitions of GPUs", flags, true))
    return *code;
  std::ofstream out;
  if (!flags.out.empty()) out.open(flags.out);
  if (!out) return cannot_write("mig", flags.out);
  Fleet fleet(inventory::Features::all(), flags.strategy);
  for (const MigProfile& profile : mig_profiles()) {
    api::DeviceClass one;
    one.metadata.name = profile.name;
    const std::string driver(kMigDriver);
    one.selectors.push_back("device.driver == \"" + driver + "\" && device.attributes[\"" + driver +
                            "\"].profile == \"" + profile.name + "\"");
    fleet.devices().apply_class(one);
  }
  MigTally tally;
  std::unique_ptr<Moving> moving;
  const auto start = std::chrono::steady_clock::now();
  const bool read = each_line(locate(flags.in), [&](const std::string& text) {
    const json line = json::parse(text);
    if (line.contains("nodes")) {
      tally.warmup = line.at("warmupAdds").get<int64_t>();
      add_mig_nodes(fleet, line);
      const MigCards cards(line.at("nodes").get<int>(), line.at("gpusPerNode").get<int>(),
                           line.at("computeSlices").get<int>());
      if (flags.moves) moving = std::make_unique<Moving>(Moving{cards, MoveBudget(flags.total)});
    } else {
      run_event(fleet, moving.get(), line, tally, out.is_open() ? &out : nullptr);
    }
  });
  if (!read) return cannot_read("mig", flags.in);
  if (!flags.out.empty() && !out.flush()) return cannot_write("mig", flags.out);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double pct =
      tally.requested == 0 ? 0.0 : 100.0 * static_cast<double>(tally.admitted) / static_cast<double>(tally.requested);
  json summary = {{"strategy", flags.moves ? "cards" : strategy_name(flags.strategy)},
                  {"admittedComputePct", pct},
                  {"adds", tally.adds},
                  {"refused", tally.refused},
                  {"refused7gOr3g", tally.refused_7g_3g},
                  {"undecided", fleet.undecided()},
                  {"medianNanos", fleet.percentile(0.5)},
                  {"p99Nanos", fleet.percentile(0.99)},
                  {"seconds", seconds}};
  if (moving) {
    summary["auditFindings"] = fleet.devices().audit().size();
    summary["movedPartitions"] = moving->budget.moved();
    summary["movedPctOfAdmitted"] = 100.0 * static_cast<double>(moving->budget.moved()) /
                                    static_cast<double>(std::max<int64_t>(1, moving->budget.all_admitted()));
  }
  std::cout << summary.dump() << "\n";
  return 0;
}

const cmd::RegisterCommand kMig("mig", "places partitions of GPUs that come and go", &run_mig);

}  // namespace
}  // namespace dra::conformance
