// Mixes of MIG partitions on one node of eight GPUs: the counters of real drivers, where first-fit runs into dead ends.
// A simple model says whether a mix fits and which devices come first; the allocator is compared with it (mig_test.cc)
// and timed (bench/mig).
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "test/oracle/world.h"

namespace dra::allocharness {

inline constexpr int kMigGpus = 8;
inline constexpr size_t kMigProfiles = 5;
inline constexpr int kMigCounters = 7;  // memory, multiprocessors, copy, decode, encode, JPEG and optical flow engines

struct MigPartition {
  int gpu = 0;
  size_t profile = 0;  // kMigProfiles: the whole GPU
  int start = 0;
  std::string name() const;
};

// What is left of one GPU.
struct MigGpu {
  MigGpu();
  bool fits(size_t profile, int start) const;
  void take(size_t profile, int start);

  std::array<int, kMigCounters> left;
  unsigned slices = 0xff;  // free memory slices
};
using MigNode = std::array<MigGpu, kMigGpus>;
using MigCounts = std::array<int, kMigProfiles>;

struct MigMix {
  std::vector<std::pair<size_t, int>> requests;  // profile, count
  std::vector<MigPartition> held;
  MigNode node;
  MigCounts counts(size_t first_request = 0) const;
};

// Three to twelve requests on a node that is between empty and two thirds full.
MigMix random_mig_mix(Random& random);
// The mix as one claim on a node "n0".
oracle::World world_of(const MigMix& mix);

// Whether the counts fit on the node: the counts still wanted after each GPU, for every way to use it.
class MigFeasibility {
 public:
  bool operator()(const MigNode& node, const MigCounts& wanted);

 private:
  size_t number_of(const MigCounts& counts, bool size = false) const;
  MigCounts counts_of(size_t number) const;
  void use(const MigGpu& gpu, MigCounts used, size_t profile, size_t place);
  void note_rest(size_t number, size_t way, std::vector<char>& next) const;

  MigCounts wanted_{};
  std::vector<char> ways_;
};

// The first solution in upstream's order: for each request the first device after the previous one with which the rest
// still fits.
std::vector<std::string> first_fit(const MigMix& mix, MigFeasibility& feasible);

}  // namespace dra::allocharness
