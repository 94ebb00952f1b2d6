// An answer as data: what programs read does not depend on the page, and tables can be ordered.
#include "pkg/inspect/answer/answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/base/random.h"

namespace dra::inspect::answer_test {
namespace {

Answer refusal() {
  Answer answer{"DRAExplain"};
  answer.status = Status::kNo;
  answer.say({"DeviceHeld",
              "8 devices in use by claim ml/a, which is a rather long sentence for a narrow page",
              {"ResourceClaim", "ml", "b"},
              "spec.devices.requests[gpu]",
              {{"devices", 8}},
              {{"nodes", {"n-1", "n-2"}}, {"claims", {}}},
              {{"Release", "the owner of claim ml/a releases it"}}});
  return answer;
}

nlohmann::json as_json(const Answer& answer, size_t width) {
  return nlohmann::json::parse(render(answer, {Format::kJson, false, true, width, width}));
}

TEST(Statements, AreFieldsInJson) {
  const nlohmann::json shown = as_json(refusal(), 0);
  EXPECT_EQ(shown["answer"], "no");
  const nlohmann::json& one = shown["statements"].at(0);
  EXPECT_EQ(one["code"], "DeviceHeld");
  EXPECT_EQ(one["object"], (nlohmann::json{{"kind", "ResourceClaim"}, {"namespace", "ml"}, {"name", "b"}}));
  EXPECT_EQ(one["field"], "spec.devices.requests[gpu]");
  EXPECT_EQ(one["counts"], (nlohmann::json{{"devices", 8}}));
  EXPECT_EQ(one["names"], (nlohmann::json{{"nodes", {"n-1", "n-2"}}})) << "lists without a name are left out";
  EXPECT_EQ(one["remedies"].at(0)["code"], "Release");
}

TEST(Statements, AreSentencesForPeople) {
  EXPECT_EQ(render(refusal(), {}),
            "8 devices in use by claim ml/a, which is a rather long sentence for a narrow page\n"
            "  the owner of claim ml/a releases it\n");
}

TEST(Statements, AreTheSameOnPagesOfAllWidths) {
  for (const Format format : {Format::kJson, Format::kYaml, Format::kName})
    for (size_t width = 20; width < 120; width += 7)
      EXPECT_EQ(render(refusal(), {format, false, true, width, width}), render(refusal(), {format})) << width;
}

Answer numbered(const std::vector<std::string>& names) {
  Answer answer{"DRATopNodes"};
  Table table{"", "nodes", {{"NODE", "node"}, {"FREE", "free"}}, {}};
  for (const std::string& name : names) table.rows.push_back({"node/" + name, {name, static_cast<int>(name.size())}});
  answer.tables.push_back(std::move(table));
  return answer;
}

std::vector<std::string> names_of(const Answer& answer) {
  std::vector<std::string> names;
  for (const Row& row : answer.tables.at(0).rows) names.push_back(row.cells[0].text);
  return names;
}

TEST(SortRows, ReadsNumbersAsPeopleDo) {
  Answer answer = numbered({"tpu-15", "tpu-2", "tpu-015", "a100-10", "tpu", "a100-9", "h100-0"});
  ASSERT_TRUE(sort_rows(answer, "NODE"));
  EXPECT_EQ(names_of(answer),
            (std::vector<std::string>{"a100-9", "a100-10", "h100-0", "tpu", "tpu-2", "tpu-15", "tpu-015"}));
  ASSERT_TRUE(sort_rows(answer, "free"));
  EXPECT_EQ(names_of(answer).front(), "tpu");
}

TEST(SortRows, NamesTheColumns) {
  Answer answer = numbered({"a"});
  const auto done = sort_rows(answer, "nodes");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(), "--sort-by \"nodes\": there is no such column; use one of node, free");
}

// Whatever the names: it is an order, and sorting twice changes nothing.
TEST(SortRows, IsAnOrderOfAnyNames) {
  SeededRandom random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> names;
    for (int i = 0; i < 30; ++i) {
      std::string name;
      for (size_t n = random.next() % 6; n > 0; --n) name += "a0b12-9"[random.next() % 7];
      names.push_back(name);
    }
    Answer answer = numbered(names);
    ASSERT_TRUE(sort_rows(answer, "node"));
    const std::vector<std::string> once = names_of(answer);
    ASSERT_TRUE(sort_rows(answer, "node"));
    EXPECT_EQ(names_of(answer), once);
    std::vector<std::string> sorted = once;
    std::sort(sorted.begin(), sorted.end());
    std::sort(names.begin(), names.end());
    EXPECT_EQ(sorted, names) << "no row is lost";
  }
}

TEST(Cells, ListsAreArraysInJson) {
  Answer answer{"DRAWho"};
  answer.tables.push_back({"", "devices", {{"PODS", "pods"}, {"NODE", "node"}}, {}});
  answer.tables[0].rows.push_back({"", {Cell::list({"a", "b"}), "-"}});
  answer.tables[0].rows.push_back({"", {Cell::list({}), "n"}});
  EXPECT_EQ(as_json(answer, 0)["devices"],
            (nlohmann::json{{{"pods", {"a", "b"}}, {"node", ""}}, {{"pods", nlohmann::json::array()}, {"node", "n"}}}));
  EXPECT_EQ(render(answer, {}), "PODS   NODE\na,b    -\n-      n\n");
}

TEST(Rows, ThatAreAsideAreInWideTablesAndInJson) {
  Answer answer = numbered({"a", "b"});
  answer.tables[0].rows[1].aside = true;
  EXPECT_EQ(render(answer, {}), "NODE   FREE\na      1\n");
  EXPECT_EQ(render(answer, {Format::kWide}), "NODE   FREE\na      1\nb      1\n");
  EXPECT_EQ(as_json(answer, 0)["nodes"].size(), 2u);
}

TEST(Formats, OfKubectlAloneSayWhatToDo) {
  for (const char* format : {"jsonpath={.items}", "custom-columns=A:.a", "go-template={{.}}"}) {
    const auto known = format_of(format);
    ASSERT_FALSE(known);
    EXPECT_NE(known.error().message().find("pipe -o json into jq"), std::string::npos) << known.error().message();
  }
}

}  // namespace
}  // namespace dra::inspect::answer_test
