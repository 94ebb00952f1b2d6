// mig_bench: the time to decide mixes of MIG partitions on one node of eight GPUs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "test/allocharness/contest.h"
#include "test/allocharness/mig.h"
#include "test/support/cpu_millis.h"

namespace {

using namespace dra;

constexpr double kMostOf99 = 100, kMost = 5000;  // milliseconds

using test::cpu_millis;

// True when every mix was decided in time.
bool measure(const char* name, allocator::Strategy strategy, size_t mixes, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<double> millis;
  size_t undecided = 0, fitting = 0;
  for (size_t i = 0; i < mixes; ++i) {
    allocator::Options options;
    options.strategy = strategy;
    auto contest = allocharness::Contest::make(allocharness::world_of(allocharness::random_mig_mix(random)), options);
    if (!contest) {
      std::fprintf(stderr, "mig_bench: %s\n", contest.error().message().c_str());
      return false;
    }
    const double start = cpu_millis();
    const allocator::FoundNodes found = (*contest)->allocator().find_nodes((*contest)->request(), (*contest)->nodes());
    millis.push_back(cpu_millis() - start);
    fitting += found.outcome == allocator::Outcome::kFeasible;
    undecided += found.outcome != allocator::Outcome::kFeasible && found.outcome != allocator::Outcome::kInfeasible;
  }
  std::sort(millis.begin(), millis.end());
  const double p99 = millis[mixes * 99 / 100];
  std::printf("%s: %zu mixes, %zu fit, %zu not decided; median %.2f ms, p99 %.2f ms, longest %.1f ms\n", name, mixes,
              fitting, undecided, millis[mixes / 2], p99, millis.back());
  const bool good = undecided == 0 && p99 <= kMostOf99 && millis.back() <= kMost;
  if (!good) std::fprintf(stderr, "missed: all decided, 99 %% within %.0f ms, none above %.0f ms\n", kMostOf99, kMost);
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Decides random mixes of MIG partitions on one node of eight GPUs.", "mig_bench");
  size_t mixes = 1500;
  uint64_t seed = 1;
  app.add_option("--mixes", mixes, "how many")->check(CLI::Range(size_t{1}, size_t{1'000'000}));
  app.add_option("--seed", seed, "of the mixes");
  CLI11_PARSE(app, argc, argv);
  const bool first = measure("first-fit", allocator::Strategy::kFirstFit, mixes, seed);
  const bool best = measure("best-fit", allocator::Strategy::kBestFit, mixes, seed);
  return first && best ? 0 : 1;
}
