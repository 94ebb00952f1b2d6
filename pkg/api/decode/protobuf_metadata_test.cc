#include "pkg/api/decode/protobuf_metadata.h"

#include <gtest/gtest.h>

#include "pkg/api/decode/decode_protobuf.h"
#include "pkg/base/protobuf_wire.h"

namespace dra::api::protobuf_metadata_test {

std::string field(int number, std::string_view bytes) {
  std::string out;
  append_bytes_field(out, number, bytes);
  return out;
}

std::string annotation(std::string_view key, std::string_view value) {
  return field(12, field(1, key) + field(2, value));
}

std::string enveloped(const std::string& object) {
  return std::string(kProtobufMagic) + field(1, field(1, "resource.k8s.io/v1") + field(2, "ResourceClaim")) +
         field(2, object) + field(3, "") + field(4, "");
}

// What no reader here knows: a long varint, a fixed64 and a fixed32, and a field number of two bytes.
std::string unknown() {
  std::string out;
  append_varint_field(out, 90, ~uint64_t{0});
  append_fixed64_field(out, 91, 7);
  append_varint(out, 92 << 3 | kWireFixed32);
  return out + "abcd" + field(300, "x  y");
}

const std::string kSpec = field(2, field(1, field(3, R"({"a":  1, "b": [1, 2], "c": "<&>"})")));

MetadataEdit edit_of(std::vector<std::string> finalizers) {
  return {{{"set", "1"}, {"gone", std::nullopt}, {"never-there", std::nullopt}}, std::move(finalizers)};
}

TEST(ProtobufMetadata, OnlyWhatIsNamedChanges) {
  const std::string head = field(1, "c") + unknown() + field(3, "ns") + field(5, "u") + field(6, "7") +
                           field(11, field(1, "label") + field(2, "l"));
  const std::string before = head + annotation("other", "kept") + annotation("gone", "x") + annotation("set", "0") +
                             field(14, "example.com/theirs") + field(14, "ours") + field(17, field(1, "m") + unknown());
  const std::string rest = unknown() + kSpec + field(3, "status");
  const auto after =
      edit_protobuf_metadata(enveloped(field(1, before) + rest), "ResourceClaim", edit_of({"example.com/theirs"}));
  ASSERT_TRUE(after) << after.error().message();
  EXPECT_EQ(*after, enveloped(field(1, head + annotation("other", "kept") + field(17, field(1, "m") + unknown()) +
                                           annotation("set", "1") + field(14, "example.com/theirs")) +
                              rest));
  const auto read = protobuf_metadata(*after);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->annotations, (StringMap{{"other", "kept"}, {"set", "1"}}));
  EXPECT_EQ(read->finalizers, std::vector<std::string>{"example.com/theirs"});
  EXPECT_EQ(read->uid, "u");
}

TEST(ProtobufMetadata, WithoutAListFinalizersStay) {
  const std::string object = enveloped(field(1, field(1, "c") + field(14, "a") + field(14, "b")) + kSpec);
  EXPECT_EQ(*edit_protobuf_metadata(object, "ResourceClaim", {}), object);
  const auto none = edit_protobuf_metadata(object, "ResourceClaim", edit_of({}));
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, enveloped(field(1, field(1, "c") + annotation("set", "1")) + kSpec));
}

// A reader takes the last entry of a key, so a second one must not survive its removal.
TEST(ProtobufMetadata, EveryEntryOfAKeyIsReplaced) {
  const std::string twice = annotation("set", "a") + annotation("gone", "a") + annotation("set", "b") +
                            annotation("gone", "b") + field(12, field(2, "without a key"));
  const auto after =
      edit_protobuf_metadata(enveloped(field(1, field(1, "c") + twice) + kSpec), "ResourceClaim", edit_of({}));
  ASSERT_TRUE(after);
  EXPECT_EQ(protobuf_metadata(*after)->annotations, (StringMap{{"", "without a key"}, {"set", "1"}}));
}

TEST(ProtobufMetadata, WhatNoServerSendsIsRefused) {
  const std::string good = field(1, field(1, "c"));
  const std::pair<std::string, const char*> cases[] = {
      {"", "begin with"},
      {R"({"kind":"ResourceClaim"})", "begin with"},
      {std::string(kProtobufMagic) + field(1, field(2, "ResourceClaim")), "no object"},
      {enveloped(good) + field(2, good), "more than one object"},
      {enveloped(kSpec), "no metadata"},
      {enveloped(good + good), "more than one metadata"},
      {enveloped(good + "\x0a"), "broken bytes around metadata"},
      {enveloped(field(1, field(12, "\x0a\x7f"))), "a broken annotation"},
      {enveloped(field(1, std::string("\x0a\x7f"))), "broken metadata"},
      {std::string(kProtobufMagic) + field(1, field(2, "Pod")) + field(2, good),
       "expected a ResourceClaim, got \"Pod\""},
      {enveloped(good) + field(3, "gzip"), "encoded once more"},
  };
  for (const auto& [bytes, said] : cases) {
    const auto after = edit_protobuf_metadata(bytes, "ResourceClaim", edit_of({"f"}));
    ASSERT_FALSE(after) << said;
    EXPECT_EQ(after.error().code(), Code::kInvalidArgument);
    EXPECT_NE(after.error().message().find(said), std::string::npos) << after.error().message() << " / " << said;
  }
  // Cut anywhere, or with any byte changed: an answer or a refusal, never a crash.
  const std::string whole = enveloped(field(1, field(1, "c") + annotation("set", "0") + field(14, "f")) + kSpec);
  for (size_t at = 0; at < whole.size(); ++at) {
    EXPECT_FALSE(edit_protobuf_metadata(whole.substr(0, at), "ResourceClaim", edit_of({})) && at < whole.size() - 4);
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 0x81);
    (void)edit_protobuf_metadata(other, "ResourceClaim", edit_of({}));
  }
}

}  // namespace dra::api::protobuf_metadata_test
