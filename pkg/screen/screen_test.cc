#include "pkg/screen/screen.h"

#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/base/terminal_text.h"
#include "pkg/screen/paint.h"
#include "test/support/environment.h"

namespace dra::screen {
namespace screen_test {

using inspect::Answer;
using inspect::Cell;

Answer nodes(const std::vector<std::pair<std::string, int>>& free_of) {
  Answer answer{"DRATopNodes"};
  inspect::Table table{
      "", "nodes", {{"NODE", "node"}, {"DRIVER", "driver"}, {"FREE", "free"}, {"NAMES", "names", true}}, {}};
  for (const auto& [name, free] : free_of)
    table.rows.push_back({"node/" + name, {name, "gpu.example.com", free, free * 2}});
  answer.tables.push_back(std::move(table));
  return answer;
}

Answer devices(const std::vector<std::pair<std::string, std::string>>& holders) {
  Answer answer{"DRAWho"};
  inspect::Table table{"", "devices", {{"DEVICE", "device"}, {"CLAIM", "claim"}}, {}};
  for (const auto& [device, claim] : holders)
    table.rows.push_back({"device/" + device, {device, claim.empty() ? "-" : claim}});
  answer.tables.push_back(std::move(table));
  return answer;
}

Answer sentence(const std::string& text) {
  Answer answer{"DRAExplain"};
  answer.say("Waits", text);
  return answer;
}

State shown(const Answer& answer, Size size = {80, 12}) {
  State state = begin({"top"}, {.source = "https://10.0.0.1", .size = size});
  hear(state, wanted(state), answer, "12:00:05Z");
  return state;
}

void type(State& state, const std::string& text) {
  for (const char c : text) step(state, {KeyCode::kText, std::string(1, c)});
}

std::string text_of(const Line& line) {
  std::string text;
  for (const Span& span : line) text += span.text;
  return text;
}
std::string text_of(const State& state) {
  std::string text;
  for (const Line& line : draw(state)) text += text_of(line) + "\n";
  return text;
}
std::vector<std::string> column(const State& state) {
  std::vector<std::string> names;
  for (const Row& row : state.views.back().page.rows) names.push_back(row.cells[0]);
  return names;
}
std::string chosen(const State& state) {
  const View& view = state.views.back();
  return view.page.rows.empty() ? "" : view.page.rows[view.cursor].cells[0];
}

TEST(Screen, ShowsTheAnswerAndItsTime) {
  const State state = shown(nodes({{"node-a", 3}, {"node-b", 8}}));
  const std::string text = text_of(state);
  EXPECT_NE(text.find("top nodes (2)"), std::string::npos) << text;
  EXPECT_NE(text.find("https://10.0.0.1  as of 12:00:05Z"), std::string::npos) << text;
  EXPECT_NE(text.find("node-a  gpu.example.com     3"), std::string::npos) << text;
  EXPECT_EQ(text.find("NAMES"), std::string::npos) << text;
}

TEST(Screen, SortsByAColumnAndBack) {
  State state = shown(nodes({{"node-a", 3}, {"node-c", 5}, {"node-b", 8}}));
  type(state, "sss");
  EXPECT_EQ(column(state), (std::vector<std::string>{"node-b", "node-c", "node-a"}));
  EXPECT_NE(text_of(state).find("sorted by FREE"), std::string::npos);
  EXPECT_EQ(chosen(state), "node-a") << "the same object stays chosen";
  type(state, "r");
  EXPECT_EQ(column(state), (std::vector<std::string>{"node-a", "node-c", "node-b"}));
  type(state, "SS");
  EXPECT_EQ(column(state), (std::vector<std::string>{"node-a", "node-b", "node-c"}));
  type(state, "S");
  EXPECT_EQ(column(state), (std::vector<std::string>{"node-a", "node-c", "node-b"})) << "the verb's own order";
  State given = begin({"top"}, {.sort_by = "Free"});
  hear(given, wanted(given), nodes({{"node-a", 3}, {"node-b", 8}}), "");
  EXPECT_EQ(column(given), (std::vector<std::string>{"node-b", "node-a"})) << "--sort-by";
}

TEST(Screen, FiltersByWords) {
  State state = shown(nodes({{"node-a", 3}, {"node-b", 8}, {"other", 1}}));
  type(state, "/NODE gpu");
  EXPECT_EQ(column(state), (std::vector<std::string>{"node-a", "node-b"}));
  EXPECT_NE(text_of(state).find("top nodes (2 of 3)"), std::string::npos) << text_of(state);
  step(state, {KeyCode::kEnter});
  EXPECT_EQ(state.mode, Mode::kNormal);
  EXPECT_NE(text_of(state).find("filter: NODE gpu"), std::string::npos);
  hear(state, wanted(state), nodes({{"node-x", 3}, {"other", 1}}), "");
  EXPECT_EQ(column(state), (std::vector<std::string>{"node-x"})) << "the next answer is filtered, too";
  step(state, {KeyCode::kEscape});
  EXPECT_EQ(column(state).size(), 2U);
  type(state, "/zzz");
  EXPECT_NE(text_of(state).find("no row has these words"), std::string::npos);
  step(state, {KeyCode::kBackspace});
  EXPECT_EQ(state.typed, "zz");
  step(state, {KeyCode::kEscape});
  EXPECT_EQ(column(state).size(), 2U);
  type(state, "/" + std::string(10000, 'x'));
  EXPECT_EQ(state.typed.size(), 200U);
}

TEST(Screen, EnterAsksWhoAndEExplains) {
  State state = shown(nodes({{"node-a", 3}, {"node-b", 8}}));
  step(state, {KeyCode::kDown});
  step(state, {KeyCode::kEnter});
  EXPECT_EQ(wanted(state), (Question{"who", {"node/node-b"}}));
  EXPECT_EQ(first_wanted(state), (Question{"top", {"nodes"}}));
  EXPECT_NE(text_of(state).find("asking..."), std::string::npos);
  hear(state, wanted(state), devices({{"gpu-0", ""}, {"gpu-1", "ml/train"}}), "12:00:06Z");
  step(state, {KeyCode::kEnter});
  EXPECT_EQ(state.views.size(), 2U) << "nobody holds gpu-0";
  EXPECT_NE(text_of(state).find("nobody can be asked"), std::string::npos);
  step(state, {KeyCode::kDown});
  type(state, "e");
  EXPECT_EQ(wanted(state), (Question{"explain", {"claim/train"}, "ml"}));
  hear(state, wanted(state), sentence("It waits for ml/other, which holds gpu-1."), "12:00:07Z");
  EXPECT_NE(text_of(state).find("It waits for ml/other"), std::string::npos);
  step(state, {KeyCode::kEscape});
  step(state, {KeyCode::kEscape});
  EXPECT_EQ(wanted(state), (Question{"top", {"nodes"}}));
  EXPECT_EQ(chosen(state), "node-b");
  EXPECT_EQ(step(state, {KeyCode::kEscape}), Effect::kNone);
  EXPECT_EQ(step(state, {KeyCode::kText, "q"}), Effect::kQuit);
  EXPECT_EQ(step(state, {KeyCode::kControl, "c"}), Effect::kQuit);
}

TEST(Screen, ClaimsNamespacesAndCausesLeadOn) {
  Answer claims{"DRATopClaims"};
  claims.tables.push_back(
      {"", "claims", {{"NAMESPACE", "namespace"}, {"CLAIM", "claim"}}, {{"resourceclaim/x", {"ml", "x"}}}});
  State state = begin({"top", {"claims"}}, {.ns = "ml"});
  hear(state, wanted(state), claims, "");
  type(state, "e");
  EXPECT_EQ(wanted(state), (Question{"explain", {"claim/x"}, "ml"}));
  type(state, "4");
  EXPECT_EQ(wanted(state), (Question{"top", {"namespaces"}, "ml"}));
  Answer namespaces{"DRATopNamespaces"};
  namespaces.tables.push_back({"", "namespaces", {{"NAMESPACE", "namespace"}}, {{"namespace/web", {"web"}}}});
  hear(state, wanted(state), namespaces, "");
  step(state, {KeyCode::kEnter});
  EXPECT_EQ(wanted(state), (Question{"top", {"claims"}, "web"}));
  type(state, "5");
  EXPECT_EQ(wanted(state), (Question{"explain", {}, "ml"}));
  Answer causes{"DRAExplain"};
  causes.tables.push_back({"",
                           "causes",
                           {{"PODS", "pods"}, {"CAUSE", "cause"}, {"ALL PODS", "podNames", true}},
                           {{"", {2, "DeviceHeld", Cell::list({"a/p", "b/q"})}}}});
  hear(state, wanted(state), causes, "");
  step(state, {KeyCode::kEnter});
  EXPECT_EQ(wanted(state), (Question{"explain", {"pod/p"}, "a"}));
  type(state, "3");
  EXPECT_EQ(state.views.size(), 1U) << "the first view is the one of claims";
}

TEST(Screen, IsEightQuestionsDeepAtMost) {
  State state = shown(nodes({{"node-a", 3}}));
  for (int i = 0; i < 30; ++i) {
    step(state, {KeyCode::kEnter});
    hear(state, wanted(state), devices({{"gpu-0", "ml/claim-" + std::to_string(i)}}), "");
  }
  EXPECT_EQ(state.views.size(), 8U);
  EXPECT_NE(text_of(state).find("no deeper"), std::string::npos) << text_of(state);
}

TEST(Screen, WhatCannotBeReadIsSaidAndTheRestStays) {
  State state = shown(nodes({{"node-a", 3}}));
  lose(state, "https://10.0.0.1 does not answer\x1b[2J");
  const std::string text = text_of(state);
  EXPECT_NE(text.find("not read: https://10.0.0.1 does not answer\\x1b[2J; trying again"), std::string::npos) << text;
  EXPECT_NE(text.find("node-a"), std::string::npos) << text;
  EXPECT_NE(text.find("as of 12:00:05Z"), std::string::npos) << text;
  hear(state, wanted(state), nodes({{"node-a", 4}}), "12:00:09Z");
  EXPECT_EQ(text_of(state).find("not read"), std::string::npos);
  refuse(state, wanted(state), "node \"x\" is not known");
  EXPECT_NE(text_of(state).find("is not known"), std::string::npos);
  EXPECT_NE(text_of(state).find("node-a"), std::string::npos);
}

TEST(Screen, TheStatusIsThatOfTheFirstQuestion) {
  Answer unknown = nodes({{"node-a", 3}});
  unknown.status = inspect::Status::kUnknown;
  State state = shown(unknown);
  EXPECT_EQ(state.status, inspect::Status::kUnknown);
  step(state, {KeyCode::kEnter});
  Answer other = devices({});
  other.status = inspect::Status::kNo;
  hear(state, wanted(state), other, "");
  EXPECT_EQ(state.status, inspect::Status::kUnknown);
}

TEST(Screen, HiddenThingsAreNamedOnEveryPage) {
  Answer answer = nodes({{"node-a", 3}});
  answer.notes.push_back("resourceclaims are hidden: you may not list them");
  State state = shown(answer);
  EXPECT_NE(text_of(state).find("note: resourceclaims are hidden"), std::string::npos);
}

TEST(Screen, LongTextsScrollByLinesAndRowsStayInSight) {
  Answer answer = devices({{"gpu-0", "ml/a"}, {"gpu-1", "ml/b"}});
  for (int i = 0; i < 30; ++i) answer.lines.push_back("line " + std::to_string(i));
  State state = begin({"top"}, {.size = {80, 10}});
  hear(state, wanted(state), answer, "");
  for (int i = 0; i < 60; ++i) step(state, {KeyCode::kDown});
  EXPECT_EQ(chosen(state), "gpu-1");
  EXPECT_NE(text_of(state).find("gpu-1"), std::string::npos) << text_of(state);
  for (int i = 0; i < 60; ++i) step(state, {KeyCode::kUp});
  EXPECT_NE(text_of(state).find("line 0\n"), std::string::npos) << text_of(state);
  type(state, "G");
  EXPECT_NE(text_of(state).find("gpu-1"), std::string::npos);
  step(state, {KeyCode::kPageUp});
  EXPECT_EQ(text_of(state).find("gpu-1"), std::string::npos);
}

TEST(Screen, WideCharactersAreCutRightly) {
  const std::string han = "\xe6\xbc\xa2\xe5\xad\x97";
  State state = shown(nodes({{han + han + han + han, 3}}), {13, 6});
  const Line row = draw(state)[3];
  EXPECT_EQ(columns_of(text_of(row)), 13U) << text_of(row);
  EXPECT_EQ(text_of(row).substr(0, 18), (han + han + han).substr(0, 18));
  step(state, {KeyCode::kRight});
  EXPECT_EQ(columns_of(text_of(draw(state)[3])), 13U);
}

// ---- a slow twin: a terminal that obeys what is painted

class MiniTerminal {
 public:
  explicit MiniTerminal(Size size) : size_(size), lines_(size.lines) {}
  void resize(Size size) {
    size_ = size;
    lines_.resize(size.lines);
  }
  // False: something that it does not know, or a text beyond its end.
  bool obey(const std::string& bytes) {
    for (size_t at = 0; at < bytes.size();) {
      if (bytes[at] == '\x1b') {
        const size_t end = bytes.find_first_of("HJKm", at);
        if (end == std::string::npos || bytes[at + 1] != '[') return false;
        const std::string parameters = bytes.substr(at + 2, end - at - 2);
        if (bytes[end] == 'H') line_ = static_cast<size_t>(std::stoi(parameters)) - 1;
        if (bytes[end] == 'J') lines_.assign(size_.lines, "");
        if (bytes[end] == 'K' && line_ < lines_.size()) lines_[line_].clear();
        at = end + 1;
        continue;
      }
      if (static_cast<unsigned char>(bytes[at]) < 0x20 || line_ >= lines_.size()) return false;
      lines_[line_] += bytes[at++];
    }
    for (const std::string& line : lines_)
      if (columns_of(line) > size_.columns) return false;
    return true;
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  Size size_;
  std::vector<std::string> lines_;
  size_t line_ = 0;
};

const std::string kHostile[] = {"plain",
                                "\x1b[2J\x1b]0;title\x07",
                                "\xc2\x9b"
                                "31m",
                                "\xe2\x80\xae"
                                "gnp.exe",
                                std::string(66000, 'A'),
                                "\xe6\xbc\xa2\xe5\xad\x97",
                                "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81",
                                "a\nb\r\tc",
                                "\xff\xfe",
                                "=HYPERLINK(\"http://evil.example/\")",
                                "<script>",
                                "",
                                "-",
                                "a/b/c",
                                std::string("nul\0nul", 7),
                                "\xf0\x9f\x9a\x80"};

Answer random_answer(Random& random) {
  const auto any = [&] { return kHostile[random.below(std::size(kHostile))]; };
  const char* kinds[] = {"DRATopNodes", "DRATopClaims", "DRAWho", "DRAExplain", "DRATopNamespaces", "DRATopClasses"};
  Answer answer{kinds[random.below(std::size(kinds))]};
  for (uint64_t i = random.below(4); i > 0; --i) answer.lines.push_back(any() + " " + any());
  for (uint64_t i = random.below(2); i > 0; --i) answer.notes.push_back(any());
  for (uint64_t i = random.below(3); i > 0; --i) answer.after.push_back(any());
  if (random.below(5) == 0) return answer;
  inspect::Table table{
      "",
      "t",
      {{"NODE", "node"}, {"NAMESPACE", "namespace"}, {"CLAIM", "claim"}, {"FREE", "free"}, {"PODS", "podNames", true}},
      {}};
  for (uint64_t i = random.below(30); i > 0; --i)
    table.rows.push_back({any(), {any(), any(), any(), Cell(random.below(100)), Cell::list({any(), any()})}});
  answer.tables.push_back(std::move(table));
  return answer;
}

Key random_key(Random& random) {
  static const std::string kTexts = "jkgGesSrw12345/?h xa\xe6";
  if (random.below(3) == 0) return {KeyCode::kText, std::string(1, kTexts[random.below(kTexts.size())])};
  if (random.below(10) == 0) return {KeyCode::kControl, std::string(1, "lfbudnp"[random.below(7)])};
  return {static_cast<KeyCode>(static_cast<uint64_t>(KeyCode::kEnter) + random.below(12)), ""};
}

// Any keys, answers and sizes: what was painted piece by piece is what is drawn at once, within the terminal, without a
// control character of others, and the chosen row is one of the page.
TEST(Screen, RandomKeysAnswersAndSizes) {
  const uint64_t cases = test::number_from("DRA_SCREEN_CASES", 50);
  for (uint64_t seed = 1; seed <= cases; ++seed) {
    SeededRandom random(seed);
    Size size{random.below(100), random.below(40)};
    State state = begin({"top"}, {.wide = random.below(2) == 0,
                                  .sort_by = random.below(2) == 0 ? "free" : "",
                                  .source = kHostile[1],
                                  .size = size});
    MiniTerminal terminal(size);
    std::optional<Frame> before;
    for (int moves = 0; moves < 60; ++moves) {
      const uint64_t what = random.below(20);
      if (what == 0) {
        size = {random.below(100), random.below(40)};
        resize(state, size);
        terminal.resize(size);
        before.reset();
      } else if (what < 4) {
        hear(state, random.below(2) == 0 ? wanted(state) : first_wanted(state), random_answer(random), "12:00:00Z");
      } else if (what == 4) {
        lose(state, kHostile[random.below(std::size(kHostile))]);
      } else if (what == 5) {
        refuse(state, wanted(state), kHostile[random.below(std::size(kHostile))]);
      } else {
        step(state, random_key(random));
      }
      Frame frame = draw(state);
      ASSERT_EQ(frame.size(), size.lines) << "seed " << seed << " move " << moves;
      const std::string bytes = paint(before, frame, random.below(2) == 0);
      ASSERT_TRUE(terminal.obey(bytes)) << "seed " << seed << " move " << moves;
      for (size_t i = 0; i < frame.size(); ++i) {
        ASSERT_EQ(terminal.lines()[i], text_of(frame[i])) << "seed " << seed << " move " << moves << " line " << i;
        ASSERT_EQ(visible_text(text_of(frame[i])), text_of(frame[i])) << "seed " << seed << " move " << moves;
      }
      before = std::move(frame);
      const View& view = state.views.back();
      ASSERT_TRUE(view.page.rows.empty() || view.cursor < view.page.rows.size())
          << "seed " << seed << " move " << moves;
      ASSERT_LE(state.views.size(), 8U);
    }
  }
}

}  // namespace screen_test
}  // namespace dra::screen
