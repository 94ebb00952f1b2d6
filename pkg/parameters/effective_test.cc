#include "pkg/parameters/effective.h"

#include <gtest/gtest.h>

#include <vector>

namespace dra::parameters::effective_test {
namespace {

constexpr const char* kPlain = R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig"})";
constexpr const char* kShort =
    R"({"kind":"GpuConfig","sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Short"}}})";
constexpr const char* kMig = R"({"kind":"MigDeviceConfig","sharing":{"strategy":"MPS"}})";

std::string of(const std::vector<AppliedParameters>& applied, const std::string& type = "gpu",
               const std::string& driver = "gpu.nvidia.com") {
  return effective_parameters(driver, type, applied, "uid");
}

TEST(Effective, WhatIsMissingIsFilledIn) {
  EXPECT_EQ(of({}), "");
  EXPECT_EQ(of({{kPlain}}), "");
  EXPECT_EQ(of({{R"({"kind":"GpuConfig","sharing":{"strategy":"TimeSlicing","timeSlicingConfig":null}})"}}), "");
  EXPECT_EQ(of({{kShort}}),
            R"(GpuConfig {"sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Short"}}})");
  EXPECT_EQ(of({{R"({"kind":"GpuConfig","sharing":{"strategy":"MPS"}})"}}),
            of({{R"({"kind":"GpuConfig","sharing":{"strategy":"MPS","mpsConfig":{}}})"}}));
  EXPECT_NE(of({{R"({"kind":"GpuConfig","sharing":{"strategy":"MPS"}})"}}), "");
}

TEST(Effective, TheLastOneThatAppliesCounts) {
  EXPECT_EQ(of({{kShort}, {kPlain}}), "");
  EXPECT_NE(of({{kPlain}, {kShort}}), "");
  EXPECT_EQ(of({{kMig, true}}), "") << "for all requests: passes devices of other types by";
  EXPECT_EQ(of({{kShort}, {kMig, true}}), of({{kShort}}));
  EXPECT_NE(of({{kMig, true}}, "mig"), "");
  EXPECT_NE(of({{kMig, true}}, ""), "") << "of an unknown type nothing is passed by";
}

TEST(Effective, OtherDriversHaveAllOfThem) {
  EXPECT_EQ(of({}, "", "x.test"), "");
  EXPECT_EQ(of({{R"({"a":1,"b":2})"}}, "", "x.test"), of({{R"({"b":2, "a":1})"}}, "", "x.test"));
  EXPECT_NE(of({{R"({"a":1})"}, {R"({"b":1})"}}, "", "x.test"), of({{R"({"b":1})"}}, "", "x.test"));
}

// What was too large to be kept is like nothing else; what is no JSON, or deep, counts as it is written.
TEST(Effective, WhatIsNotKnownIsAStranger) {
  EXPECT_EQ(of({{""}}), "? uid");
  EXPECT_EQ(of({{kShort}, {""}}), "? uid");
  EXPECT_EQ(of({{"no json"}}), "no json");
  const std::string deep = std::string(5000, '[') + std::string(5000, ']');
  EXPECT_EQ(of({{deep}}, "", "x.test"), deep + "\n");
  EXPECT_EQ(of({{deep}}), deep);
}

}  // namespace
}  // namespace dra::parameters::effective_test
