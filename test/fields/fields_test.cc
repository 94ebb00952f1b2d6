// The schema tables (pkg/api/schema) against the code that has a list of fields of its own: decoding, encoding, what a
// snapshot keeps, and the Go structs in the embedded server's messages. A field that one of them leaves out fails here,
// unless a list of this file has it, with the reason. So whoever adds a field to a table learns what else needs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "pkg/api/decode/decode.h"
#include "pkg/api/encode.h"
#include "pkg/api/scheduling.h"
#include "pkg/apiserver/codec/protobuf_answer.h"
#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/validation/go_render.h"
#include "pkg/base/strings.h"
#include "pkg/inspect/source/prune.h"
#include "pkg/inspect/source/redact.h"
#include "pkg/inspect/state/objects.h"
#include "test/support/schema_places.h"

namespace dra::fields_test {
namespace {

using api::schema::ObjectType;
using test::json;

// Place ("spec.devices.name", without indices and keys) to reason. A list also covers what is below its places.
using Reasons = std::map<std::string, std::string, std::less<>>;

const std::string kServers = "the server's own: nothing here reads it";
const std::string kConsumers = "for the consumer of the device, nothing here reads it";

const Reasons kMetadata = {
    {"metadata.generateName", kServers},
    {"metadata.labels", "read of pods, nodes and taint rules only"},
    {"metadata.managedFields.fieldsV1", "only whether status.nominatedNodeName is among them"},
    {"metadata.selfLink", "never set since 1.20"},
    {"metadata.deletionGracePeriodSeconds", kServers},
    {"metadata.ownerReferences.blockOwnerDeletion", kServers},
    {"metadata.managedFields.apiVersion", kServers},
    {"metadata.managedFields.fieldsType", kServers},
    {"metadata.managedFields.time", kServers},
};

const Reasons kMetadataNotEncoded = {{"metadata.managedFields", kServers}};

// One served version of a kind, as the code sees it.
struct Kind {
  std::string version;
  std::string name;
  std::string plural;
  // Equal for objects that decode to the same.
  bool (*same)(const json& a, const json& b);
  // Decodes and encodes; null: nothing encodes this kind.
  json (*recoded)(const json& object);
  Reasons not_decoded;
  Reasons not_encoded;
};

template <class T>
T read(const json& object) {
  Result<T> one = api::decode<T>(object.dump());
  EXPECT_TRUE(one) << one.error().message() << "\n" << object.dump(1);
  return one ? std::move(*one) : T{};
}

template <class T>
bool same(const json& a, const json& b) {
  return read<T>(a) == read<T>(b);
}

bool same_class(const json& a, const json& b) {
  const auto x = read<api::DeviceClass>(a), y = read<api::DeviceClass>(b);
  return x.metadata == y.metadata && x.selectors == y.selectors && x.config == y.config &&
         x.extended_resource_name == y.extended_resource_name;
}

// Without spec_json, which has the bytes of every field.
bool same_template(const json& a, const json& b) {
  const auto x = read<api::ResourceClaimTemplate>(a), y = read<api::ResourceClaimTemplate>(b);
  return x.metadata == y.metadata && x.claim_labels == y.claim_labels && x.claim_annotations == y.claim_annotations &&
         x.spec == y.spec;
}

bool same_rule(const json& a, const json& b) {
  const auto x = read<api::DeviceTaintRule>(a), y = read<api::DeviceTaintRule>(b);
  return x.metadata == y.metadata && x.has_selector == y.has_selector && x.driver == y.driver && x.pool == y.pool &&
         x.device == y.device && x.taint == y.taint && x.conditions == y.conditions;
}

template <class T>
json recoded(const json& object) {
  return json::parse(api::encode(read<T>(object)));
}

const ObjectType& type_of(const Kind& kind) {
  // As the newest release has it.
  const ObjectType* newest =
      api::schema::find_message_type(test::all_schemas(), "resource.k8s.io/" + kind.version, kind.name);
  return newest != nullptr ? *newest : *apiserver::find_message_type("resource.k8s.io/" + kind.version, kind.name);
}

// Devices with one attribute of each type: an attribute with two values is unusable.
void spread_attributes(json& value) {
  if (value.is_object() && value.contains("attributes")) {
    json attributes = json::object();
    for (const auto& [type, one] : value["attributes"]["key"].items()) attributes[type] = {{type, one}};
    value["attributes"] = attributes;
  }
  if (value.is_structured())
    for (json& part : value) spread_attributes(part);
}

json full(const Kind& kind) {
  json object = test::full_object(type_of(kind));
  spread_attributes(object);
  object["metadata"]["annotations"] = {{"dra-controller-manager/proven", "text"}};  // those of others are not kept
  object["apiVersion"] = "resource.k8s.io/" + kind.version;
  object["kind"] = kind.name;
  return object;
}

// The entry for the place or for one that it is below.
const std::string* reason_for(const Reasons& reasons, const std::string& place) {
  for (const auto& [at, reason] : reasons)
    if (place == at || place.starts_with(at + ".")) return &reason;
  return nullptr;
}

struct Member {
  json::json_pointer at;
  std::string place;
};

std::vector<Member> members_of(const json& object, const ObjectType& type) {
  std::vector<Member> members;
  test::each_place(object, type, {}, [&](const test::Place& here) {
    for (const auto& [name, value] : object.at(here.at).items())
      if (here.type->find(name) != nullptr)
        members.push_back({here.at / name, here.place + (here.place.empty() ? "" : ".") + name});
  });
  return members;
}

json without(json object, const json::json_pointer& at) {
  object.at(at.parent_pointer()).erase(at.back());
  return object;
}

const Reasons kSliceNotDecoded = {
    {"spec.devices.nodeAllocatableResourceMappings",
     "a device with it is refused by everybody who does not count it: NodeTakes"},
    {"spec.devices.basic.nodeAllocatableResourceMappings", "the same in v1beta1"},
    {"spec.devices.nodeAllocatableResources", "the form of 1.37, not supported either"},
    {"spec.devices.basic.nodeAllocatableResources", "the same in v1beta1"},
};
const Reasons kTemplateNotDecoded = [] {
  Reasons reasons;
  for (const char* field :
       {"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName",
        "generation", "managedFields", "name", "namespace", "ownerReferences", "resourceVersion", "selfLink", "uid"})
    reasons[std::string("spec.metadata.") + field] = "the API copies labels and annotations only";
  return reasons;
}();
const Reasons kClaimNotDecoded = {
    {"status.devices.data", kConsumers},
    {"status.devices.networkData", kConsumers},
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> out;
    for (const char* version : {"v1", "v1beta2", "v1beta1"}) {
      const bool encoded = std::string(version) == "v1";
      out.push_back({version,
                     "ResourceSlice",
                     "resourceslices",
                     same<api::ResourceSlice>,
                     encoded ? recoded<api::ResourceSlice> : nullptr,
                     kSliceNotDecoded,
                     {}});
      out.push_back({version,
                     "ResourceClaim",
                     "resourceclaims",
                     same<api::ResourceClaim>,
                     encoded ? recoded<api::ResourceClaim> : nullptr,
                     kClaimNotDecoded,
                     {}});
      out.push_back(
          {version, "DeviceClass", "deviceclasses", same_class, encoded ? recoded<api::DeviceClass> : nullptr, {}, {}});
      out.push_back({version,
                     "ResourceClaimTemplate",
                     "resourceclaimtemplates",
                     same_template,
                     nullptr,
                     kTemplateNotDecoded,
                     {}});
    }
    out.push_back({"v1beta2",
                   "DeviceTaintRule",
                   "devicetaintrules",
                   same_rule,
                   recoded<api::DeviceTaintRule>,
                   {},
                   {{"status", "the manager patches it"}}});
    return out;
  }();
  return all;
}

}  // namespace

