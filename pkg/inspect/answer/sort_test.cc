// The order of rows.
#include "pkg/inspect/answer/sort.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/base/random.h"

namespace dra::inspect::sort_test {

// Few letters and digits, so that prefixes, leading zeros and equal parts are frequent.
std::string random_name(Random& random) {
  std::string name;
  for (uint64_t i = random.below(8); i > 0; --i) name += "ab-0012"[random.below(7)];
  return name;
}

TEST(Sort, NaturalOrderIsAnOrder) {
  EXPECT_TRUE(natural_less("tpu-2", "tpu-15"));
  EXPECT_TRUE(natural_less("a1b", "a1c"));
  EXPECT_TRUE(natural_less("n-2", "n-2-b"));
  EXPECT_TRUE(natural_less("x99999999999999999999998", "x99999999999999999999999")) << "longer than any integer";
  SeededRandom random(5);
  for (int i = 0; i < 100'000; ++i) {
    const std::string a = random_name(random), b = random_name(random), c = random_name(random);
    ASSERT_EQ(natural_less(a, b) || natural_less(b, a), a != b) << a << " " << b;
    ASSERT_FALSE(natural_less(a, b) && natural_less(b, a)) << a << " " << b;
    ASSERT_TRUE(!natural_less(a, b) || !natural_less(b, c) || natural_less(a, c)) << a << " " << b << " " << c;
  }
}

TEST(Sort, ByAnyColumnAndEqualRowsKeepTheirOrder) {
  SeededRandom random(7);
  for (int round = 0; round < 200; ++round) {
    Answer answer{"DRATopNodes"};
    answer.tables.push_back({"", "nodes", {{"NODE", "node"}, {"CAN BE CUT", "canBeCut"}, {"FREE", "free"}}, {}});
    Table& table = answer.tables[0];
    for (uint64_t i = 0; i < 12; ++i) {
      const Cell amount = random.below(5) == 0 ? Cell("-") : Cell(random.below(4));
      table.rows.push_back({std::to_string(i), {"n-" + std::to_string(random.below(20)), "-", amount}});
    }
    const std::vector<std::pair<std::string, size_t>> columns{
        {"free", 2}, {"FREE", 2}, {"node", 0}, {"can be cut", 1}, {"canbecut", 1}};
    for (const auto& [column, at] : columns) {
      const Table before = table;
      ASSERT_TRUE(sort_rows(answer, column)) << column;
      EXPECT_TRUE(std::is_permutation(table.rows.begin(), table.rows.end(), before.rows.begin(),
                                      [](const Row& a, const Row& b) { return a.name == b.name; }));
      for (size_t i = 1; i < table.rows.size(); ++i) {
        const Cell &one = table.rows[i - 1].cells[at], &next = table.rows[i].cells[at];
        const auto place = [&](const Row& row) {
          return std::find_if(before.rows.begin(), before.rows.end(), [&](const Row& r) { return r.name == row.name; });
        };
        const bool ordered = one.is_number != next.is_number ? one.is_number
                             : one.text == next.text         ? place(table.rows[i - 1]) < place(table.rows[i])
                             : one.is_number                 ? std::stoi(one.text) > std::stoi(next.text)
                                                             : natural_less(one.text, next.text);
        EXPECT_TRUE(ordered) << column << ": " << one.text << " before " << next.text;
      }
    }
  }
}

TEST(Sort, AColumnThatIsNotThere) {
  Answer answer{"DRATopNodes"};
  EXPECT_EQ(sort_rows(answer, "free").error().message(),
            "--sort-by \"free\": there is no such column; this answer has no table to sort");
  answer.tables.push_back({"", "nodes", {{"NODE", "node"}, {"FREE", "free"}}, {}});
  EXPECT_EQ(sort_rows(answer, "fre").error().message(),
            "--sort-by \"fre\": there is no such column; did you mean \"free\"?");
  EXPECT_EQ(sort_rows(answer, ".status").error().message(),
            "--sort-by \".status\": there is no such column; use one of node, free");
  // Of several tables, those that have the column are sorted.
  answer.tables[0].rows = {{"a", {"a", 1}}, {"b", {"b", 2}}};
  answer.tables.push_back({"", "sums", {{"DRIVER", "driver"}}, {{"z", {"z"}}, {"y", {"y"}}}});
  ASSERT_TRUE(sort_rows(answer, "free"));
  EXPECT_EQ(answer.tables[0].rows[0].name, "b");
  EXPECT_EQ(answer.tables[1].rows[0].name, "z");
}

}  // namespace dra::inspect::sort_test
