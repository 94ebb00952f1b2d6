// Tables and text on pages of all widths.
#include "pkg/inspect/answer/layout.h"

#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace dra::inspect {
namespace {

Table nodes_table() {
  Table table{
      "", "nodes", {{"NODE", "node"}, {"FREE", "free"}, {"CAN BE CUT", "canBeCut"}, {"POOL", "pool", true}}, {}};
  table.rows.push_back({"node/a", {"node-a", 2, "-", "p"}});
  table.rows.push_back({"node/b", {"node-b", 12, "28 x 1g.10gb or 12 x 2g.20gb or 8 x 3g.40gb", "p"}});
  return table;
}

std::string laid_out(const Table& table, size_t width, bool colour = false) {
  std::string out;
  RenderOptions options;
  options.table_width = width;
  options.colour = colour;
  append_table(out, table, options);
  return out;
}

TEST(Layout, AWidePageHasOneLineARow) {
  const std::string plain =
      "NODE     FREE   CAN BE CUT\n"
      "node-a   2      -\n"
      "node-b   12     28 x 1g.10gb or 12 x 2g.20gb or 8 x 3g.40gb\n";
  EXPECT_EQ(laid_out(nodes_table(), 0), plain);
  EXPECT_EQ(laid_out(nodes_table(), 59), plain);
}

TEST(Layout, CellsAreBrokenBetweenWords) {
  EXPECT_EQ(laid_out(nodes_table(), 40),
            "NODE    FREE  CAN BE CUT\n"
            "node-a  2     -\n"
            "node-b  12    28 x 1g.10gb or 12 x\n"
            "              2g.20gb or 8 x 3g.40gb\n");
}

TEST(Layout, ANarrowPageHasALineACell) {
  EXPECT_EQ(laid_out(nodes_table(), 24),
            "NODE          node-a\n"
            "  FREE        2\n"
            "NODE          node-b\n"
            "  FREE        12\n"
            "  CAN BE CUT\n"
            "    28 x 1g.10gb or 12 x\n"
            "    2g.20gb or 8 x\n"
            "    3g.40gb\n");
}

// A table of random words: nothing is lost or cut at any width, and no line is longer than the page except for single
// words that are.
TEST(Layout, NothingIsLostAtAnyWidth) {
  SeededRandom random(7);
  for (int round = 0; round < 300; ++round) {
    Table table{"", "t", {}, {}};
    const size_t columns = 1 + random.next() % 6, rows = 1 + random.next() % 4;
    for (size_t c = 0; c < columns; ++c) table.columns.push_back({"HEAD" + std::to_string(c), "h"});
    std::vector<std::string> words;
    for (size_t r = 0; r < rows; ++r) {
      Row row{"x", {}};
      for (size_t c = 0; c < columns; ++c) {
        std::string text;
        for (size_t w = random.next() % 5 + 1; w > 0; --w) {
          words.push_back("w" + std::to_string(words.size()) + std::string(random.next() % 20, 'x'));
          text += (text.empty() ? "" : " ") + words.back();
        }
        row.cells.emplace_back(std::move(text));
      }
      table.rows.push_back(std::move(row));
    }
    const size_t width = 20 + random.next() % 100;
    const std::string out = laid_out(table, width);
    for (const std::string& word : words) EXPECT_NE(out.find(word), std::string::npos) << out;
    for (const std::string& line : split(out, '\n')) {
      const size_t first = line.find_first_not_of(' ');
      const bool one_word = line.find(' ', first) == std::string::npos;
      EXPECT_TRUE(line.size() <= width || one_word) << width << ": " << line;
    }
  }
}

TEST(Layout, LinesOfAnAnswerAreWrapped) {
  Answer answer{"DRAExplain"};
  answer.lines = {"PersistentVolumeClaim data of the pod does not exist.",
                  "  tolerate taint k=v:NoSchedule in request r"};
  RenderOptions options;
  options.width = 30;
  EXPECT_EQ(render(answer, options),
            "PersistentVolumeClaim data of\nthe pod does not exist.\n"
            "  tolerate taint\n  k=v:NoSchedule in request r\n");
  options.format = Format::kJson;
  EXPECT_NE(render(answer, options).find("\"PersistentVolumeClaim data of the pod does not exist.\""),
            std::string::npos)
      << "programs get whole lines";
}

TEST(Layout, HelpOfAFlagStandsBelowItWhereThePageIsNarrow) {
  EXPECT_EQ(wrapped("  --flag TEXT                  what it does and why", 30),
            "  --flag TEXT\n      what it does and why");
  EXPECT_EQ(wrapped("  --flag   what it does and why", 24), "  --flag   what it does\n           and why");
}

TEST(Layout, ColoursTakeNoColumns) {
  Table table = nodes_table();
  table.rows[0].cells[1].tone = Tone::kGood;
  const std::string out = laid_out(table, 0, true);
  EXPECT_NE(out.find("node-a   \x1b[32m2\x1b[0m      -\n"), std::string::npos) << out;
}

}  // namespace
}  // namespace dra::inspect
