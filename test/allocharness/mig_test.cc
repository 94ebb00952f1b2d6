// Mixes of MIG partitions on one node of eight GPUs: the counters of real drivers, where first-fit runs into dead ends.
// Every mix is decided in bounded time, and the decision is the first in upstream's order.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <iostream>

#include "pkg/base/random.h"
#include "test/allocharness/contest.h"

namespace dra::allocharness::mig_test {
namespace {

constexpr int kGpus = 8;
constexpr size_t kProfiles = 5;
constexpr int kCounters = 7;  // memory, multiprocessors, copy engines, decoders, encoders, jpeg engines, ofa engines

// An A100 of 80 GB as its driver publishes it; memory in MiB.
struct Profile {
  const char* name;
  int size;  // in memory slices
  std::vector<int> starts;
  std::array<int, kCounters> uses;
};
const std::array<Profile, kProfiles> kAll = {{
    {"1g.10gb", 1, {0, 1, 2, 3, 4, 5, 6}, {9728, 14, 1, 0, 0, 0, 0}},
    {"2g.20gb", 2, {0, 2, 4}, {19968, 28, 2, 1, 0, 0, 0}},
    {"3g.40gb", 4, {0, 4}, {40448, 42, 3, 2, 0, 0, 0}},
    {"4g.40gb", 4, {0}, {40448, 56, 4, 2, 0, 0, 0}},
    {"7g.80gb", 8, {0}, {81152, 98, 7, 5, 0, 1, 1}},
}};
constexpr std::array<int, kCounters> kWhole = {81920, 98, 7, 5, 0, 1, 1};
constexpr std::array<const char*, kCounters> kCounterNames = {"memory",   "multiprocessors", "copy-engines", "decoders",
                                                              "encoders", "jpeg-engines",    "ofa-engines"};

struct Partition {
  int gpu = 0;
  size_t profile = 0;  // kProfiles: the whole GPU
  int start = 0;
  std::string name() const {
    std::string text = "gpu-" + std::to_string(gpu);
    if (profile < kProfiles) text += "-mig-" + std::to_string(profile) + "-" + std::to_string(start);
    return text;
  }
};

// In the order of the slices below.
std::vector<Partition> all_partitions() {
  std::vector<Partition> out;
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    out.push_back({gpu, kProfiles, 0});
    for (size_t p = 0; p < kProfiles; ++p)
      for (int start : kAll[p].starts) out.push_back({gpu, p, start});
  }
  return out;
}

// What is left of one GPU. The model is deliberately simple: the allocator is compared with it.
struct Gpu {
  std::array<int, kCounters> left = kWhole;
  unsigned slices = 0xff;  // free memory slices

  static unsigned mask(size_t profile, int start) { return ((1u << kAll[profile].size) - 1) << start; }
  bool fits(size_t profile, int start) const {
    if ((slices & mask(profile, start)) != mask(profile, start)) return false;
    for (int c = 0; c < kCounters; ++c)
      if (left[c] < kAll[profile].uses[c]) return false;
    return true;
  }
  void take(size_t profile, int start) {
    slices &= ~mask(profile, start);
    for (int c = 0; c < kCounters; ++c) left[c] -= kAll[profile].uses[c];
  }
};
using Node = std::array<Gpu, kGpus>;
using Counts = std::array<int, kProfiles>;

// Whether the counts fit on the node: the counts still wanted after each GPU, for every way to use it.
class Feasibility {
 public:
  bool operator()(const Node& node, const Counts& wanted) {
    wanted_ = wanted;
    std::vector<char> reached(number_of({}, true), 0);
    reached[number_of(wanted)] = 1;
    for (const Gpu& gpu : node) {
      std::vector<char> next(reached.size(), 0);
      ways_.assign(reached.size(), 0);
      use(gpu, {}, 0, 0);
      for (size_t n = 0; n < reached.size(); ++n) {
        if (!reached[n]) continue;
        for (size_t way = 0; way < ways_.size(); ++way)
          if (ways_[way]) note_rest(n, way, next);
      }
      reached = std::move(next);
    }
    return reached[number_of({})] != 0;
  }

