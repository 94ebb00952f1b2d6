// An answer as data: what programs read does not depend on the page, and tables can be ordered.
#include "pkg/inspect/answer/answer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
// The words: cells that a spreadsheet would evaluate.
TEST(Answer, CsvHasNoCellThatASpreadsheetEvaluates) {
  Answer answer{"DRAUsage"};
  answer.lines = {"left out"};
  answer.tables.push_back({"", "usage", {{"NAMESPACE", "namespace"}, {"OWNER", "ownerKind", true}, {"N", "n"}}, {}});
  answer.tables[0].rows.push_back({"", {"a", "=HYPERLINK(\"http://x\",\"y\")", Cell(7)}});
  answer.tables[0].rows.push_back({"", {"+1,2", "-cmd|' /C calc'!A0", Cell(0)}});
  answer.tables[0].rows.push_back({"",
                                   {"@SUM(A1)",
                                    "\xef\xbc\x9d"
                                    "1",
                                    Cell(0)}});
  answer.tables[0].rows.push_back({"", {"-", "\t=1", Cell(1)}});
  answer.tables[0].rows.push_back({"", {"two\nlines \"x\"", "\r=1", Cell(1)}});
  EXPECT_EQ(render(answer, {*format_of("csv")}),
            "namespace,ownerKind,n\r\n"
            "a,\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\",7\r\n"
            "\"'+1,2\",\"'-cmd|' /C calc'!A0\",0\r\n"
            "\"'@SUM(A1)\",\"'\xef\xbc\x9d"
            "1\",0\r\n"
            ",\\x09=1,1\r\n"
            "\"two\nlines \"\"x\"\"\",\\x0d=1,1\r\n");
  RenderOptions bare{Format::kCsv};
  bare.headers = false;
  EXPECT_EQ(render(answer, bare).substr(0, 3), "a,\"");
}

}  // namespace dra::inspect::answer_test
