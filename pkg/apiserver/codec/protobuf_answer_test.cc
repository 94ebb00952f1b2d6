#include "pkg/apiserver/codec/protobuf_answer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/codec/codec.h"
#include "pkg/apiserver/codec/protobuf.h"
#include "pkg/apiserver/rest/body.h"
#include "pkg/base/strings.h"
#include "test/support/conformance_data.h"

namespace dra::apiserver::protobuf_answer_test {

std::string bytes_of(const std::string& base64) {
  std::string out;
  EXPECT_TRUE(base64_decode(base64, out));
  return out;
}

// Bodies written by generated Go code (client-go's typed clients), with the documents they were made from.
struct Body {
  const char* document;
  const char* base64;
};
constexpr Body kBodies[] = {
    {R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"pb"},"data":{"k":"v"}})",
     "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEhwKEgoCcGISABoAIgAqADIAOABCABIGCgFrEgF2GgAiAA=="},
    {R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"pb"},
         "spec":{"holderIdentity":"h","renewTime":"2020-01-01T00:00:00.123456Z"}})",
     "azhzAAofChZjb29yZGluYXRpb24uazhzLmlvL3YxEgVMZWFzZRImChIKAnBiEgAaACIAKgAyADgAQgASEAoBaCILCIDCr/AFEICU7zoaACIA"},
};

TEST(ProtobufAnswer, IsByteForByteWhatGeneratedGoCodeWrites) {
  for (const Body& body : kBodies) {
    const auto answer = encode_protobuf_answer(Json::parse(body.document));
    ASSERT_TRUE(answer) << body.document;
    EXPECT_EQ(base64_encode(*answer), body.base64) << body.document;
  }
}

// All recorded bodies.
TEST(ProtobufAnswer, EqualsTheRecordedBodies) {
  const test::ConformanceData data = test::conformance_data();
  std::ifstream file(data.file("apiserver_golden.json"));
  ASSERT_TRUE(file) << data.folder;
  const Json golden = Json::parse(file);
  int compared = 0;
  for (const Json& sequence : golden.at("sequences")) {
    for (const Json& step : sequence.at("steps")) {
      if (!step.contains("body_base64") || !step.contains("decoded")) continue;
      const auto answer = encode_protobuf_answer(step["decoded"]);
      ASSERT_TRUE(answer) << step["name"];
      EXPECT_EQ(base64_encode(*answer), base64_encode(bytes_of(step["body_base64"]))) << step["name"];
      ++compared;
    }
  }
  EXPECT_TRUE(data.at_least(17, 17, compared, "bodies"));
}

TEST(ProtobufAnswer, DecodesToWhatWasEncoded) {
  const Json pod = Json::parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n","uid":"u",
    "creationTimestamp":"2026-01-02T03:04:05Z","labels":{"b":"2","a":"1"},
    "managedFields":[{"manager":"m","operation":"Update","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]},
    "spec":{"terminationGracePeriodSeconds":0,"nodeSelector":{"x":"y"},"volumes":[{"name":"v","emptyDir":{}}],
      "containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"100m"}},
        "livenessProbe":{"httpGet":{"port":"web"},"initialDelaySeconds":-1}}]}})");
  const auto answer = encode_protobuf_answer(pod);
  ASSERT_TRUE(answer);
  const ObjectType* type = find_message_type("v1", "Pod");
  auto decoded = decode_protobuf_body(*answer, {{"", "v1"}, "Pod", type});
  ASSERT_TRUE(decoded);
  // Both in the store's form: empty plain fields are dropped.
  Json expected = pod;
  EXPECT_EQ(decode_object(type, expected).error, "");
  EXPECT_EQ(decode_object(type, *decoded).error, "");
  EXPECT_EQ(*decoded, expected);
}

// The API admits no such time, but a store may be older than the check.
TEST(ProtobufAnswer, ATimeThatIsNoneIsNotAbsent) {
  const auto answer = encode_protobuf_answer(Json::parse(R"({"apiVersion":"v1","kind":"Pod",
    "metadata":{"name":"p","deletionTimestamp":"soon"}})"));
  ASSERT_TRUE(answer);
  auto decoded = decode_protobuf_body(*answer, {{"", "v1"}, "Pod", find_message_type("v1", "Pod")});
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->at("metadata").at("deletionTimestamp"), "1970-01-01T00:00:01Z");
}

TEST(ProtobufAnswer, FramesCarryTheirLength) {
  const std::string frame = protobuf_watch_frame("ADDED", "object");
  ASSERT_GT(frame.size(), 4u);
  EXPECT_EQ(static_cast<unsigned char>(frame[3]), frame.size() - 4);
  EXPECT_EQ(frame.substr(4, 7), std::string("\x0a\x05") + "ADDED");
}

TEST(ProtobufAnswer, AnUnknownKindHasNone) {
  EXPECT_FALSE(encode_protobuf_answer(Json{{"apiVersion", "example.com/v1"}, {"kind", "Thing"}}));
  EXPECT_FALSE(
      encode_protobuf_answer(Json{{"apiVersion", "example.com/v1"}, {"kind", "ThingList"}, {"items", Json::array()}}));
}

}  // namespace dra::apiserver::protobuf_answer_test
