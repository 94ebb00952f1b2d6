// Whatever a newer server adds to a slice, claim, class or PodGroup is found, wherever it is, in the smallest unit that
// is safe; what it adds to metadata and status is not.
#include "pkg/api/unknown_fields.h"

#include <gtest/gtest.h>

#include "pkg/api/decode/decode.h"
#include "pkg/api/scheduling.h"
#include "test/support/schema_places.h"

namespace dra::api::unknown_fields_test {

using test::json;
using test::Place;

namespace {

enum class Found { kNothing, kDevice, kWhole };

Found found_in(const Rare<UnknownFields>& unknown) {
  if (!unknown) return Found::kNothing;
  EXPECT_EQ(unknown->fields.size(), 1u);
  return unknown->devices.empty() ? Found::kWhole : Found::kDevice;
}

template <class T>
T read(const json& object) {
  Result<T> one = decode<T>(object.dump());
  EXPECT_TRUE(one) << one.error().message() << "\n" << object.dump(1);
  return one ? std::move(*one) : T{};
}

struct Report {
  Found found = Found::kNothing;
  std::string field;
};

Report of(const Rare<UnknownFields>& unknown) {
  return {found_in(unknown), unknown ? unknown->fields[0].field : ""};
}

Report read_kind(const std::string& kind, const json& object) {
  if (kind == "ResourceSlice") return of(read<ResourceSlice>(object).unknown);
  if (kind == "DeviceClass") return of(read<DeviceClass>(object).unknown);
  if (kind == "PodGroup") return of(read<PodGroup>(object).unknown);
  const ResourceClaim claim = read<ResourceClaim>(object);
  if (claim.status.allocation && claim.status.allocation->unknown) {
    EXPECT_FALSE(claim.spec.unknown);
    return of(claim.status.allocation->unknown);
  }
  return of(claim.spec.unknown);
}

bool is_under(const std::string& place, const std::string& root) {
  return place == root || place.starts_with(root + ".");
}

// Written down a second time, by eye.
Found expected(const std::string& place) {
  if (is_under(place, "metadata")) return Found::kNothing;
  if (is_under(place, "status")) return is_under(place, "status.allocation") ? Found::kWhole : Found::kNothing;
  for (const std::string body : {"spec.devices", "spec.devices.basic"}) {
    if (is_under(place, body + ".consumesCounters") || is_under(place, body + ".nodeSelector")) return Found::kWhole;
  }
  return Found::kDevice;  // of slices; whole for the other kinds
}

struct Kind {
  const char* package;
  const char* kind;
  const char* plural;
};

json full(const Kind& kind, const api::schema::ObjectType& type) {
  json object = test::full_object(type);
  if (std::string(kind.kind) == "ResourceSlice") {
    for (json& device : object["spec"]["devices"]) {
      for (const char* refused : {"nodeAllocatableResourceMappings", "nodeAllocatableResources"}) {
        device.erase(refused);
        if (device.contains("basic")) device["basic"].erase(refused);
      }
    }
  }
  object["apiVersion"] = std::string("resource.k8s.io/") + (kind.package + sizeof("resource"));
  object["kind"] = kind.kind;
  return object;
}

}  // namespace

TEST(UnknownFields, AreFoundAtEveryPlaceOfTheSchema) {
  size_t places = 0;
  for (const Kind kind : {Kind{"resource/v1", "ResourceSlice", "resourceslices"},
                          Kind{"resource/v1beta1", "ResourceSlice", "resourceslices"},
                          Kind{"resource/v1beta2", "ResourceSlice", "resourceslices"},
                          Kind{"resource/v1", "ResourceClaim", "resourceclaims"},
                          Kind{"resource/v1beta1", "ResourceClaim", "resourceclaims"},
                          Kind{"resource/v1beta2", "ResourceClaim", "resourceclaims"},
                          Kind{"resource/v1", "DeviceClass", "deviceclasses"}}) {
    const schema::ObjectType& type = *test::all_schemas().find(kind.package, kind.kind);
    const json object = full(kind, type);
    EXPECT_EQ(read_kind(kind.kind, object).found, Found::kNothing) << object.dump(1);
    test::each_place(object, type, Place{}, [&](const Place& place) {
      if (place.type->package == "meta/v1" && !place.place.starts_with("metadata")) return;
      const bool slice = std::string(kind.kind) == "ResourceSlice";
      Found wanted = expected(place.place);
      if (wanted == Found::kDevice && !(slice && is_under(place.place, "spec.devices"))) wanted = Found::kWhole;
      for (const json& value : {json("x"), json(1), json(true), json::object(), json(json::array({1}))}) {
        json changed = object;
        changed[place.at]["newField"] = value;
        const Report report = read_kind(kind.kind, changed);
        EXPECT_EQ(report.found, wanted) << kind.package << " " << kind.kind << " " << place.place << " "
                                        << value.dump();
        std::string field = std::string(kind.plural) + (place.place.empty() ? "" : "." + place.place) + ".newField";
        if (const size_t basic = field.find(".basic"); basic != std::string::npos) field.erase(basic, 6);
        EXPECT_EQ(report.field, wanted == Found::kNothing ? "" : field);
        ++places;
      }
      for (const json& nothing : {json(nullptr), json(json::array())}) {
        json changed = object;
        changed[place.at]["newField"] = nothing;
        EXPECT_EQ(read_kind(kind.kind, changed).found, Found::kNothing) << place.place;
      }
    });
  }
  EXPECT_GT(places, 500u);
}

TEST(UnknownFields, OfPodGroups) {
  const json known = json::parse(R"({"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup",
      "metadata": {"name": "g", "newField": 1}, "status": {"newField": 1},
      "spec": {"podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}},
               "schedulingPolicy": {"gang": {"minCount": 2}}, "schedulingConstraints": {"topology": [{"key": "rack"}]},
               "disruptionMode": "Pod", "priorityClassName": "high", "priority": 7, "resourceClaims": []}})");
  EXPECT_EQ(read_kind("PodGroup", known).found, Found::kNothing);
  for (const char* place : {"", "/spec", "/spec/schedulingPolicy", "/spec/schedulingPolicy/gang",
                            "/spec/schedulingConstraints", "/spec/schedulingConstraints/topology/0"}) {
    json changed = known;
    changed[json::json_pointer(place)]["newField"] = "x";
    EXPECT_EQ(read_kind("PodGroup", changed).found, Found::kWhole) << place;
  }
  // A member of the policy's union that is not known, and fields that are known and not supported.
  json changed = known;
  changed["spec"]["schedulingPolicy"] = {{"spread", {{"by", "rack"}}}};
  EXPECT_EQ(read_kind("PodGroup", changed).field, "podgroups.spec.schedulingPolicy.spread");
  changed = known;
  changed["spec"]["resourceClaims"] = {{{"name", "c"}, {"resourceClaimName", "shared"}}};
  EXPECT_EQ(read_kind("PodGroup", changed).field, "");
  changed["spec"]["resourceClaims"][0]["newField"] = 1;
  EXPECT_EQ(read_kind("PodGroup", changed).field, "podgroups.spec.resourceClaims.newField");
  changed = known;
  changed["spec"]["schedulingConstraints"]["topology"].push_back({{"key", "row"}});
  EXPECT_EQ(read_kind("PodGroup", changed).field, "podgroups.spec.schedulingConstraints.topology");
  EXPECT_EQ(read<PodGroup>(changed).unknown->fields[0].why, UnknownField::Why::kNotSupported);
  const json plugins = json::parse(R"({"metadata": {"name": "g"},
      "spec": {"minMember": 3, "scheduleTimeoutSeconds": 9, "minResources": {"cpu": "4"}}})");
  EXPECT_EQ(read_kind("PodGroup", plugins).found, Found::kNothing);
}

