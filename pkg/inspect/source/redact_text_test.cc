#include "pkg/inspect/source/redact_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/inspect/source/archive.h"

namespace dra::inspect {
namespace {

Redactor learned() {
  Redactor redactor(Redaction::kNames);
  redactor.learn("pods", {{"metadata", {{"name", "train"}, {"namespace", "ml-team"}}}});
  redactor.learn("resourceslices", {{"metadata", {{"name", "s"}}}, {"spec", {{"driver", "gpu.nvidia.com"}}}});
  redactor.settle();
  return redactor;
}

TEST(RedactText, NamesAreReplacedAndSentencesStay) {
  const Redactor redactor = learned();
  EXPECT_EQ(redact_text(redactor, "pod ml-team/train waits for gpu.nvidia.com. It has waited for 5m11s."),
            "pod ns-000001/pod-000001 waits for gpu.nvidia.com. It has waited for 5m11s.");
}

// Pods that are gone are in no snapshot: what looks like a name, or stands alone as a value, goes.
TEST(RedactText, NamesThatNobodyKnowsAreLeftOut) {
  const Redactor redactor = learned();
  EXPECT_EQ(
      redact_text(redactor, R"(I1127 17:00:00.123456 7 x.cc:12] "Allocated" pod="secret/train" node="gpu-7.corp.com")"),
      R"(redacted 17:00:00.123456 7 x.cc:12] "Allocated" pod="redacted/pod-000001" node="redacted")");
  EXPECT_EQ(
      redact_text(redactor,
                  R"({"level":"info","msg":"Leading","pod":"secret","server":"https://10.0.0.7:6443","count":3})"),
      R"({"level":"info","msg":"Leading","pod":"redacted","server":"redacted://redacted:6443","count":3})");
  EXPECT_EQ(redact_text(redactor, "the webhook hook.corp.com answered"), "the webhook redacted answered");
}

// "2" is the value of a label here, and a number in sentences.
TEST(RedactText, NumbersInSentencesStay) {
  Redactor redactor(Redaction::kNames);
  redactor.learn("pods", {{"metadata", {{"name", "p"}, {"namespace", "7"}, {"labels", {{"v", "2"}, {"n", "12345"}}}}}});
  redactor.settle();
  EXPECT_EQ(redact_text(redactor, "keeps 2 of 4 cards whole, of pod 7/p, v=\"2\", 12345"),
            "keeps 2 of 4 cards whole, of pod ns-000001/pod-000001, v=\"value-000002\", value-000001");
}

// An event names an object that is gone: no plain word of its sentence is that name.
TEST(RedactText, NamesOfObjectsThatAreGoneAreLeftOut) {
  const Redactor redactor = learned();
  const std::string note = "Successfully assigned ml-team/secret to a node";
  EXPECT_EQ(redact_text(redactor, note), "Successfully assigned ns-000001/secret to a node");
  EXPECT_EQ(redact_text(redactor, note, {"secret"}), "Successfully assigned ns-000001/redacted to a node");
}

TEST(RedactText, EndsWhateverTheText) {
  const Redactor redactor = learned();
  for (const char* text : {"", "\"", "\\\"", "a=\"", "...", "=\"\"\n\"", "\xff\xfe"})
    EXPECT_LE(redact_text(redactor, text).size(), 100u);
}

TEST(Archive, IsATarArchiveOfItsFiles) {
  const std::string bytes = tar({{"bundle/a.txt", "hello"}, {"bundle/b.txt", std::string(512, 'x')}}, 1'700'000'000);
  ASSERT_EQ(bytes.size(), 512u * (1 + 1 + 1 + 1 + 2));
  EXPECT_EQ(bytes.substr(0, 12), "bundle/a.txt");
  EXPECT_EQ(bytes.substr(257, 5), "ustar");
  EXPECT_EQ(bytes.substr(124, 11), "00000000005");
  EXPECT_EQ(bytes.substr(512, 5), "hello");
  uint64_t sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(bytes[i]);
  EXPECT_EQ(std::stoull(bytes.substr(148, 6), nullptr, 8), sum);
}

}  // namespace
}  // namespace dra::inspect