TEST(Fields, AreDecodedOrListed) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.version + " " + kind.name);
    json object = full(kind);
    std::set<std::string> used;
    for (const Member& member : members_of(object, type_of(kind))) {
      for (const Reasons* reasons : {&kMetadata, &kind.not_decoded})
        if (reason_for(*reasons, member.place)) used.insert(member.place);
      if (used.contains(member.place)) continue;
      EXPECT_FALSE(kind.same(object, without(object, member.at))) << member.place << " changes nothing that is decoded";
    }
    for (const auto& [place, reason] : kind.not_decoded)
      EXPECT_TRUE(used.contains(place) || place.find(".basic.") != std::string::npos ||
                  kind.version == std::string("v1beta1"))
          << place << " is listed and no field";
  }
}

TEST(Fields, AreEncodedOrListed) {
  for (const Kind& kind : kinds()) {
    if (kind.recoded == nullptr) continue;
    SCOPED_TRACE(kind.version + " " + kind.name);
    const json object = full(kind), written = kind.recoded(object);
    for (const Member& member : members_of(object, type_of(kind))) {
      if (reason_for(kMetadata, member.place) || reason_for(kind.not_decoded, member.place)) continue;
      if (reason_for(kind.not_encoded, member.place) || reason_for(kMetadataNotEncoded, member.place)) {
        EXPECT_FALSE(written.contains(member.at)) << member.place << " is encoded: off the list";
        continue;
      }
      EXPECT_TRUE(written.contains(member.at)) << member.place << " is not encoded";
      if (written.contains(member.at) && !object.at(member.at).is_structured()) {
        EXPECT_EQ(written.at(member.at), object.at(member.at)) << member.place;
      }
    }
  }
}

