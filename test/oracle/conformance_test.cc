// The oracle against verdicts from elsewhere: an independent exhaustive search and documented semantics.
// DRA_ORACLE_EVERY: judge only every n-th case (1).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "test/oracle/exhaustive.h"
#include "test/support/conformance_data.h"

namespace dra::oracle::conformance_test {
namespace {

void expect_same_verdicts(const std::string& name, int of_all, int of_sample) {
  const test::ConformanceData data = test::conformance_data();
  std::ifstream file(data.file(name));
  ASSERT_TRUE(file) << data.file(name);
  const char* text = std::getenv("DRA_ORACLE_EVERY");
  const int every = text == nullptr ? 1 : std::max(1, std::atoi(text));
  int cases = 0, wrong = 0;
  for (std::string line; std::getline(file, line);) {
    if (++cases % every != 0) continue;
    Result<Case> one = read_case(line);
    ASSERT_TRUE(one) << to_string(one.error());
    ASSERT_TRUE(one->expect.feasible.has_value() || one->expect.error) << one->world.id;
    const Solution verdict = solve(one->world);
    const Answer expected = one->expect.error       ? Answer::kError
                            : *one->expect.feasible ? Answer::kFeasible
                                                    : Answer::kInfeasible;
    if (verdict.answer == expected) continue;
    if (++wrong > 20) continue;
    std::string picks;
    for (const auto& [request, device] : verdict.picks) picks += " " + request + "=" + device;
    ADD_FAILURE() << one->world.id << ": expected " << static_cast<int>(expected) << ", got "
                  << static_cast<int>(verdict.answer) << " " << verdict.error << picks;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(data.at_least(of_all, of_sample, cases, "cases"));
}

TEST(OracleConformance, RandomCases) {
  expect_same_verdicts("allocator_random.jsonl", 4000, 80);
}
TEST(OracleConformance, CasesOf137) {
  expect_same_verdicts("allocator_137.jsonl", 1500, 32);
}
TEST(OracleConformance, CasesThatUpstreamGetsWrong) {
  expect_same_verdicts("allocator_upstream_wrong.jsonl", 5, 5);
}

// If upstream's tables name devices, the search finds the same ones: its order is upstream's first-fit order.
TEST(OracleConformance, FirstFitOrder) {
  const test::ConformanceData data = test::conformance_data();
  std::ifstream file(data.file("allocator_first_fit.jsonl"));
  ASSERT_TRUE(file) << data.folder;
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    Result<Case> one = read_case(line);
    ASSERT_TRUE(one) << to_string(one.error());
    if (!one->expect.results) continue;
    one->world.stale_generations = true;
    const Solution verdict = solve(one->world);
    if (verdict.answer == Answer::kError && verdict.error.find("unknown form") != std::string::npos) continue;
    ++compared;
    std::vector<std::pair<std::string, std::string>> expected;
    for (size_t c = 0; c < one->expect.results->size(); ++c)
      for (const auto& entry : (*one->expect.results)[c].results)
        expected.push_back({one->world.claims[c].metadata.name + ":" + entry.request,
                            entry.driver + "/" + entry.pool + "/" + entry.device});
    EXPECT_EQ(verdict.picks, expected) << one->world.id << " " << verdict.error;
  }
  EXPECT_TRUE(data.at_least(189, 78, compared, "cases with devices"));
}

}  // namespace
}  // namespace dra::oracle::conformance_test
