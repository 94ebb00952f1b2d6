#include "pkg/log/log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "pkg/base/random.h"

namespace dra::log_test {

using namespace std::chrono_literals;
using log::Fields;
using log::Format;
using log::Severity;

constexpr log::Location kWhere{"a/pkg/queue/work_queue.cc", 411};
const WallTime kNow{1'795'249'962'777'606'700ns};

std::string line(Format format, Severity severity, Fields fields, const std::string* err = nullptr, int level = 2) {
  return log::format_line(format, severity, level, kNow, 14995, kWhere, "Claim allocated", fields, err);
}

TEST(Log, TextFormatIsKlogs) {
  EXPECT_EQ(
      line(Format::kText, Severity::kInfo,
           {{"pod", log::ObjectRef{"ns", "web-0"}}, {"node", "n\"1\n"}, {"n", 3}, {"ok", true}, {"took", 1500ms}}),
      "I1121 08:32:42.777606   14995 work_queue.cc:411] \"Claim allocated\" pod=\"ns/web-0\" node=\"n\\\"1\\n\" "
      "n=3 ok=true took=\"1.5s\"");
  std::string err = "NotFound: gone";
  EXPECT_EQ(line(Format::kText, Severity::kError, {{"key", "a"}}, &err),
            "E1121 08:32:42.777606   14995 work_queue.cc:411] \"Claim allocated\" key=\"a\" err=\"NotFound: gone\"");
  EXPECT_EQ(line(Format::kText, Severity::kWarning, {})[0], 'W');
}

TEST(Log, JsonFormatParsesAndHasTheNamedKeys) {
  auto j = nlohmann::json::parse(line(Format::kJson, Severity::kInfo,
                                      {{"pod", log::ObjectRef{"ns", "web-0"}},
                                       {"node", log::ObjectRef{"", "n1"}},
                                       {"d", 0.5},
                                       {"nan", std::nan("")},
                                       {"big", uint64_t{18446744073709551615u}}}));
  EXPECT_EQ(j["ts"].get<double>(), 1795249962777.6067);
  EXPECT_EQ(j["caller"], "queue/work_queue.cc:411");
  EXPECT_EQ(j["msg"], "Claim allocated");
  EXPECT_EQ(j["v"], 2);
  EXPECT_EQ(j["pod"]["namespace"], "ns");
  EXPECT_EQ(j["pod"]["name"], "web-0");
  EXPECT_FALSE(j["node"].contains("namespace"));
  EXPECT_EQ(j["big"].get<uint64_t>(), 18446744073709551615u);
  std::string err = "x";
  j = nlohmann::json::parse(line(Format::kJson, Severity::kError, {}, &err));
  EXPECT_FALSE(j.contains("v"));
  EXPECT_EQ(j["err"], "x");
}

// Whatever bytes a field contains, the line stays one line and the JSON stays valid.
TEST(Log, AnyBytesStayOneLineAndValidJson) {
  SeededRandom random(42);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (uint64_t n = random.below(30); n > 0; --n) bytes += static_cast<char>(random.next());
    std::string json = line(Format::kJson, Severity::kInfo, {{"k", bytes}});
    EXPECT_EQ(json.find('\n'), std::string::npos);
    EXPECT_TRUE(nlohmann::json::accept(json)) << json;
    std::string text = line(Format::kText, Severity::kInfo, {{"k", bytes}});
    for (char c : text) EXPECT_GE(static_cast<unsigned char>(c), 0x20u);
  }
}

TEST(Log, LongValuesAreCut) {
  EXPECT_LT(line(Format::kText, Severity::kInfo, {{"k", std::string(1 << 20, 'x')}}).size(), 70'000u);
}

TEST(Log, VerbosityDecidesAndTheSinkGetsWholeLines) {
  std::vector<std::string> lines;
  ManualClock clock(kNow);
  log::configure({.format = Format::kText,
                  .verbosity = 4,
                  .sink = [&](std::string_view l) { lines.emplace_back(l); },
                  .clock = &clock});
  log::v(5, "no");
  log::v(4, "yes");
  log::error(Error(Code::kNotFound, "pod \"a\" not found"), "Could not", {{"n", 1}});
  EXPECT_FALSE(log::enabled(5));
  log::configure({});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("log_test.cc:"), std::string::npos);
  EXPECT_NE(lines[0].find("] \"yes\"\n"), std::string::npos);
  EXPECT_NE(lines[1].find("n=1 err=\"NotFound: pod \\\"a\\\" not found\"\n"), std::string::npos) << lines[1];
}

}  // namespace dra::log_test