// A snapshot keeps what decisions read: all of these kinds, and of a pod all that is decoded.
TEST(Fields, SurviveASnapshot) {
  for (const Kind& kind : kinds()) {
    const json object = full(kind);
    json kept = object;
    inspect::prune(kind.plural, kept);
    for (const char* part : {"apiVersion", "kind", "spec", "status"})
      EXPECT_EQ(kept.value(part, json()), object.value(part, json())) << kind.name << " " << part;
  }
  const std::string resized = "read of a pod that was resized, or that reports the health of devices";
  const std::string evicted = "read by pkg/inspect/state/evictions.h, which asks who would have to go or to move";
  const Reasons kReadInPart = {{"spec.preemptionPolicy", evicted},        {"status.startTime", evicted},
                               {"status.allocatedResources", resized},    {"status.containerStatuses", resized},
                               {"status.initContainerStatuses", resized}, {"status.resources", resized}};
  json pod = test::full_object(*test::all_schemas().find("core/v1", "Pod"));
  json kept = pod;
  inspect::prune("pods", kept);
  for (json* one : {&pod, &kept}) (*one)["metadata"] = {{"name", "p"}, {"namespace", "n"}};
  EXPECT_LT(kept.dump().size(), pod.dump().size());
  const auto before = read<api::Pod>(pod);
  EXPECT_EQ(before, read<api::Pod>(kept));
  // The comparison sees each part of the spec and the status that a snapshot keeps.
  for (const char* part : {"spec", "status"})
    for (const auto& [name, value] : kept[part].items()) {
      if (kReadInPart.contains(std::string(part) + "." + name)) continue;
      const json less = without(kept, json::json_pointer("/" + std::string(part)) / name);
      EXPECT_FALSE(before == read<api::Pod>(less)) << part << "." << name << " is kept and nothing reads it";
    }
}

