#include "pkg/apiserver/model/raw_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/kinds/resource/parts.h"
#include "pkg/apiserver/model/schema.h"

namespace dra::apiserver::raw_text_test {

const std::string kPointer = "/spec/config/0/opaque/parameters";

RawTexts of_class(const std::string& parameters) {
  const ObjectType* type = builtin_schemas().find("resource/v1", "DeviceClass");
  return raw_texts_of(*type, R"( { "kind" : "x{\"" , "spec": {"more":[{"opaque":[1,"]"]}], "config" : [ {"opaque":
    {"driver":"d", "parameters" :)" +
                                 parameters + "\n } } ] } } ");
}

Json class_with(const std::string& parameters) {
  return {{"spec", {{"config", {{{"opaque", {{"parameters", Json::parse(parameters)}}}}}}}}};
}

TEST(RawText, KeepsWhatIsNotAsPrinted) {
  EXPECT_TRUE(of_class(R"({"a":1,"b":[true,null,"x y"]})").empty());
  EXPECT_TRUE(of_class("null").empty());
  const std::string spaced = R"({"a": "} \" ]", "b":[ ]})";
  EXPECT_EQ(of_class(spaced), (RawTexts{{kPointer, spaced}}));
  EXPECT_EQ(of_class(R"({"b":1,"a":2})"), (RawTexts{{kPointer, R"({"b":1,"a":2})"}}));
  EXPECT_EQ(of_class(R"({"a":"<"})").size(), 1u);
}

TEST(RawText, CutTextEndsTheWalk) {
  const ObjectType* type = builtin_schemas().find("resource/v1", "DeviceClass");
  const std::string whole = R"({"spec":{"config":[{"opaque":{"parameters": {"a": ["\\\"", 1]}}}]}})";
  for (size_t n = 0; n <= whole.size(); ++n) {
    EXPECT_EQ(raw_texts_of(*type, whole.substr(0, n)).count(kPointer), n > whole.find("]}}") + 1 ? 1u : 0u) << n;
  }
}

TEST(RawText, CompactsAsGoDoes) {
  EXPECT_EQ(go_compact_json(" { \"a b\" : [ 1 , \"\\\" <&>\" ] }\n"), R"({"a b":[1,"\" \u003c\u0026\u003e"]})");
  EXPECT_EQ(go_compact_json("\"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\""), "\"\\u2028\\u2029\xe2\x80\xaa\"");
}

TEST(RawText, PatchesKeepTheOrderOfKeysAndLoseSpace) {
  const Json old = class_with(R"({"b":1,"a":2})");
  EXPECT_EQ(raw_texts_after_patch({{kPointer, R"({"b": 1, "a": 2})"}}, old, old),
            (RawTexts{{kPointer, R"({"b":1,"a":2})"}}));
  EXPECT_TRUE(raw_texts_after_patch({{kPointer, R"({"a": 2, "b": 1})"}}, old, old).empty());
  EXPECT_TRUE(raw_texts_after_patch({{kPointer, R"({"b":1,"a":2})"}}, old, class_with("{}")).empty());
  EXPECT_TRUE(raw_texts_after_patch({{kPointer, R"({"b":1,"a":2})"}}, old, Json::object()).empty());
}

TEST(RawText, StatusAndTheRestAreWrittenApart) {
  const RawTexts sent{{"/spec/x", "new"}, {"/status/x", "new"}};
  const RawTexts old{{"/spec/y", "old"}, {"/status/y", "old"}};
  EXPECT_EQ(raw_texts_after_write(sent, old, false), (RawTexts{{"/spec/x", "new"}, {"/status/y", "old"}}));
  EXPECT_EQ(raw_texts_after_write(sent, old, true), (RawTexts{{"/spec/y", "old"}, {"/status/x", "new"}}));
}

TEST(RawText, SpaceCountsForTheLimit) {
  const RawTexts texts{{kPointer, "{" + std::string(kMaxOpaqueBytes - 1, ' ') + "}"}};
  FieldErrors errors;
  check_raw_sizes(errors, texts, texts);
  EXPECT_TRUE(errors.empty());
  check_raw_sizes(errors, texts, {});
  check_raw_sizes(errors, texts, {});
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].field, "spec.config[0].opaque.parameters");
}

}  // namespace dra::apiserver::raw_text_test