 private:
  size_t number_of(const Counts& counts, bool size = false) const {
    size_t number = 0;
    size_t radix = 1;
    for (size_t p = 0; p < kProfiles; ++p) {
      number += static_cast<size_t>(counts[p]) * radix;
      radix *= static_cast<size_t>(wanted_[p]) + 1;
    }
    return size ? radix : number;
  }
  Counts counts_of(size_t number) const {
    Counts counts{};
    for (size_t p = 0; p < kProfiles; ++p) {
      counts[p] = static_cast<int>(number % (static_cast<size_t>(wanted_[p]) + 1));
      number /= static_cast<size_t>(wanted_[p]) + 1;
    }
    return counts;
  }
  void use(const Gpu& gpu, Counts used, size_t profile, size_t place) {
    if (profile == kProfiles) {
      ways_[number_of(used)] = 1;
      return;
    }
    if (place == kAll[profile].starts.size()) return use(gpu, used, profile + 1, 0);
    use(gpu, used, profile, place + 1);
    if (used[profile] == wanted_[profile] || !gpu.fits(profile, kAll[profile].starts[place])) return;
    Gpu rest = gpu;
    rest.take(profile, kAll[profile].starts[place]);
    ++used[profile];
    use(rest, used, profile, place + 1);
  }
  void note_rest(size_t number, size_t way, std::vector<char>& next) const {
    Counts rest = counts_of(number);
    const Counts used = counts_of(way);
    for (size_t p = 0; p < kProfiles; ++p) {
      rest[p] -= used[p];
      if (rest[p] < 0) return;
    }
    next[number_of(rest)] = 1;
  }

  Counts wanted_{};
  std::vector<char> ways_;
};

struct Mix {
  std::vector<std::pair<size_t, int>> requests;  // profile, count
  std::vector<Partition> held;
  Node node;
};

// Three to twelve requests on a node that is between empty and two thirds full.
Mix random_mix(Random& random) {
  Mix mix;
  const uint64_t fill = random.below(30);
  for (uint64_t i = 0; i < fill; ++i) {
    const size_t profile = random.below(3);
    const int gpu = static_cast<int>(random.below(kGpus));
    const std::vector<int>& starts = kAll[profile].starts;
    const int start = starts[random.below(starts.size())];
    if (!mix.node[gpu].fits(profile, start)) continue;
    mix.node[gpu].take(profile, start);
    mix.held.push_back({gpu, profile, start});
  }
  const uint64_t requests = 3 + random.below(10);
  const bool several = random.below(4) == 0;
  for (uint64_t i = 0; i < requests; ++i)
    mix.requests.emplace_back(random.below(kProfiles), several ? 1 + static_cast<int>(random.below(3)) : 1);
  return mix;
}

Counts counts_from(const Mix& mix, size_t first) {
  Counts counts{};
  for (size_t r = first; r < mix.requests.size(); ++r) counts[mix.requests[r].first] += mix.requests[r].second;
  return counts;
}

// The first solution in upstream's order: for each request the first device after the previous one with which the rest
// still fits.
std::vector<std::string> first_fit(const Mix& mix, Feasibility& feasible) {
  static const std::vector<Partition> partitions = all_partitions();
  Node node = mix.node;
  std::vector<std::string> out;
  for (size_t r = 0; r < mix.requests.size(); ++r) {
    size_t from = 0;
    for (int left = mix.requests[r].second; left > 0; --left) {
      for (;; ++from) {
        if (from == partitions.size()) return {};
        const Partition& one = partitions[from];
        if (one.profile != mix.requests[r].first || !node[one.gpu].fits(one.profile, one.start)) continue;
        Node rest = node;
        rest[one.gpu].take(one.profile, one.start);
        Counts wanted = counts_from(mix, r + 1);
        wanted[one.profile] += left - 1;
        if (!feasible(rest, wanted)) continue;
        node = rest;
        out.push_back(one.name());
        break;
      }
    }
  }
  return out;
}

api::Device device_of(const Partition& one) {
  api::Device device;
  device.name = one.name();
  const bool whole = one.profile == kProfiles;
  device.attributes["type"] = std::string(whole ? "gpu" : "mig");
  device.attributes["parentUUID"] = "GPU-" + std::to_string(one.gpu);
  if (!whole) device.attributes["profile"] = std::string(kAll[one.profile].name);
  api::DeviceCounterConsumption& uses = device.consumes_counters.emplace_back();
  uses.counter_set = "gpu-" + std::to_string(one.gpu) + "-counter-set";
  for (int c = 0; c < kCounters; ++c)
    uses.counters[kCounterNames[c]] =
        std::to_string(whole ? kWhole[c] : kAll[one.profile].uses[c]) + (c == 0 ? "Mi" : "");
  const int size = whole ? 8 : kAll[one.profile].size;
  for (int slice = one.start; slice < one.start + size; ++slice)
    uses.counters["memory-slice-" + std::to_string(slice)] = "1";
  return device;
}

oracle::World world_of(const Mix& mix) {
  oracle::World world;
  world.gates = {"DRAPartitionableDevices"};
  world.nodes.emplace_back().metadata.name = "n0";
  api::DeviceClass& mig = world.classes.emplace_back();
  mig.metadata.name = "mig";
  mig.selectors = {"device.attributes[\"gpu.example.com\"].type == \"mig\""};
  api::ResourceSlice base;
  base.driver = "gpu.example.com";
  base.pool = {"n0", 1, 4};
  base.node_name = "n0";
  world.slices.assign(4, base);
  size_t filled = 0;
  for (const Partition& one : all_partitions()) world.slices[filled++ / 40].devices.push_back(device_of(one));
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    api::CounterSet& set = world.slices[3].shared_counters.emplace_back();
    set.name = "gpu-" + std::to_string(gpu) + "-counter-set";
    for (int c = 0; c < kCounters; ++c)
      set.counters[kCounterNames[c]] = std::to_string(kWhole[c]) + (c == 0 ? "Mi" : "");
    for (int slice = 0; slice < 8; ++slice) set.counters["memory-slice-" + std::to_string(slice)] = "1";
  }
  for (size_t s = 0; s < world.slices.size(); ++s) world.slices[s].metadata.name = "n0-" + std::to_string(s);
  for (const Partition& one : mix.held) world.allocated.insert({"gpu.example.com", "n0", one.name()});
  api::ResourceClaim& claim = world.claims.emplace_back();
  claim.metadata.name = claim.metadata.uid = "mix";
  claim.metadata.ns = "default";
  for (const auto& [profile, count] : mix.requests) {
    api::DeviceRequest& request = claim.spec.requests.emplace_back();
    request.name = "r" + std::to_string(claim.spec.requests.size());
    request.exactly.emplace();
    request.exactly->device_class_name = "mig";
    request.exactly->allocation_mode = "ExactCount";
    request.exactly->count = count;
    request.exactly->selectors = {"device.attributes[\"gpu.example.com\"].profile == \"" +
                                  std::string(kAll[profile].name) + "\""};
  }
  return world;
}