namespace {

constexpr const char* kMark = "marked-word";

// Every text and every key of a map that a user could have chosen has the mark, without those of the lists that are
// checked for another form (amounts, times).
void mark_all(json& value, const api::schema::ValueType& type);

void mark_object(json& value, const ObjectType& type) {
  for (auto& [name, one] : value.items()) mark_all(one, type.find(name)->value);
}

void mark_all(json& value, const api::schema::ValueType& type) {
  using api::schema::FieldType;
  switch (type.type) {
    case FieldType::kString:
    case FieldType::kRaw:
    case FieldType::kFields:
    case FieldType::kBytes:
    case FieldType::kIntOrString:
      value = kMark;
      return;
    case FieldType::kObject:
      return mark_object(value, *type.object);
    case FieldType::kList:
      for (json& one : value) mark_all(one, *type.element);
      return;
    case FieldType::kMap: {
      json one = *value.begin();
      mark_all(one, *type.element);
      value = {{kMark, one}};
      return;
    }
    default:
      return;
  }
}

// Where the mark stays: "spec.devices.name", and "spec.devices.attributes (key)".
void find_marks(const json& value, const std::string& place, std::set<std::string>& found) {
  if (value.is_string() && value.get_ref<const std::string&>().find(kMark) != std::string::npos) found.insert(place);
  if (value.is_array())
    for (const json& one : value) find_marks(one, place, found);
  if (!value.is_object()) return;
  for (const auto& [name, one] : value.items()) {
    const bool marked = name.find(kMark) != std::string::npos;
    if (marked) found.insert(place + " (key)");
    find_marks(one, marked ? place : place + (place.empty() ? "" : ".") + name, found);
  }
}

std::string redacted_marks(const std::string& plural, const ObjectType& type, inspect::Redaction redaction) {
  json object = test::full_object(type);
  mark_object(object, type);
  inspect::prune(plural, object);
  // An annotation that prune() keeps, and a field that no table has.
  object["metadata"]["annotations"] = {{"resource.k8s.io/marked-word", kMark}, {"dra-controller-manager/other", kMark}};
  object["spec"]["newField"] = {{kMark, kMark}};
  inspect::Redactor redactor(redaction);
  redactor.learn(plural, object);
  redactor.settle();
  redactor.apply(plural, object);
  std::set<std::string> found;
  find_marks(object, "", found);
  return join({found.begin(), found.end()}, "\n");
}

// The last parts of the places where a text of a redacted snapshot stays: what docs/kubectl-dra.md lists (drivers,
// classes, resources, devices, attributes, capacities, counters and their groups, selectors), and nothing else.
bool is_listed(const std::string& place) {
  static const std::vector<std::string> kListed{".driver",
                                                ".deviceClassName",
                                                ".device",
                                                ".attributes (key)",
                                                ".capacity (key)",
                                                ".counterSet",
                                                ".counters (key)",
                                                ".expression",
                                                ".matchAttribute",
                                                ".distinctAttribute",
                                                ".string",
                                                ".strings",
                                                ".capacityKey",
                                                ".resourceName",
                                                ".extendedResourceName",
                                                ".requests (key)",
                                                ".limits (key)",
                                                ".overhead (key)",
                                                ".allocatable (key)",
                                                ".allocatedResources (key)",
                                                ".consumedCapacity (key)",
                                                ".nodeAllocatableResourceMappings (key)",
                                                ".nodeAllocatableResources (key)",
                                                ".nodeAllocatableResourceClaimStatuses.resources (key)",
                                                ".compatibilityGroups",
                                                ".partitionTypeAttribute",
                                                ".derivedAttributes.name",
                                                "spec.devices.name",
                                                "spec.sharedCounters.name",
                                                ".allocatedResourcesStatus.name"};
  return std::any_of(kListed.begin(), kListed.end(), [&](const std::string& one) { return place.ends_with(one); });
}

}  // namespace

