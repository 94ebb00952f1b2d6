// Causes as data: they count every node and every device of the verdict once, and their codes are those listed.
#include "pkg/verdict/causes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "pkg/verdict/verdict_fixture.h"

namespace dra::verdict::causes_test {
namespace {

void expect_complete(const Verdict& verdict) {
  const std::vector<std::string> codes = cause_codes();
  const std::vector<Cause> causes = causes_of(verdict);
  if (verdict.answer == Answer::kFits) {
    EXPECT_TRUE(causes.empty());
    return;
  }
  ASSERT_FALSE(causes.empty());
  uint32_t nodes = 0;
  for (const Cause& cause : causes) {
    EXPECT_TRUE(std::binary_search(codes.begin(), codes.end(), cause.code)) << cause.code;
    EXPECT_FALSE(cause.text.empty()) << cause.code;
    EXPECT_EQ(cause.text.find('\n'), std::string::npos) << cause.text;
    if (cause.code.starts_with("Node")) nodes += cause.nodes;
  }
  if (verdict.main == Verdict::Main::kRefused) return;
  EXPECT_EQ(nodes, verdict.nodes) << "each node is in one cause";
  for (const RequestVerdict& request : verdict.requests) {
    if (!request.invalid.empty() || request.groups.empty()) continue;
    uint32_t devices = 0;
    for (const Cause& cause : causes)
      if (cause.code.starts_with("Device") && cause.claim == request.claim && cause.request == request.request)
        devices += cause.devices;
    EXPECT_EQ(devices + request.not_selected, request.examined) << "each device is in one cause";
  }
  if (verdict.main == Verdict::Main::kNodes) {
    EXPECT_TRUE(causes.front().code.starts_with("Node")) << causes[0].code;
  }
  if (verdict.main == Verdict::Main::kDevices && !verdict.requests.empty() && verdict.nodes > 0) {
    EXPECT_EQ(causes.front().request, verdict.requests[verdict.main_request].request) << causes[0].code;
  }
}

TEST(Causes, CountEveryNodeAndDeviceOnceForEachSeededCause) {
  std::set<std::string> seen;
  for (const SeededCause& cause : seeded_causes()) {
    SCOPED_TRACE(cause.name);
    VerdictWorld world;
    cause.seed(world);
    const Verdict verdict = world.judge();
    expect_complete(verdict);
    for (const Cause& one : causes_of(verdict)) seen.insert(one.code);
  }
  EXPECT_GE(seen.size(), 12u) << "the seeded causes are of many kinds";
}

TEST(Causes, AndForPairsOfThem) {
  for (const SeededCause& first : seeded_causes())
    for (const SeededCause& second : seeded_causes()) {
      if (&first >= &second || (!first.excludes.empty() && first.excludes == second.excludes)) continue;
      SCOPED_TRACE(first.name + " and " + second.name);
      VerdictWorld world;
      first.seed(world);
      second.seed(world);
      expect_complete(world.judge());
    }
}

TEST(Causes, AFitHasNone) {
  VerdictWorld world;
  EXPECT_TRUE(causes_of(world.judge()).empty());
}

TEST(Causes, EachCodeIsListedOnce) {
  for (std::vector<std::string> names : {cause_codes(), change_kind_names()}) {
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
    EXPECT_EQ(std::count(names.begin(), names.end(), "Unknown"), 0);
  }
}

}  // namespace
}  // namespace dra::verdict::causes_test
