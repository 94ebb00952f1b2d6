#include "pkg/api/names.h"

#include <gtest/gtest.h>

namespace dra::api::names_test {

std::string first(const Problems& problems) {
  return problems.empty() ? "" : problems.front();
}

// What kube-apiserver 1.36.2 answers to objects with such names.
TEST(Names, LengthsAreTheirsAndSoAreTheWordsForThem) {
  EXPECT_EQ(first(dns_label_problems(std::string(63, 'x'))), "");
  EXPECT_EQ(first(dns_label_problems(std::string(64, 'x'))), "must be no more than 63 characters");
  EXPECT_EQ(first(dns_subdomain_problems(std::string(253, 'x'))), "");
  EXPECT_EQ(first(dns_subdomain_problems(std::string(254, 'x'))), "must be no more than 253 characters");
  EXPECT_EQ(first(label_value_problems(std::string(63, 'x'))), "");
  EXPECT_EQ(first(label_value_problems(std::string(64, 'x'))), "must be no more than 63 bytes");
  EXPECT_EQ(first(qualified_name_problems(std::string(253, 'a') + "/" + std::string(63, 'x'))), "");
  EXPECT_EQ(first(qualified_name_problems(std::string(64, 'x'))), "name part must be no more than 63 bytes");
  EXPECT_EQ(first(qualified_name_problems(std::string(254, 'a') + "/x")), "prefix part must be no more than 253 bytes");
}

TEST(Names, ShapesAreTold) {
  EXPECT_EQ(dns_label_problems("a.b"), Problems{"must not contain dots"});
  EXPECT_NE(first(dns_label_problems("a.B")).find("a lowercase RFC 1123 label must consist of"), std::string::npos);
  EXPECT_EQ(
      first(qualified_name_problems("a/b/c")),
      "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
      "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
      "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. "
      "'example.com/MyName')");
  EXPECT_EQ(first(qualified_name_problems("/x")), "prefix part must be non-empty");
  EXPECT_EQ(first(qualified_name_problems("a/")), "name part must be non-empty");
  EXPECT_EQ(label_value_problems(""), Problems{});
  EXPECT_NE(first(label_value_problems("-")).find("a valid label must be an empty string or consist of"),
            std::string::npos);
  EXPECT_NE(first(dns1035_label_problems("1a")).find("a DNS-1035 label must"), std::string::npos);
}

}  // namespace dra::api::names_test