// No name, label, annotation, host, address or message of a user's is in a redacted snapshot, whatever field it is in.
TEST(Fields, LoseTheWordsOfUsersByRedaction) {
  std::vector<std::pair<std::string, const ObjectType*>> all;
  for (const auto& [plural, name] :
       std::map<std::string, std::string>{{"namespaces", "Namespace"}, {"nodes", "Node"}, {"pods", "Pod"}})
    all.emplace_back(plural, test::all_schemas().find("core/v1", name));
  for (const Kind& kind : kinds()) all.emplace_back(kind.plural, &type_of(kind));
  all.emplace_back("resourcequotas", apiserver::find_message_type("v1", "ResourceQuota"));
  for (const char* plural : {"podgroups", "podgroups.scheduling.x-k8s.io"})
    all.emplace_back(plural, apiserver::find_message_type("scheduling.k8s.io/v1alpha2", "PodGroup"));
  for (const auto& [plural, type] : all) {
    SCOPED_TRACE(plural);
    ASSERT_NE(type, nullptr);
    EXPECT_NE(inspect::redacted_type(plural), nullptr);
    for (const std::string& place : split(redacted_marks(plural, *type, inspect::Redaction::kNames), '\n')) {
      const bool of_class = plural == "deviceclasses" && place == "metadata.name";
      EXPECT_TRUE(place.empty() || is_listed(place) || of_class) << place << " keeps a user's text";
    }
    EXPECT_EQ(redacted_marks(plural, *type, inspect::Redaction::kStrict), "");
  }
}

// Each kind that a snapshot has can be redacted, or is left out of a redacted one.
TEST(Fields, EveryKindOfASnapshotHasRules) {
  for (const inspect::KindToRead& kind : inspect::kinds_to_read())
    EXPECT_EQ(inspect::redacted_type(kind.plural) == nullptr, kind.needed_for == inspect::KindToRead::For::kStorage)
        << kind.plural;
  for (const inspect::GroupsToRead& groups : inspect::groups_to_read())
    EXPECT_NE(inspect::redacted_type(groups.name), nullptr) << groups.name;
}

// The structs of the embedded server's release in messages such as "spec: Invalid value: {"Devices":...}" have every
// field, under the name of its JSON.
TEST(Fields, AreRendered) {
  for (const char* name :
       {"ResourceClaimSpec", "DeviceClaim", "DeviceRequest", "ExactDeviceRequest", "DeviceSubRequest", "DeviceSelector",
        "CELDeviceSelector", "DeviceToleration", "CapacityRequirements", "DeviceConstraint", "DeviceClaimConfiguration",
        "AllocationResult", "DeviceAllocationResult", "DeviceAllocationConfiguration", "DeviceRequestAllocationResult",
        "DeviceAttribute"}) {
    const ObjectType* type = apiserver::builtin_schemas().find("resource/v1", name);
    ASSERT_NE(type, nullptr) << name;
    const json rendered = json::parse(apiserver::render_go(name, test::full_object(*type)));
    EXPECT_EQ(rendered.size(), type->visible.size()) << name << ": " << rendered.dump();
    for (const auto& [field, value] : rendered.items())
      EXPECT_FALSE(value.is_null() || value == "" || value == 0) << name << "." << field << " has another name in JSON";
  }
}

// Decoding has a table of its own for PodGroups, whose versions differ: it knows every field that the embedded server
// has.
TEST(Fields, OfPodGroupsAreKnown) {
  const ObjectType* type = apiserver::find_message_type("scheduling.k8s.io/v1alpha2", "PodGroup");
  ASSERT_NE(type, nullptr);
  json object = test::full_object(*type);
  const auto named_unknown = [](const json& group) {
    std::vector<std::string> names;
    if (const auto unknown = read<api::PodGroup>(group).unknown)
      for (const api::UnknownField& field : unknown->fields)
        if (field.why == api::UnknownField::Why::kName) names.push_back(field.field);
    return names;
  };
  EXPECT_EQ(named_unknown(object), std::vector<std::string>{});
  object["spec"]["newField"] = 1;
  EXPECT_EQ(named_unknown(object).size(), 1u);
}

}  // namespace dra::fields_test
