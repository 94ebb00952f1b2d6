#include "test/allocharness/mig.h"

namespace dra::allocharness {

namespace {

// An A100 of 80 GB as its driver publishes it; memory in MiB.
struct Profile {
  const char* name;
  int size;  // in memory slices
  std::vector<int> starts;
  std::array<int, kMigCounters> uses;
};
const std::array<Profile, kMigProfiles> kAll = {{
    {"1g.10gb", 1, {0, 1, 2, 3, 4, 5, 6}, {9728, 14, 1, 0, 0, 0, 0}},
    {"2g.20gb", 2, {0, 2, 4}, {19968, 28, 2, 1, 0, 0, 0}},
    {"3g.40gb", 4, {0, 4}, {40448, 42, 3, 2, 0, 0, 0}},
    {"4g.40gb", 4, {0}, {40448, 56, 4, 2, 0, 0, 0}},
    {"7g.80gb", 8, {0}, {81152, 98, 7, 5, 0, 1, 1}},
}};
constexpr std::array<int, kMigCounters> kWhole = {81920, 98, 7, 5, 0, 1, 1};
constexpr std::array<const char*, kMigCounters> kCounterNames = {
    "memory", "multiprocessors", "copy-engines", "decoders", "encoders", "jpeg-engines", "ofa-engines"};

// In the order of the slices below.
std::vector<MigPartition> all_partitions() {
  std::vector<MigPartition> out;
  for (int gpu = 0; gpu < kMigGpus; ++gpu) {
    out.push_back({gpu, kMigProfiles, 0});
    for (size_t p = 0; p < kMigProfiles; ++p)
      for (int start : kAll[p].starts) out.push_back({gpu, p, start});
  }
  return out;
}

unsigned mask(size_t profile, int start) {
  return ((1u << kAll[profile].size) - 1) << start;
}

api::Device device_of(const MigPartition& one) {
  api::Device device;
  device.name = one.name();
  const bool whole = one.profile == kMigProfiles;
  device.attributes["type"] = std::string(whole ? "gpu" : "mig");
  device.attributes["parentUUID"] = "GPU-" + std::to_string(one.gpu);
  if (!whole) device.attributes["profile"] = std::string(kAll[one.profile].name);
  api::DeviceCounterConsumption& uses = device.consumes_counters.emplace_back();
  uses.counter_set = "gpu-" + std::to_string(one.gpu) + "-counter-set";
  for (int c = 0; c < kMigCounters; ++c)
    uses.counters[kCounterNames[c]] =
        std::to_string(whole ? kWhole[c] : kAll[one.profile].uses[c]) + (c == 0 ? "Mi" : "");
  const int size = whole ? 8 : kAll[one.profile].size;
  for (int slice = one.start; slice < one.start + size; ++slice)
    uses.counters["memory-slice-" + std::to_string(slice)] = "1";
  return device;
}

}  // namespace

std::string MigPartition::name() const {
  std::string text = "gpu-" + std::to_string(gpu);
  if (profile < kMigProfiles) text += "-mig-" + std::to_string(profile) + "-" + std::to_string(start);
  return text;
}

MigGpu::MigGpu() : left(kWhole) {}

bool MigGpu::fits(size_t profile, int start) const {
  if ((slices & mask(profile, start)) != mask(profile, start)) return false;
  for (int c = 0; c < kMigCounters; ++c)
    if (left[c] < kAll[profile].uses[c]) return false;
  return true;
}

void MigGpu::take(size_t profile, int start) {
  slices &= ~mask(profile, start);
  for (int c = 0; c < kMigCounters; ++c) left[c] -= kAll[profile].uses[c];
}

MigCounts MigMix::counts(size_t first_request) const {
  MigCounts counts{};
  for (size_t r = first_request; r < requests.size(); ++r) counts[requests[r].first] += requests[r].second;
  return counts;
}

bool MigFeasibility::operator()(const MigNode& node, const MigCounts& wanted) {
  wanted_ = wanted;
  std::vector<char> reached(number_of({}, true), 0);
  reached[number_of(wanted)] = 1;
  for (const MigGpu& gpu : node) {
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

size_t MigFeasibility::number_of(const MigCounts& counts, bool size) const {
  size_t number = 0;
  size_t radix = 1;
  for (size_t p = 0; p < kMigProfiles; ++p) {
    number += static_cast<size_t>(counts[p]) * radix;
    radix *= static_cast<size_t>(wanted_[p]) + 1;
  }
  return size ? radix : number;
}

MigCounts MigFeasibility::counts_of(size_t number) const {
  MigCounts counts{};
  for (size_t p = 0; p < kMigProfiles; ++p) {
    counts[p] = static_cast<int>(number % (static_cast<size_t>(wanted_[p]) + 1));
    number /= static_cast<size_t>(wanted_[p]) + 1;
  }
  return counts;
}

void MigFeasibility::use(const MigGpu& gpu, MigCounts used, size_t profile, size_t place) {
  if (profile == kMigProfiles) {
    ways_[number_of(used)] = 1;
    return;
  }
  if (place == kAll[profile].starts.size()) return use(gpu, used, profile + 1, 0);
  use(gpu, used, profile, place + 1);
  if (used[profile] == wanted_[profile] || !gpu.fits(profile, kAll[profile].starts[place])) return;
  MigGpu rest = gpu;
  rest.take(profile, kAll[profile].starts[place]);
  ++used[profile];
  use(rest, used, profile, place + 1);
}

void MigFeasibility::note_rest(size_t number, size_t way, std::vector<char>& next) const {
  MigCounts rest = counts_of(number);
  const MigCounts used = counts_of(way);
  for (size_t p = 0; p < kMigProfiles; ++p) {
    rest[p] -= used[p];
    if (rest[p] < 0) return;
  }
  next[number_of(rest)] = 1;
}

MigMix random_mig_mix(Random& random) {
  MigMix mix;
  const uint64_t fill = random.below(30);
  for (uint64_t i = 0; i < fill; ++i) {
    const size_t profile = random.below(3);
    const int gpu = static_cast<int>(random.below(kMigGpus));
    const std::vector<int>& starts = kAll[profile].starts;
    const int start = starts[random.below(starts.size())];
    if (!mix.node[gpu].fits(profile, start)) continue;
    mix.node[gpu].take(profile, start);
    mix.held.push_back({gpu, profile, start});
  }
  const uint64_t requests = 3 + random.below(10);
  const bool several = random.below(4) == 0;
  for (uint64_t i = 0; i < requests; ++i)
    mix.requests.emplace_back(random.below(kMigProfiles), several ? 1 + static_cast<int>(random.below(3)) : 1);
  return mix;
}

std::vector<std::string> first_fit(const MigMix& mix, MigFeasibility& feasible) {
  static const std::vector<MigPartition> partitions = all_partitions();
  MigNode node = mix.node;
  std::vector<std::string> out;
  for (size_t r = 0; r < mix.requests.size(); ++r) {
    size_t from = 0;
    for (int left = mix.requests[r].second; left > 0; --left) {
      for (;; ++from) {
        if (from == partitions.size()) return {};
        const MigPartition& one = partitions[from];
        if (one.profile != mix.requests[r].first || !node[one.gpu].fits(one.profile, one.start)) continue;
        MigNode rest = node;
        rest[one.gpu].take(one.profile, one.start);
        MigCounts wanted = mix.counts(r + 1);
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

oracle::World world_of(const MigMix& mix) {
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
  for (const MigPartition& one : all_partitions()) world.slices[filled++ / 40].devices.push_back(device_of(one));
  for (int gpu = 0; gpu < kMigGpus; ++gpu) {
    api::CounterSet& set = world.slices[3].shared_counters.emplace_back();
    set.name = "gpu-" + std::to_string(gpu) + "-counter-set";
    for (int c = 0; c < kMigCounters; ++c)
      set.counters[kCounterNames[c]] = std::to_string(kWhole[c]) + (c == 0 ? "Mi" : "");
    for (int slice = 0; slice < 8; ++slice) set.counters["memory-slice-" + std::to_string(slice)] = "1";
  }
  for (size_t s = 0; s < world.slices.size(); ++s) world.slices[s].metadata.name = "n0-" + std::to_string(s);
  for (const MigPartition& one : mix.held) world.allocated.insert({"gpu.example.com", "n0", one.name()});
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

}  // namespace dra::allocharness