TEST(UnknownFields, ValuesOfEnumerations) {
  const schema::ObjectType& claim_type = *test::all_schemas().find("resource/v1", "ResourceClaim");
  const json claim = test::full_object(claim_type);
  size_t enumerations = 0;
  test::each_place(claim, claim_type, Place{}, [&](const Place& place) {
    for (const char* name : {"allocationMode", "operator", "effect", "source"}) {
      if (!claim[place.at].contains(name)) continue;
      json changed = claim;
      changed[place.at][name] = "Newer";
      EXPECT_EQ(read_kind("ResourceClaim", changed).field, "resourceclaims." + place.place + "." + name + "=Newer");
      ++enumerations;
      changed[place.at][name] = "";
      EXPECT_EQ(read_kind("ResourceClaim", changed).found, Found::kNothing) << place.place << name;
    }
  });
  EXPECT_EQ(enumerations, 11u);

  json slice = json::parse(R"({"metadata": {"name": "s"}, "spec": {"driver": "d", "pool": {"name": "p"},
      "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Near"}]}]},
      "devices": [{"name": "x", "taints": [{"key": "k", "effect": "Newer"}]}]}})");
  const Rare<UnknownFields> unknown = read<ResourceSlice>(slice).unknown;
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->fields[0].field,
            "resourceslices.spec.nodeSelector.nodeSelectorTerms.matchExpressions.operator=Near");
  EXPECT_EQ(unknown->fields[0].path, "spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].operator");
  EXPECT_TRUE(unknown->devices.empty());
  // The API: consumers must treat unknown effects of taints like None.
  EXPECT_EQ(unknown->fields.size(), 1u);
}

