// docs/answers.schema.json lists every code of pkg/verdict, of broken links and of lint's findings. Runs in the root of
// the sources.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "pkg/inspect/lint/finding.h"
#include "pkg/inspect/verbs/chain.h"
#include "pkg/verdict/causes.h"

namespace dra::inspect::answer_codes_test {
namespace {

TEST(AnswerCodes, AreInTheSchema) {
  std::ifstream file("docs/answers.schema.json");
  ASSERT_TRUE(file) << "run this in the root of the sources";
  const nlohmann::json schema = nlohmann::json::parse(file);
  const auto listed = [&](const nlohmann::json& codes, const std::string& code) {
    return std::find(codes.begin(), codes.end(), code) != codes.end();
  };
  const nlohmann::json& codes = schema["$defs"]["Code"]["enum"];
  for (const std::string& code : verdict::cause_codes()) EXPECT_TRUE(listed(codes, code)) << code;
  for (int i = 0; i < kBreaks; ++i)
    EXPECT_TRUE(listed(codes, std::string(break_name(static_cast<Break>(i))))) << break_name(static_cast<Break>(i));
  const nlohmann::json& remedies =
      schema["$defs"]["Statement"]["properties"]["remedies"]["items"]["properties"]["code"]["enum"];
  for (const std::string& code : verdict::change_kind_names()) EXPECT_TRUE(listed(remedies, code)) << code;
  const nlohmann::json& findings =
      schema["$defs"]["DRALint"]["properties"]["findings"]["items"]["properties"]["code"]["enum"];
  for (int i = 0; i < kLintCodes; ++i)
    EXPECT_TRUE(listed(findings, std::string(lint_code_name(static_cast<LintCode>(i))))) << i;
  EXPECT_EQ(findings.size(), static_cast<size_t>(kLintCodes));
}

}  // namespace
}  // namespace dra::inspect::answer_codes_test
