// The manager is killed around each of its writes (docs/write-points.md), before it is sent and after it took effect
// but before the answer arrives. A successor starts. In the end everything must be as if nothing had happened.
//
// DRA_CRASH_SEEDS: how many seeds for each write point (1); DRA_CRASH_POINT: only this one.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <regex>

#include "test/integration/scenario.h"

namespace dra::integration::crash_test {

// The names in the table of docs/write-points.md.
std::set<std::string> documented_points() {
  std::ifstream file("docs/write-points.md");
  std::set<std::string> points;
  const std::regex row(R"(^\| `([a-z]+/[a-z-]+)` \|.*)");
  std::smatch match;
  for (std::string line; std::getline(file, line);)
    if (std::regex_match(line, match, row)) points.insert(match[1]);
  return points;
}

class EveryScenario : public testing::TestWithParam<Scenario> {};

TEST_P(EveryScenario, EndsWell) {
  for (const uint64_t seed : seeds("DRA_CRASH_SEEDS", 1)) {
    RunOptions options;
    options.seed = seed;
    const RunReport report = run(GetParam(), options);
    EXPECT_EQ(report.findings, "") << "seed " << seed;
    EXPECT_TRUE(report.unnamed.empty()) << report.unnamed.begin()->first;
  }
}

TEST(WritePoints, TheDocumentListsEveryWriteThatIsSeenAndNoOther) {
  std::set<std::string> seen;
  for (const Scenario& scenario : scenarios())
    for (uint64_t seed = 1; seed <= 2; ++seed) {
      RunOptions options;
      options.seed = seed;
      for (const auto& [point, count] : run(scenario, options).seen) seen.insert(point);
    }
  EXPECT_EQ(seen, documented_points());
}

TEST_P(EveryScenario, SurvivesACrashAtEveryWrite) {
  const char* only = std::getenv("DRA_CRASH_POINT");
  const auto list = seeds("DRA_CRASH_SEEDS", 1);
  RunOptions plain;
  const RunReport calm = run(GetParam(), plain);
  size_t runs = 0, crashed = 0;
  Duration longest{};
  for (const auto& [point, count] : calm.seen) {
    if (only && point != only) continue;
    size_t crashed_here = 0;
    for (const uint64_t seed : list)
      for (const bool after : {false, true}) {
        RunOptions options;
        options.seed = seed;
        SeededRandom random(seed * 2 + (after ? 1 : 0));
        options.crash = CrashPoint{point, 1 + random.below(count), after};
        RunReport report = run(GetParam(), options);
        if (!report.crashed && report.findings.empty()) {
          // With this seed the write is rarer than in the calm run.
          options.crash->occurrence = 1;
          report = run(GetParam(), options);
        }
        ++runs;
        crashed_here += report.crashed ? 1 : 0;
        longest = std::max(longest, report.longest_stage);
        ASSERT_EQ(report.findings, "") << GetParam().name << ", killed " << (after ? "after" : "before") << " " << point
                                       << " #" << options.crash->occurrence << ", seed " << seed;
      }
    EXPECT_GT(crashed_here, 0u) << point;
    crashed += crashed_here;
  }
  std::printf("%s: %zu runs, %zu of them crashed, longest stage %.1f s of simulated time\n", GetParam().name.c_str(),
              runs, crashed, std::chrono::duration<double>(longest).count());
}

INSTANTIATE_TEST_SUITE_P(Crash, EveryScenario, testing::ValuesIn(scenarios()),
                         [](const auto& param) { return param.param.name; });

}  // namespace dra::integration::crash_test
