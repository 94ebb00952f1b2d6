// The client reads this server's protobuf exactly as it reads the same object's JSON: decode_protobuf<T>() equals
// decode<T>() for every object, whichever fields it has.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "pkg/api/decode/decode_protobuf.h"
#include "pkg/apiserver/codec/codec.h"
#include "pkg/apiserver/codec/protobuf_answer.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/base/timestamp.h"
#include "test/support/conformance_data.h"

namespace dra::apiserver::protobuf_reading_test {

// Random values of the types in the schema tables, as clients might send them. Texts and keys are often those that the
// readers look for.
class Values {
 public:
  explicit Values(uint64_t seed) : random_(seed) {}

  Json object(const ObjectType& type, int depth) {
    Json out = Json::object();
    for (const auto& [name, field] : type.visible) {
      // At depth most fields are left out, so that objects end.
      if (depth > 12 || random_.below(depth > 5 ? 4 : 2) != 0) continue;
      out[name] = value(field->value, depth, name);
    }
    return out;
  }

 private:
  Json value(const ValueType& type, int depth, const std::string& name) {
    switch (type.type) {
      case FieldType::kString:
        return text(name);
      case FieldType::kInt32:
        return name == "hostPort" ? static_cast<int64_t>(random_.below(65536)) : pick({0, 1, -1, 2147483647});
      case FieldType::kInt64:
        return pick({0, 1, -1, INT64_MAX, INT64_MIN});
      case FieldType::kBool:
        return random_.below(2) == 0;
      case FieldType::kDouble:
        return 0.5;
      case FieldType::kBytes:
        return "AAEC";
      case FieldType::kTime:
        return format_rfc3339(WallTime{std::chrono::seconds(random_.below(4'000'000'000))});
      case FieldType::kMicroTime:
        return format_rfc3339_micro(WallTime{std::chrono::microseconds(random_.below(4'000'000'000'000'000))});
      case FieldType::kQuantity:
        return pick({"0", "1", "80Gi", "1500m", "1e3", "0.1"});
      case FieldType::kIntOrString:
        return random_.below(2) == 0 ? Json(7) : Json("http");
      case FieldType::kRaw:
        return {{"b", {1, "x<&>", nullptr}}, {"a", {{"deep", true}}}};
      case FieldType::kFields:
        return {{"f:status", {{random_.below(2) == 0 ? "f:nominatedNodeName" : "f:phase", Json::object()}}}};
      case FieldType::kObject:
        return object(*type.object, depth + 1);
      case FieldType::kList:
        return list(*type.element, depth + 1, name);
      case FieldType::kMap:
        return map(*type.element, depth + 1, name);
    }
    return nullptr;
  }

  Json list(const ValueType& element, int depth, const std::string& name) {
    Json out = Json::array();
    for (uint64_t i = random_.below(3); i > 0; --i) out.push_back(value(element, depth, name));
    return out;
  }

  Json map(const ValueType& element, int depth, const std::string& name) {
    Json out = Json::object();
    for (uint64_t i = random_.below(3); i > 0; --i) {
      const std::string key =
          name == "annotations" ? pick({"resource.kubernetes.io/pod-claim-name", "dra-controller-manager/proven", "x"})
                                : pick({"cpu", "memory", "example.com/key", "k"});
      out[key] = value(element, depth, name);
    }
    return out;
  }

  std::string text(const std::string& name) {
    if (name == "resourceVersion") return std::to_string(random_.below(1000));
    if (name == "operation") return pick({"Apply", "Update"});
    if (name == "subresource") return pick({"status", ""});
    if (name == "phase") return pick({"Failed", "Running", ""});
    if (name == "message") return pick({"Pod was rejected: no", "else", ""});
    if (name == "health") return pick({"Unhealthy", "Healthy"});
    if (name == "name") return pick({"a", "b", "claim:a/r", "claim:b"});
    return pick({"", "text", "\xc3\xa4\xe2\x82\xac", "a", "<b>&\"\\\n"});
  }

  int64_t pick(std::initializer_list<int64_t> numbers) { return *(numbers.begin() + random_.below(numbers.size())); }
  std::string pick(std::initializer_list<const char*> texts) { return *(texts.begin() + random_.below(texts.size())); }

  SeededRandom random_;
};

// Protobuf has no name for what is not supported: that both found something is compared, and then the rest.
template <class T>
void set_unknown_aside(T& json, T& protobuf) {
  if constexpr (requires { json.unknown; }) {
    EXPECT_EQ(json.unknown.has_value(), protobuf.unknown.has_value());
    json.unknown.reset();
    protobuf.unknown.reset();
  }
  // Of such a field, which the informer reads from JSON then.
  if constexpr (requires { json.devices; })
    for (T* object : {&json, &protobuf})
      for (api::Device& device : object->devices) device.takes_of_node.reset();
}

void sort(api::Rare<api::UnknownFields>& unknown) {
  if (unknown)
    std::sort(unknown->fields.begin(), unknown->fields.end(),
              [](const auto& a, const auto& b) { return a.field < b.field; });
}

// Values of enumerations are found in the order of the members, which is another one in JSON.
template <class T>
void sort_unknown(T& object) {
  if constexpr (requires { object.spec.unknown; }) sort(object.spec.unknown);
  if constexpr (requires { object.status.allocation; })
    if (object.status.allocation) sort(object.status.allocation->unknown);
}

// `document` is in the store's form. Counts what could be compared.
template <class T>
bool both_read_alike(const Json& document) {
  const auto bytes = encode_protobuf_answer(document);
  if (!bytes) return false;
  Result<T> json = api::decode<T>(compact_text(document));
  Result<T> protobuf = api::decode_protobuf<T>(*bytes);
  if (json && protobuf) set_unknown_aside(*json, *protobuf);
  if (json) sort_unknown(*json);
  if (protobuf) sort_unknown(*protobuf);
  EXPECT_TRUE(json) << json.error().message();
  EXPECT_TRUE(protobuf) << protobuf.error().message() << "\n" << document.dump(1);
  EXPECT_TRUE(!json || !protobuf || *json == *protobuf) << document.dump(1);
  return json && protobuf && *json == *protobuf;
}

bool both_read_alike(const Json& document) {
  const std::string kind = document.value("kind", "");
  if (kind == "Pod") return both_read_alike<api::Pod>(document);
  if (kind == "Node") return both_read_alike<api::Node>(document);
  if (kind == "ResourceClaim") return both_read_alike<api::ResourceClaim>(document);
  if (kind == "ResourceSlice") return both_read_alike<api::ResourceSlice>(document);
  return false;
}

constexpr std::pair<const char*, const char*> kKinds[] = {
    {"v1", "Pod"},
    {"v1", "Node"},
    {"resource.k8s.io/v1", "ResourceClaim"},
    {"resource.k8s.io/v1", "ResourceSlice"},
    {"resource.k8s.io/v1beta2", "ResourceClaim"},
    {"resource.k8s.io/v1beta1", "ResourceClaim"},
    {"resource.k8s.io/v1beta1", "ResourceSlice"},
};

Json random_object(const char* api_version, const char* kind, uint64_t seed) {
  const ObjectType* type = find_message_type(api_version, kind);
  Json document = Values(seed).object(*type, 0);
  EXPECT_EQ(decode_object(type, document).error, "");
  document["apiVersion"] = api_version;
  document["kind"] = kind;
  return document;
}

TEST(ProtobufReading, RandomObjectsOfEachKind) {
  for (const auto& [api_version, kind] : kKinds)
    for (uint64_t seed = 0; seed < 1000; ++seed)
      ASSERT_TRUE(both_read_alike(random_object(api_version, kind, seed))) << api_version << " " << kind << " " << seed;
}

// Every object in the recordings that is of one of the kinds, at any depth.
void compare_within(const Json& json, int& compared) {
  if (json.is_object() && json.contains("apiVersion") && json.contains("spec")) {
    Json document = json;
    const ObjectType* type = find_message_type(document.value("apiVersion", ""), document.value("kind", ""));
    if (type != nullptr && decode_object(type, document).error.empty() && both_read_alike(document)) ++compared;
  }
  if (json.is_structured())
    for (const Json& part : json) compare_within(part, compared);
}

TEST(ProtobufReading, TheObjectsOfTheRecordedSequences) {
  const test::ConformanceData data = test::conformance_data();
  std::ifstream file(data.file("apiserver_golden.json"));
  int compared = 0;
  compare_within(Json::parse(file), compared);
  EXPECT_TRUE(data.at_least(195, 28, compared, "objects"));
}

TEST(ProtobufReading, AList) {
  Json items = Json::array();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    items.push_back(random_object("v1", "Pod", seed));
    items.back().erase("apiVersion");
    items.back().erase("kind");
  }
  const Json document = {{"apiVersion", "v1"},
                         {"kind", "PodList"},
                         {"metadata", {{"resourceVersion", "17"}, {"continue", "c"}, {"remainingItemCount", 5}}},
                         {"items", items}};
  const auto json = api::decode_list<api::Pod>(compact_text(document));
  const auto protobuf = api::decode_protobuf_list<api::Pod>(*encode_protobuf_answer(document));
  ASSERT_TRUE(json && protobuf);
  EXPECT_EQ(protobuf->metadata.resource_version, "17");
  EXPECT_EQ(protobuf->metadata.continue_token, "c");
  EXPECT_EQ(protobuf->metadata.remaining_item_count, 5);
  EXPECT_EQ(json->items, protobuf->items);
}

TEST(ProtobufReading, AStatus) {
  const Json status = {{"apiVersion", "v1"},
                       {"kind", "Status"},
                       {"metadata", Json::object()},
                       {"status", "Failure"},
                       {"message", "too old"},
                       {"reason", "Expired"},
                       {"code", 410},
                       {"details", {{"retryAfterSeconds", 3}, {"causes", {{{"reason", "r"}, {"field", "f"}}}}}}};
  const auto text = api::protobuf_status(*encode_protobuf_answer(status));
  ASSERT_TRUE(text);
  Json read = Json::parse(*text);
  const ObjectType* type = find_message_type("v1", "Status");
  EXPECT_EQ(decode_object(type, read).error, "");
  EXPECT_EQ(read, status);
}

}  // namespace dra::apiserver::protobuf_reading_test