TEST(UnknownFields, OfDevicesNameEachDevice) {
  json slice =
      json::parse(R"({"metadata": {"name": "s"}, "spec": {"driver": "d", "pool": {"name": "p"}, "nodeName": "n",
      "devices": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}})");
  slice["spec"]["devices"][0]["nodeAllocatableResourceMappings"] = {{"cpu", {{"allocationMultiplier", "3"}}}};
  slice["spec"]["devices"][2]["attributes"]["k"] = {{"quantity", "3"}};
  slice["spec"]["devices"][2]["nodeAllocatableResourceMappings"] = {{"cpu", {{"allocationMultiplier", "3"}}}};
  const Rare<UnknownFields> unknown = read<ResourceSlice>(slice).unknown;
  ASSERT_TRUE(unknown);
  ASSERT_EQ(unknown->fields.size(), 2u);
  EXPECT_EQ(unknown->fields[0].path, "spec.devices[0].nodeAllocatableResourceMappings");
  EXPECT_EQ(unknown->fields[1].path, "spec.devices[2].attributes[k].quantity");
  const std::vector<UnknownFields::OfDevice> devices = {{0, 0}, {2, 1}, {2, 0}};
  EXPECT_EQ(unknown->devices, devices);
  slice["spec"]["devices"][0]["nodeAllocatableResourceMappings"] = json::object();
  EXPECT_EQ(read<ResourceSlice>(slice).unknown->devices.size(), 2u);
}

TEST(UnknownFields, OfTemplatesHaveThePlacesOfTheirClaims) {
  const auto made = read<ResourceClaimTemplate>(json::parse(R"({"metadata": {"name": "t"}, "spec": {"newField": 1,
      "metadata": {"newField": 1}, "spec": {"devices": {"requests": [{"name": "r", "newField": 1}]}}}})"));
  ASSERT_TRUE(made.spec.unknown);
  ASSERT_EQ(made.spec.unknown->fields.size(), 1u);
  EXPECT_EQ(made.spec.unknown->fields[0].field, "resourceclaims.spec.devices.requests.newField");
  EXPECT_EQ(made.spec.unknown->fields[0].path, "spec.devices.requests[0].newField");
}

TEST(UnknownFields, RecordsAreBounded) {
  json slice =
      json::parse(R"({"metadata": {"name": "s"}, "spec": {"driver": "d", "pool": {"name": "p"}, "devices": []}})");
  for (int i = 0; i < 300; ++i)
    slice["spec"]["devices"].push_back(
        {{"name", "d" + std::to_string(i)}, {std::string(200, 'x') + std::to_string(i), 1}});
  const Rare<UnknownFields> unknown = read<ResourceSlice>(slice).unknown;
  ASSERT_TRUE(unknown);
  // Names are cut at 64 bytes, so these are all the same.
  EXPECT_EQ(unknown->fields.size(), 1u);
  EXPECT_EQ(unknown->devices.size(), 300u);
  slice["spec"]["devices"] = json::array({{{"name", "d"}}});
  for (int i = 0; i < 100; ++i) slice["spec"]["devices"][0]["new" + std::to_string(i)] = 1;
  const Rare<UnknownFields> many = read<ResourceSlice>(slice).unknown;
  ASSERT_TRUE(many);
  EXPECT_EQ(many->fields.size(), UnknownFields::kMost);
  EXPECT_TRUE(many->more);
  IgnoredFields all;
  for (const UnknownField& field : many->fields) all.push_back(field.field);
  EXPECT_NE(refusing_field(many, all), nullptr) << "the others cannot be listed";
}

// Those that were not recorded may be in the allocation.
TEST(UnknownFields, OfAClaimWithManyTheAllocationIsRefusedToo) {
  json claim = json::parse(R"({"metadata": {"name": "c"}, "spec": {},
      "status": {"allocation": {"devices": {"results": []}, "newer": 1}}})");
  for (size_t i = 0; i <= UnknownFields::kMost; ++i) claim["spec"]["newer" + std::to_string(i)] = 1;
  const ResourceClaim found = read<ResourceClaim>(claim);
  ASSERT_TRUE(found.spec.unknown && found.status.allocation && found.status.allocation->unknown);
  EXPECT_TRUE(found.spec.unknown->more && found.status.allocation->unknown->more);
  EXPECT_NE(refusing_field(found.status.allocation->unknown, {}), nullptr);
}

TEST(UnknownFields, AnAdministratorListsThem) {
  IgnoredFields ignored;
  EXPECT_EQ(read_ignored_fields("", ignored), "");
  EXPECT_EQ(read_ignored_fields(" resourceslices.spec.devices.a ,deviceclasses.spec.b", ignored), "");
  EXPECT_EQ(ignored, (IgnoredFields{"resourceslices.spec.devices.a", "deviceclasses.spec.b"}));
  for (const char* wrong : {"spec.devices.a", "resourceslices", "resourceslices.spec.", "pods.spec.a", "on", "a,,b"})
    EXPECT_NE(read_ignored_fields(wrong, ignored).find("is not the place of a field"), std::string::npos) << wrong;
  const UnknownField field{"resourceslices.spec.a", "spec.a", UnknownField::Why::kName};
  EXPECT_EQ(why_refused(field),
            "field spec.a is not known to this version: upgrade the manager or, if that is safe, ignore it by "
            "--ignore-unknown-fields=resourceslices.spec.a");
  Rare<UnknownFields> unknown = UnknownFields{.fields = {field}};
  EXPECT_EQ(refusing_field(unknown, {}), &unknown->fields[0]);
  EXPECT_EQ(refusing_field(unknown, {"resourceslices.spec.a"}), nullptr);
}

}  // namespace dra::api::unknown_fields_test