double cpu_millis() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

TEST(MigMixes, AreAllDecidedWithinTheirTimeAsUpstreamWould) {
  const char* given = std::getenv("DRA_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : 1;
  constexpr int kMixes = 1500;
  constexpr int kInFull = 25;  // every this many-th mix is compared device by device
  SeededRandom random(seed);
  Feasibility feasible;
  std::vector<double> millis;
  uint64_t most_steps = 0;
  int fitting = 0;
  for (int i = 0; i < kMixes; ++i) {
    const Mix mix = random_mix(random);
    auto contest = Contest::make(world_of(mix));
    ASSERT_TRUE(contest) << contest.error().message();
    const double start = cpu_millis();
    const allocator::FoundNodes found = (*contest)->allocator().find_nodes((*contest)->request(), (*contest)->nodes());
    millis.push_back(cpu_millis() - start);
    most_steps = std::max(most_steps, found.steps);
    const bool fits = feasible(mix.node, counts_from(mix, 0));
    fitting += fits;
    ASSERT_EQ(found.outcome, fits ? allocator::Outcome::kFeasible : allocator::Outcome::kInfeasible)
        << "seed " << seed << ", mix " << i << ", steps " << found.steps;
    if (!fits || i % kInFull != 0) continue;
    std::vector<std::string> devices;
    for (const auto& result : found.decisions.at(0).results.at(0).results) devices.push_back(result.device);
    EXPECT_EQ(devices, first_fit(mix, feasible)) << "seed " << seed << ", mix " << i;
  }
  std::sort(millis.begin(), millis.end());
  const double p99 = millis[kMixes * 99 / 100];
  std::cout << kMixes << " mixes from seed " << seed << ", " << fitting << " fit; median " << millis[kMixes / 2]
            << " ms, p99 " << p99 << " ms, longest " << millis.back() << " ms, most steps " << most_steps << "\n";
  EXPECT_GT(fitting, kMixes / 5);
  EXPECT_LT(fitting, kMixes * 4 / 5);
  // A step takes at most half a microsecond; time itself depends on the machine and on sanitizers.
  EXPECT_LT(most_steps, 200'000u);
}

}  // namespace
}  // namespace dra::allocharness::mig_test
