// Every rule of the language and of its libraries with its edges, one line each in testdata/language.tsv.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "pkg/cel/cel.h"

namespace dra::cel::language_test {

DeviceInput device() {
  DeviceInputBuilder builder("d");
  builder.add_string("s", "hello").add_string("uni", "\xC3\xBCx").add_string("empty", "");
  builder.add_int("i", 3).add_bool("t", true).add_version("v", "1.2.3");
  builder.add_capacity_text("m", "80Gi").add_capacity_text("big", "1Pi");
  return builder.build();
}

// The outcome as the table has it, and what there is to say about it.
std::string outcome(const std::string& expression, std::string& details) {
  static const Environment env;
  static const DeviceInput input = device();
  const CompileResult compiled = compile(expression, env);
  if (!compiled.ok()) {
    details = compiled.error->message;
    return "compile:" + std::string(category_name(compiled.error->category));
  }
  const EvalResult result = compiled.program->evaluate(input);
  details = result.message;
  if (!result.ok()) return "error:" + std::string(category_name(result.error));
  return result.value ? "true" : "false";
}

TEST(Language, GivesWhatTheTableSays) {
  std::ifstream table("pkg/cel/testdata/language.tsv");
  ASSERT_TRUE(table) << "tests run with the source folder as working directory";
  int lines = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos) << line;
    const std::string expression = line.substr(tab + 1);
    std::string details;
    EXPECT_EQ(outcome(expression, details), line.substr(0, tab)) << expression << "\n" << details;
    ++lines;
  }
  EXPECT_GT(lines, 450);
}

// Bytes of temporary values and steps of work are counted in one place each: the messages say which ran out.
TEST(Language, LimitsOfOneEvaluation) {
  std::string details;
  EXPECT_EQ(outcome("lists.range(1000000).size() == 1000000", details), "error:cost_limit");
  EXPECT_EQ(outcome("\"%.2000000f\".format([1.0]) == \"\"", details), "error:size_limit");
  EXPECT_EQ(outcome("cel.bind(a, [[0]], cel.bind(b, [a,a,a,a,a,a,a,a], cel.bind(c, [b,b,b,b,b,b,b,b], "
                    "lists.range(60000).all(i, c == c))))",
                    details),
            "error:size_limit");
  EXPECT_NE(details.find("more work"), std::string::npos) << details;
}

}  // namespace dra::cel::language_test
