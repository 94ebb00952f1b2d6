// All integration tests are one program. Under the name integration_crash_test, say, it runs those of crash_test.cc.
#include <gmock/gmock.h>

#include <filesystem>
#include <string>

namespace {

// Of the tests of other files: "-Suite.Test:Suite.Test".
std::string others(const std::string& file) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  std::string names;
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      if (std::filesystem::path(test.file()).filename() != file)
        names += (names.empty() ? "" : ":") + std::string(suite.name()) + "." + test.name();
    }
  }
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view kPrefix = "integration_";
  const std::string name = std::filesystem::path(argv[0]).filename();
  testing::InitGoogleMock(&argc, argv);
  if (name.starts_with(kPrefix) && name.ends_with("_test")) {
    std::string filter = testing::GTEST_FLAG(filter);
    filter += filter.find('-') == std::string::npos ? "-" : ":";
    testing::GTEST_FLAG(filter) = filter + others(name.substr(kPrefix.size()) + ".cc");
  }
  return RUN_ALL_TESTS();
}
