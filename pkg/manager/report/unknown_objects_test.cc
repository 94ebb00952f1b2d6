#include "pkg/manager/report/unknown_objects.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/api/decode/decode.h"
#include "pkg/base/strings.h"

namespace dra::manager::unknown_objects_test {

namespace {

struct Recorded : EventSink {
  std::vector<reconcile::Event> events;
  bool full = false;
  bool emit(const reconcile::Event& event) override {
    if (!full) events.push_back(event);
    return !full;
  }
};

api::ResourceSlice slice(const std::string& name, int64_t generation, const std::string& field) {
  api::ResourceSlice one;
  one.metadata.name = name;
  one.metadata.uid = name + "-uid";
  one.metadata.generation = generation;
  if (!field.empty())
    one.unknown.emplace().fields = {{"resourceslices." + field, field, api::UnknownField::Why::kName}};
  return one;
}

struct UnknownObjectsTest : testing::Test {
  metrics::Registry registry;
  Recorded sink;
  UnknownObjects objects{registry, sink, {"resourceslices.spec.listed"}};

  void put(const api::ResourceSlice& one) { objects.changed(one.metadata.name, &one); }
  std::string shown() {
    objects.show();
    std::string text;
    for (const std::string& line : split(registry.text(), '\n'))
      if (line.starts_with("dra_unknown_fields{")) text += line + "\n";
    return text;
  }
};

}  // namespace

TEST_F(UnknownObjectsTest, SaidOnceForEachGenerationAndOnlyByTheLeader) {
  put(slice("s", 1, "spec.a"));
  put(slice("t", 1, ""));
  put(slice("u", 1, "spec.listed"));
  EXPECT_TRUE(sink.events.empty());
  objects.set_leading(true);
  ASSERT_EQ(sink.events.size(), 1u);
  EXPECT_EQ(sink.events[0].regarding.kind, reconcile::Kind::kSlice);
  EXPECT_EQ(sink.events[0].regarding.name, "s");
  EXPECT_EQ(sink.events[0].note,
            "what has it is not allocated: field spec.a is not known to this version: upgrade the manager or, if that "
            "is safe, ignore it by --ignore-unknown-fields=resourceslices.spec.a");
  put(slice("s", 1, "spec.a"));
  objects.set_leading(false);
  objects.set_leading(true);
  EXPECT_EQ(sink.events.size(), 1u);
  put(slice("s", 2, "spec.a"));
  EXPECT_EQ(sink.events.size(), 2u);
  EXPECT_EQ(shown(), "dra_unknown_fields{field=\"resourceslices.spec.a\",name=\"s\",resource=\"resourceslices\"} 1\n");
  put(slice("s", 3, ""));
  objects.changed("t", static_cast<const api::ResourceSlice*>(nullptr));
  EXPECT_EQ(shown(), "");
  EXPECT_EQ(sink.events.size(), 2u);
}

TEST_F(UnknownObjectsTest, ClaimsHaveTheEventsOfTheirPods) {
  objects.set_leading(true);
  api::ResourceClaim claim;
  claim.metadata.ns = "ns";
  claim.metadata.name = "c";
  claim.spec.unknown.emplace().fields = {{"resourceclaims.spec.a", "spec.a", api::UnknownField::Why::kName}};
  objects.changed("ns/c", &claim);
  EXPECT_TRUE(sink.events.empty());
  EXPECT_EQ(shown(),
            "dra_unknown_fields{field=\"resourceclaims.spec.a\",name=\"ns/c\",resource=\"resourceclaims\"} 1\n");
  claim.status.allocation.emplace();
  objects.changed("ns/c", &claim);
  EXPECT_EQ(shown(), "") << "it was allocated by somebody who knows the field";
}

TEST_F(UnknownObjectsTest, WhatTheRecorderDropsIsSaidLater) {
  sink.full = true;
  objects.set_leading(true);
  put(slice("s", 1, "spec.a"));
  shown();
  EXPECT_TRUE(sink.events.empty());
  sink.full = false;
  shown();
  shown();
  EXPECT_EQ(sink.events.size(), 1u);
}

// A driver that publishes 10,000 devices with such a field, in slices of 128.
TEST_F(UnknownObjectsTest, ASliceIsOneEventAndOneSeries) {
  objects.set_leading(true);
  std::string devices;
  for (int i = 0; i < 128; ++i)
    devices += std::string(i == 0 ? "" : ",") + R"({"name": "d)" + std::to_string(i) + R"(", "newField": )" +
               std::to_string(i) + "}";
  for (int i = 0; i < 79; ++i) {
    const std::string name = "s" + std::to_string(i);
    const auto one = api::decode<api::ResourceSlice>(
        R"({"metadata": {"name": ")" + name + R"(", "uid": ")" + name +
        R"(", "generation": 1}, "spec": {"driver": "d", "pool": {"name": "p"}, "devices": [)" + devices + "]}}");
    ASSERT_TRUE(one);
    put(*one);
    put(*one);
  }
  EXPECT_EQ(sink.events.size(), 79u);
  EXPECT_LT(sink.events.front().note.size(), 512u);
  const std::string text = shown();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 79);
}

TEST_F(UnknownObjectsTest, TheSeriesAreBounded) {
  for (int i = 0; i < 1000; ++i) put(slice("s" + std::to_string(i), 1, "spec.a"));
  const std::string text = shown();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), static_cast<long>(UnknownObjects::kMaxNamed) + 1);
  EXPECT_NE(text.find("field=\"\",name=\"(others)\",resource=\"resourceslices\"} 900"), std::string::npos) << text;
  for (int i = 0; i < 1000; ++i) {
    objects.changed("s" + std::to_string(i), static_cast<const api::ResourceSlice*>(nullptr));
    api::ResourceClaim claim;
    claim.spec.unknown.emplace().fields = {{"resourceclaims.spec.a", "spec.a", api::UnknownField::Why::kName}};
    objects.changed("ns/" + std::to_string(i), &claim);
  }
  put(slice("s", 1, "spec.a"));
  const std::string claims = shown();
  EXPECT_EQ(std::count(claims.begin(), claims.end(), '\n'), static_cast<long>(UnknownObjects::kMaxNamed) + 1);
  EXPECT_NE(claims.find("name=\"s\",resource=\"resourceslices\""), std::string::npos) << claims;
}

}  // namespace dra::manager::unknown_objects_test
