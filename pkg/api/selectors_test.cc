#include "pkg/api/selectors.h"

#include <gtest/gtest.h>

namespace dra::api::selectors_test {
namespace {

const StringMap kLabels = {{"zone", "a"}, {"count", "5"}, {"text", "x5"}, {"empty", ""}};

bool one(std::string key, std::string op, std::vector<std::string> values) {
  return matches(NodeSelectorTerm{{{std::move(key), std::move(op), std::move(values)}}, {}}, "n", kLabels);
}
bool by_field(std::string key, std::string op, std::vector<std::string> values, std::string_view node = "n") {
  return matches(NodeSelectorTerm{{}, {{std::move(key), std::move(op), std::move(values)}}}, node, kLabels);
}

TEST(NodeSelectors, EveryOperator) {
  EXPECT_TRUE(one("zone", "In", {"b", "a"}));
  EXPECT_TRUE(one("empty", "In", {""}));
  EXPECT_FALSE(one("none", "In", {"a"}));
  EXPECT_TRUE(one("none", "NotIn", {"a"}));
  EXPECT_FALSE(one("zone", "NotIn", {"a"}));
  EXPECT_TRUE(one("zone", "Exists", {}));
  EXPECT_TRUE(one("none", "DoesNotExist", {}));
  EXPECT_TRUE(one("count", "Gt", {"4"}));
  EXPECT_TRUE(one("count", "Lt", {"007"}));
  EXPECT_FALSE(one("count", "Gt", {"5"}));
  EXPECT_FALSE(one("text", "Gt", {"1"}));
  EXPECT_FALSE(one("zone", "Matches", {"a"}));
}

// labels.NewRequirement refuses these, and with them the whole term.
TEST(NodeSelectors, RequirementsThatCannotBeParsedMatchNothing) {
  EXPECT_FALSE(one("count", "Lt", {"+6"}));
  EXPECT_FALSE(one("count", "Gt", {"+5"}));
  EXPECT_FALSE(one("count", "Gt", {"-5"}));
  EXPECT_FALSE(one("count", "Gt", {"1", "2"}));
  EXPECT_FALSE(one("count", "Lt", {"99999999999999999999"}));
  EXPECT_FALSE(one("zone", "In", {}));
  EXPECT_FALSE(one("none", "NotIn", {}));
  EXPECT_FALSE(one("none", "NotIn", {"not a label value"}));
  EXPECT_FALSE(one("zone", "In", {"a", "-"}));
  EXPECT_FALSE(one("zone", "Exists", {"a"}));
  EXPECT_FALSE(one("none", "DoesNotExist", {"a"}));
}

TEST(NodeSelectors, Fields) {
  EXPECT_TRUE(by_field("metadata.name", "In", {"n"}));
  EXPECT_FALSE(by_field("metadata.name", "In", {"n"}, "m"));
  EXPECT_TRUE(by_field("metadata.name", "NotIn", {"m"}));
  EXPECT_FALSE(by_field("metadata.name", "NotIn", {"n"}));
  EXPECT_FALSE(by_field("metadata.name", "In", {"n", "m"})) << "exactly one value";
  EXPECT_FALSE(by_field("metadata.name", "NotIn", {"l", "m"}));
  EXPECT_FALSE(by_field("metadata.name", "Exists", {}));
  EXPECT_FALSE(by_field("metadata.name", "Gt", {"n"}));
  EXPECT_FALSE(by_field("spec.x", "In", {"n"}));
}

TEST(NodeSelectors, TermsAndEmptiness) {
  const NodeSelectorTerm name{{}, {{"metadata.name", "In", {"n"}}}};
  EXPECT_FALSE(matches(NodeSelectorTerm{}, "n", {}));
  EXPECT_FALSE(matches(NodeSelector{}, "n", {}));
  EXPECT_TRUE(matches(NodeSelector{{{}, name}}, "n", {}));
  EXPECT_TRUE(matches(NodeSelector{{{{{"zone", "Near", {}}}, {}}, name}}, "n", {})) << "one broken term of two";
  EXPECT_FALSE(matches(NodeSelectorTerm{{{"a", "Exists", {}}}, name.match_fields}, "n", {}));
}

TEST(LabelSelectors, EmptyMatchesAllBrokenMatchesNothing) {
  EXPECT_TRUE(matches(LabelSelector{}, {}));
  EXPECT_TRUE(matches(LabelSelector{{{"zone", "a"}}, {{"none", "NotIn", {"x"}}}}, kLabels));
  EXPECT_FALSE(matches(LabelSelector{{{"zone", "b"}}, {}}, kLabels));
  const LabelSelector broken{{}, {{"none", "NotIn", {"+"}}}};
  EXPECT_FALSE(well_formed(broken));
  EXPECT_FALSE(matches(broken, kLabels));
  EXPECT_FALSE(well_formed(LabelSelector{{}, {{"count", "Gt", {"4"}}}})) << "label selectors have no Gt";
}

TEST(Tolerations, KeyEffectOperatorValue) {
  const Taint taint{"k", "v", "NoSchedule", ""};
  EXPECT_TRUE(tolerates({"k", "", "v", "", {}}, taint));
  EXPECT_TRUE(tolerates({"", "Exists", "", "", {}}, taint));
  EXPECT_TRUE(tolerates({"k", "Exists", "", "NoSchedule", 0}, taint));
  EXPECT_FALSE(tolerates({"k", "Equal", "w", "", {}}, taint));
  EXPECT_FALSE(tolerates({"k", "Exists", "", "NoExecute", {}}, taint));
  EXPECT_FALSE(tolerates({"k", "Lt", "v", "", {}}, taint));
}

}  // namespace
}  // namespace dra::api::selectors_test
