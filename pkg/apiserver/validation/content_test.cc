#include "pkg/apiserver/validation/content.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/apiserver/validation/json_read.h"
#include "pkg/apiserver/validation/node_selector.h"

namespace dra::apiserver::content_test {

TEST(Content, LabelsAndSubdomains) {
  EXPECT_TRUE(dns_label_problems("gpu-0").empty());
  EXPECT_EQ(dns_label_problems("a.b"), Problems{"must not contain dots"});
  EXPECT_EQ(dns_label_problems(std::string(64, 'a')), Problems{"must be no more than 63 characters"});
  for (const char* bad : {"", "-a", "a-", "A", "a_b", "a..b", ".a", "a."}) {
    EXPECT_FALSE(dns_subdomain_problems(bad).empty()) << bad;
  }
  EXPECT_TRUE(dns_subdomain_problems("a.b-c.d").empty());
}

TEST(Content, QualifiedNames) {
  for (const char* good : {"a", "A_b.c-1", "example.com/A"}) EXPECT_TRUE(qualified_name_problems(good).empty()) << good;
  EXPECT_EQ(qualified_name_problems("/a").front(), "prefix part must be non-empty");
  EXPECT_EQ(qualified_name_problems("example.com/").front(), "name part must be non-empty");
  EXPECT_EQ(qualified_name_problems("a/b/c").size(), 1u);
  EXPECT_TRUE(label_value_problems("").empty());
  EXPECT_FALSE(label_value_problems("a b").empty());
}

TEST(Content, Selectors) {
  const Json selector = {{"matchLabels", {{"a", "b"}}},
                         {"matchExpressions", {{{"key", "c"}, {"operator", "NotIn"}, {"values", {"x"}}}}}};
  EXPECT_TRUE(label_selector_matches(selector, {{"a", "b"}}));
  EXPECT_FALSE(label_selector_matches(selector, {{"a", "b"}, {"c", "x"}}));
  EXPECT_FALSE(label_selector_matches(selector, nullptr));
  FieldErrors errors;
  check_node_selector(errors, FieldPath("s"), Json::object());
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].field, "s.nodeSelectorTerms");
}

TEST(JsonRead, AbsentIsZero) {
  const Json doc = {{"a", {{"b", 3}}}, {"n", nullptr}, {"t", "x"}};
  EXPECT_EQ(member_at(doc, "a.b"), 3);
  EXPECT_TRUE(member_at(doc, "a.b.c").is_null());
  EXPECT_FALSE(is_set(doc, "n"));
  EXPECT_EQ(text_of(doc, "a"), "");
  EXPECT_EQ(int_of(doc, "t"), 0);
  EXPECT_TRUE(list_of(doc, "t").empty());
}

TEST(JsonRead, SemanticEqualityIgnoresEmptyMembers) {
  auto equal = [](const char* a, const char* b) { return semantic_equal(Json::parse(a), Json::parse(b)); };
  EXPECT_TRUE(equal(R"({"a":null})", "{}"));
  EXPECT_TRUE(equal(R"({"a":[],"b":1})", R"({"b":1})"));
  EXPECT_FALSE(equal(R"({"a":1})", "{}"));
  EXPECT_FALSE(equal(R"({"a":1})", R"({"a":2})"));
}

}  // namespace dra::apiserver::content_test
