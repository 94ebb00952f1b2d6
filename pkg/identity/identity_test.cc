// Forms, rules, faces and records, each by what docs/design/identity.md says of it.
#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/identity/face.h"
#include "pkg/identity/form.h"
#include "pkg/identity/record.h"
#include "pkg/identity/rules.h"

namespace dra::identity::identity_test {
namespace {

TEST(Form, BusIdsHaveOneSpelling) {
  for (const char* text : {"0000:1a:00.0", "1A:00.0", "00000000:1A:00.0", "0:1a:00.0"})
    EXPECT_EQ(canonical("pci", text), "0000:1a:00.0") << text;
  EXPECT_EQ(canonical("pci", "10000:E1:1f.7"), "10000:e1:1f.7");
  EXPECT_EQ(canonical("pci", "00010000:e1:00.0"), "10000:e1:00.0");
  EXPECT_EQ(canonical("pci", "0001:00:00.0"), "0001:00:00.0");
  for (const char* text :
       {"", "n/a", "0000:1a:00", "0000:1a:2f.0", "0000:1a:00.8", "0000:00:00.0", "00:00.0", " 1a:00.0", "1a:00.0 ",
        ":1a:00.0", "000000000:1a:00.0", "g000:1a:00.0", "0000:1a:0.0", "GPU-0"})
    EXPECT_FALSE(canonical("pci", text)) << text;
}

TEST(Form, UuidsKeepTheirPrefix) {
  const std::string uuid = "5a0c0000-0000-4000-8000-00000000000F", lower = "5a0c0000-0000-4000-8000-00000000000f";
  EXPECT_EQ(canonical("nvidia-uuid", "GPU-" + uuid), "gpu-" + lower);
  EXPECT_EQ(canonical("nvidia-uuid", "MIG-" + uuid), "mig-" + lower);
  EXPECT_EQ(canonical("nvidia-uuid", uuid), lower);
  for (const std::string& text : {std::string("GPU-x"), std::string("GPU-00000000-0000-0000-0000-000000000000"),
                                  "HOST-" + uuid, uuid + "0", std::string("[Unknown Error]")})
    EXPECT_FALSE(canonical("nvidia-uuid", text)) << text;
}

TEST(Form, OthersAreVisibleAscii) {
  EXPECT_EQ(canonical("acc", "SN-7"), "sn-7");
  EXPECT_EQ(canonical("acc", std::string(64, 'x')), std::string(64, 'x'));
  EXPECT_FALSE(canonical("acc", std::string(65, 'x')));
  EXPECT_FALSE(canonical("acc", "a b"));
  EXPECT_FALSE(canonical("acc", "\xc3\xa4"));
}

// No text is read as another one than its own form is.
TEST(Form, IsItsOwnForm) {
  SeededRandom random(1);
  const std::string letters = "0123456789abcdefABCDEF:.-gpuGPUmig ";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (uint64_t n = random.below(16); n > 0; --n) text += letters[random.below(letters.size())];
    for (const char* space : {"pci", "nvidia-uuid", "acc"}) {
      const auto form = canonical(space, text);
      if (form) {
        EXPECT_EQ(canonical(space, *form), form) << text;
      }
    }
  }
}

TEST(Rules, FlagsAdd) {
  Rules rules;
  EXPECT_FALSE(rules.add_own("gpu/uuid=nvidia-uuid"));
  EXPECT_EQ(rules.own.at("gpu/uuid"), "nvidia-uuid");
  EXPECT_FALSE(rules.add_parent("x.example.com/above=acc"));
  EXPECT_FALSE(rules.add_part("x.example.com=part"));
  EXPECT_FALSE(rules.add_exclusive("x.example.com=whole+vm"));
  EXPECT_TRUE(rules.excludes("x.example.com", "vm", "whole"));
  EXPECT_TRUE(rules.excludes("gpu.nvidia.com", "vfio", "mig"));
  EXPECT_FALSE(rules.excludes("gpu.nvidia.com", "gpu", "mig"));
  EXPECT_FALSE(rules.add_plugin("x.example.com=apart"));
  EXPECT_EQ(rules.plugin_use("x.example.com"), PluginUse::kApart);
  EXPECT_EQ(rules.plugin_use("y.example.com"), PluginUse::kPlugin);
  EXPECT_FALSE(rules.add_plugin_resources("x.example.com=example.com/a,example.com/b"));
  EXPECT_EQ(rules.plugin_resources.at("x.example.com").size(), 2u);
  for (const char* text : {"", "uuid=acc", "a/b", "a/b=", "=acc", "a/b=A B", "a/b/c=acc"})
    EXPECT_TRUE(rules.add_own(text)) << text;
  for (const char* text : {"", "d=", "d=whole", "d=+vm", "d=vm+"}) EXPECT_TRUE(rules.add_exclusive(text)) << text;
  EXPECT_TRUE(rules.add_plugin("x.example.com=never"));
  EXPECT_TRUE(rules.add_plugin_resources("x.example.com=gpu"));
}

TEST(Face, OnePiece) {
  const Value a{1, 10}, b{2, 10}, c{3, 20}, d{4, 20};
  const std::vector<Value> only_a{a}, only_b{b}, only_c{c}, only_d{d};
  EXPECT_TRUE(one_piece({only_a, {}, 1}, {only_a, {}, 1}));
  EXPECT_FALSE(one_piece({only_a, {}, 1}, {only_a, {}, 2})) << "values hold on a node";
  EXPECT_TRUE(one_piece({only_a, {}, 1}, {only_a, {}, kNoNumber}));
  EXPECT_TRUE(one_piece({only_a, {}, 1}, {only_c, only_a, 1})) << "part and whole";
  EXPECT_FALSE(one_piece({only_a, only_c, 1}, {only_b, only_c, 1})) << "two parts with names of their own";
  EXPECT_TRUE(one_piece({only_a, only_c, 1}, {{}, only_c, 1})) << "which part is not known";
  EXPECT_TRUE(one_piece({only_a, only_c, 1}, {only_d, only_c, 1})) << "no namespace in common";
}

TEST(Records, AreReadAsWritten) {
  Records records;
  for (int i = 0; i < 64; ++i) {
    Record record;
    record.own = {"pci 0000:" + std::to_string(10 + i % 80) + ":00.0"};
    for (int value = 0; value < i; ++value) record.part_of.push_back("acc sn" + std::to_string(100 + value));
    if (i % 2 == 0) record.node = "node-" + std::to_string(i);
    if (i % 3 == 0) record.type = "ty\"pe";
    record.shared = i % 5 == 0;
    records["d.example.com/p/device-" + std::to_string(i)] = record;
  }
  Records read;
  const std::vector<std::string> texts = encode_records(records);
  EXPECT_GT(texts.size(), 1u);
  for (const std::string& text : texts) {
    EXPECT_LE(text.size(), kMaxRecordBytes);
    EXPECT_TRUE(decode_records(text, read));
  }
  EXPECT_EQ(read, records);
  EXPECT_EQ(encode_records({{"d/p/x", {{"pci 1"}, {"acc \"2\""}, "a", "t", true}}}).at(0),
            R"({"apiVersion":"identity.dra-controller-manager/v1","devices":{"d/p/x":{"is":["pci 1"],"node":"a",)"
            R"("of":["acc \"2\""],"shared":true,"type":"t"}},"kind":"DeviceIdentities"})");
  EXPECT_TRUE(encode_records({}).empty());
  for (const auto& [device, record] : records) EXPECT_EQ(decode_record(encode_record(record)), record) << device;
  for (const char* text :
       {"", "[", "[]", "1", R"({"devices":{"d":[]}})", R"({"devices":{"d":{"node":1}}})", "{}", R"({"devices":1})",
        R"({"devices":{"d":{"is":[1]}}})", R"({"devices":{"d":{"is":["noblank"]}}})"})
    EXPECT_FALSE(decode_records(text, read)) << text;
}

}  // namespace
}  // namespace dra::identity::identity_test
