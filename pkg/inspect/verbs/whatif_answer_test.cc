// What whatif prints: a cause once, however many pods have it.
#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/inspect/verbs/two_nodes_fixture.h"

namespace dra::inspect::whatif_answer_test {
namespace {

TEST(WhatIfAnswer, PodsOfOneCauseShareASentence) {
  const TwoNodes world;
  std::vector<PodFate> fates;
  for (int i = 0; i < 60; ++i)
    fates.push_back({"ml/w-" + std::to_string(i),
                     Fate::kWaits,
                     "",
                     "",
                     {},
                     "no node can provide 1 x gpu: " + std::to_string(i) + " devices in use",
                     "DeviceHeld"});
  fates.push_back({"ml/x", Fate::kWaits, "", "", {}, "the node is cordoned", "NodeCordoned"});
  for (int i = 0; i < 30; ++i) fates.push_back({"ml/o-" + std::to_string(i), Fate::kStaysWaiting, "", "", {}, ""});
  const Answer answer = whatif_answer(fates, world.objects);
  EXPECT_EQ(answer.after, (std::vector<std::string>{"ml/w-0 and 59 more: no node can provide 1 x gpu: 0 devices in use",
                                                    "ml/x: the node is cordoned",
                                                    "30 pods that waited before wait after, too; -o wide lists them"}));
  EXPECT_EQ(split(render(answer, {}), '\n').size(), 1u + 5 + 1 + 1 + 3 + 1) << render(answer, {});
  EXPECT_EQ(answer.tables.at(0).rows.size(), 91u) << "JSON has all";
  EXPECT_EQ(answer.statements.at(0).counts, (std::vector<std::pair<std::string, uint64_t>>{{"pods", 60}}));
}

TEST(WhatIfAnswer, FewPodsHaveARowEach) {
  TwoNodes world;
  world.add_pod("waits", "", {});
  const auto fates = whatif(world.objects, {Change::Kind::kCordon, "b", {}, 1}, {}, "ml");
  ASSERT_TRUE(fates);
  const Answer answer = whatif_answer(*fates, world.objects);
  EXPECT_EQ(std::count_if(answer.tables[0].rows.begin(), answer.tables[0].rows.end(),
                          [](const Row& row) { return row.aside; }),
            0);
  EXPECT_EQ(answer.tables[0].rows.at(0).cells.at(5).text, "NodeCordoned") << render(answer, {Format::kWide});
}

}  // namespace
}  // namespace dra::inspect::whatif_answer_test
