#include "pkg/api/decode/read_fields.h"

#include <algorithm>
#include <limits>

#include "pkg/api/decode/unknown_rules.h"
#include "pkg/api/resource.h"
#include "pkg/api/storage.h"
#include "pkg/base/strings.h"
#include "pkg/base/utf8.h"

namespace dra::api::detail {
namespace {

std::string_view with_article(std::string_view kind) {
  if (kind == "array") return "an array";
  if (kind == "object") return "an object";
  if (kind == "string") return "a string";
  if (kind == "number") return "a number";
  if (kind == "boolean") return "a boolean";
  return kind;
}

}  // namespace

bool Trouble::wrong_type(const WireValue& value, std::string_view expected) {
  what_ = "expected " + std::string(expected) + ", got " + std::string(with_article(value.kind_name()));
  return false;
}

bool Trouble::out_of_range(std::string_view what) {
  what_ = std::string(what) + " is out of range";
  return false;
}

bool Trouble::in_member(std::string_view name) {
  path_.push_back("." + std::string(name));
  return false;
}

bool Trouble::in_element(size_t index) {
  path_.push_back("[" + std::to_string(index) + "]");
  return false;
}

bool Trouble::in_key(std::string_view key) {
  path_.push_back("[" + std::string(key.substr(0, 128)) + "]");
  return false;
}

std::string Trouble::message() const {
  std::string path;
  for (auto part = path_.rbegin(); part != path_.rend(); ++part) path += *part;
  if (!path.empty() && path.front() == '.') path.erase(0, 1);
  return path.empty() ? what_ : path + ": " + what_;
}

bool expect_object(const WireValue& value, Trouble& trouble) {
  if (value.in_protobuf()) return value.kind() == WireValue::Kind::kObject || trouble.wrong_type(value, "an object");
  size_t members = 0;
  if (!value.is_json_object(members)) return trouble.wrong_type(value, "an object");
  trouble.object_opened(static_cast<int64_t>(members));
  return true;
}

bool read(const WireValue& value, bool& out, Trouble& trouble) {
  return value.get(out) || trouble.wrong_type(value, "a boolean");
}

bool read(const WireValue& value, int64_t& out, Trouble& trouble) {
  if (value.get(out)) return true;
  if (value.kind() != WireValue::Kind::kNumber) return trouble.wrong_type(value, "an integer");
  return trouble.out_of_range("the number " + value.raw());
}

bool read(const WireValue& value, int32_t& out, Trouble& trouble) {
  int64_t wide = 0;
  if (!read(value, wide, trouble)) return false;
  if (wide < std::numeric_limits<int32_t>::min() || wide > std::numeric_limits<int32_t>::max())
    return trouble.out_of_range("the number " + value.raw());
  out = static_cast<int32_t>(wide);
  return true;
}

bool read(const WireValue& value, std::string& out, Trouble& trouble) {
  std::string_view text;
  if (!value.get(text)) return trouble.wrong_type(value, "a string");
  out.assign(text);
  return true;
}

bool read_quantity(const WireValue& value, std::string& out, Trouble& trouble) {
  if (value.kind() == WireValue::Kind::kNumber) {
    out = value.raw();
    return true;
  }
  std::string_view text;
  if (!value.get(text)) return trouble.wrong_type(value, "a quantity");
  out.assign(text);
  return true;
}

bool read_quantity_map(const WireValue& value, StringMap& out, Trouble& trouble) {
  return read_map(value, out, trouble, read_quantity);
}

namespace {

bool read_owner(const WireValue& v, OwnerReference& out, Trouble& t) {
  return expect_object(v, t) && field(v, "apiVersion", out.api_version, t) && field(v, "kind", out.kind, t) &&
         field(v, "name", out.name, t) && field(v, "uid", out.uid, t) && field(v, "controller", out.controller, t);
}

// Only one bit of the managed fields is kept.
bool read_managed_fields(const WireValue& v, ManagedFieldsEntry& out, Trouble& t) {
  if (!expect_object(v, t) || !field(v, "manager", out.manager, t) || !field(v, "operation", out.operation, t) ||
      !field(v, "subresource", out.subresource, t))
    return false;
  WireValue fields, status, nominated;
  out.nominates_node = out.operation == "Apply" && out.subresource == "status" && v.find("fieldsV1", fields) &&
                       fields.find("f:status", status) && status.find("f:nominatedNodeName", nominated);
  return true;
}

bool read_label_requirement(const WireValue& v, LabelSelectorRequirement& out, Trouble& t) {
  return expect_object(v, t) && field(v, "key", out.key, t) && field(v, "operator", out.op, t) &&
         field(v, "values", out.values, t);
}

bool read_node_requirement(const WireValue& v, NodeSelectorRequirement& out, Trouble& t) {
  return expect_object(v, t) && field(v, "key", out.key, t) && field(v, "operator", out.op, t) &&
         field(v, "values", out.values, t) && note_if_strange(out.op, kSelectorOperators, t);
}

}  // namespace

namespace {

// The annotations that this project reads, and the longest value that is valid. An annotation that is not listed here
// is dropped when an object is decoded.
struct UsedAnnotation {
  std::string_view key;
  size_t longest;
};
constexpr UsedAnnotation kUsedAnnotations[] = {
    {kPodClaimNameAnnotation, 256},
    {kExtendedResourceClaimAnnotation, 16},
    {"dra-controller-manager/proven", 512},
    {"dra-controller-manager/proven-for", 32'768},
    {"dra-controller-manager/rails", 16'384},  // beside the mark (pkg/protocol/rail_mark.h)
    {"dra-controller-manager/allow-evictions", 32},
    {"dra-controller-manager/strategy", 64},        // on classes
    {"dra-controller-manager/usage-counter", 256},  // on classes
    {"dra-controller-manager/shared-silicon", 16},  // on classes
    {"dra-controller-manager/shares", 4097},        // on classes; a value longer than 4,096 is refused
    {"dra-controller-manager/identities", 16'384},  // on claims (pkg/inventory/noted.h)
    {"dra-controller-manager/history", 1024},       // on pods (pkg/protocol/history.h)
    {"dra-controller-manager/prefer", 513},         // on claims; a value longer than 512 is ignored
    {"dra-controller-manager/keep-devices", 16},    // on claims; a value longer than 8 is refused
    // On claims, pods and PodGroups (pkg/alignment); a value longer than 1,024 is refused.
    {"dra-controller-manager/pairs", 1025},
    {"dra-controller-manager/same-across-members", 1025},
    {"dra-controller-manager/same-across-members-preferred", 1025},
    {"dra-controller-manager/avoided-devices", 4096},
    {"dra-controller-manager/group", 32},                // on pods
    {"dra-controller-manager/parent-group", 1025},       // on pods and PodGroups; a longer name than 253 names nothing
    {"dra-controller-manager/min-groups", 32},           // on PodGroups
    {"dra-controller-manager/do-not-move", 16},          // on pods
    {"dra-controller-manager/moves-per-hour", 16},       // on pods and namespaces
    {"dra-controller-manager/preemption", 16},           // on classes
    {"dra-controller-manager/defragment", 16},           // on classes
    {"kubernetes.io/config.mirror", 64},                 // kubelet's, on mirror pods
    {"dra-controller-manager/topology-required", 320},   // on pods and PodGroups
    {"dra-controller-manager/topology-preferred", 320},  // likewise
    {"dra-controller-manager/leaving", 8192},            // an entry of 58 bytes for each of up to 64 claims
    {"dra-controller-manager/volume-binding", 320},
    // On the manager's Lease (pkg/protocol/manager_lease.h).
    {"dra-controller-manager/version", 128},
    {"dra-controller-manager/mode", 32},
    {"dra-controller-manager/opt-in", 32},
    {"dra-controller-manager/scheduler-names", 4096},
    {"dra-controller-manager/exclusive-drivers", 4096},
    {"dra-controller-manager/shared-drivers", 4096},
    {"dra-controller-manager/usage", 512},
    {"dra-controller-manager/preempts", 512},
    {"dra-controller-manager/quarantine", 4096},
    // On volumes and their claims: kube-scheduler's annotation, and those that it reads.
    {kSelectedNodeAnnotation, 256},
    {"pv.kubernetes.io/bind-completed", 16},
    {"volume.beta.kubernetes.io/storage-class", 256},
};

// Limits for our entries and for those of others: a server merges the entries of managers that update.
constexpr size_t kMaxOwnManagers = 64;
constexpr size_t kMaxManagers = 16;

bool read_annotations_in_use(const WireValue& v, StringMap& out, Trouble& t) {
  return expect_object(v, t) && v.each_member([&](std::string_view key, const WireValue& member) {
    const auto* used = std::find_if(std::begin(kUsedAnnotations), std::end(kUsedAnnotations),
                                    [key](const UsedAnnotation& annotation) { return annotation.key == key; });
    if (used == std::end(kUsedAnnotations)) return true;
    std::string value;
    if (!member.is_null() && !read(member, value, t)) return t.in_key(key);
    value.resize(std::min(value.size(), used->longest));
    out.insert_or_assign(std::string(key), std::move(value));
    return true;
  });
}

// Of the owners only the controller is kept.
bool read_controller(const WireValue& v, std::vector<OwnerReference>& out, Trouble& t) {
  if (!read_list(v, out, t, read_owner)) return false;
  std::erase_if(out, [](const OwnerReference& owner) { return !owner.controller; });
  if (out.size() > 1) out.resize(1);  // a server admits one
  out.shrink_to_fit();
  return true;
}

bool read_managers_in_use(const WireValue& v, std::vector<ManagedFieldsEntry>& out, Trouble& t) {
  if (v.kind() != WireValue::Kind::kArray) return t.wrong_type(v, "an array");
  size_t at = 0, own = 0, others = 0;
  const bool good = v.each_element([&](const WireValue& element) {
    ManagedFieldsEntry entry;
    if (!element.is_null() && !read_managed_fields(element, entry, t)) return t.in_element(at);
    ++at;
    const bool ours = std::string_view(entry.manager).starts_with("dra-controller-manager");
    if (ours ? ++own <= kMaxOwnManagers : ++others <= kMaxManagers) out.push_back(std::move(entry));
    return true;
  });
  out.shrink_to_fit();
  return good;
}

}  // namespace

bool read_metadata_in_use(const WireValue& object, ObjectMeta& out, Labels labels, Trouble& trouble) {
  return field_with(object, "metadata", trouble, [&](const WireValue& v) {
    Trouble& t = trouble;
    const Trouble::Uncounted metadata(t);
    return expect_object(v, t) && field(v, "name", out.name, t) && field(v, "namespace", out.ns, t) &&
           field(v, "uid", out.uid, t) && field(v, "resourceVersion", out.resource_version, t) &&
           field(v, "generation", out.generation, t) && field(v, "creationTimestamp", out.creation_timestamp, t) &&
           field(v, "deletionTimestamp", out.deletion_timestamp, t) &&
           (labels == Labels::kDropped || field(v, "labels", out.labels, t)) &&
           field_with(v, "annotations", t,
                      [&](const WireValue& map) { return read_annotations_in_use(map, out.annotations, t); }) &&
           field(v, "finalizers", out.finalizers, t) &&
           field_with(v, "ownerReferences", t,
                      [&](const WireValue& list) { return read_controller(list, out.owner_references, t); }) &&
           field_with(v, "managedFields", t,
                      [&](const WireValue& list) { return read_managers_in_use(list, out.managed_fields.edit(), t); });
  });
}

bool read(const WireValue& v, ObjectMeta& out, Trouble& t) {
  return expect_object(v, t) && field(v, "name", out.name, t) && field(v, "generateName", out.generate_name, t) &&
         field(v, "namespace", out.ns, t) && field(v, "uid", out.uid, t) &&
         field(v, "resourceVersion", out.resource_version, t) && field(v, "generation", out.generation, t) &&
         field(v, "creationTimestamp", out.creation_timestamp, t) &&
         field(v, "deletionTimestamp", out.deletion_timestamp, t) && field(v, "labels", out.labels, t) &&
         field(v, "annotations", out.annotations, t) && field(v, "finalizers", out.finalizers, t) &&
         field_with(v, "ownerReferences", t,
                    [&](const WireValue& list) { return read_list(list, out.owner_references, t, read_owner); }) &&
         field_with(v, "managedFields", t, [&](const WireValue& list) {
           return read_list(list, out.managed_fields.edit(), t, read_managed_fields);
         });
}

bool read(const WireValue& v, Condition& out, Trouble& t) {
  const bool readable = expect_object(v, t) && field(v, "type", out.type, t) && field(v, "status", out.status, t) &&
                        field(v, "reason", out.reason, t) && field(v, "message", out.message, t) &&
                        field(v, "lastTransitionTime", out.last_transition_time, t) &&
                        field(v, "observedGeneration", out.observed_generation, t);
  if (out.message.size() > kMaxConditionText) out.message = std::string(utf8_prefix(out.message, kMaxConditionText));
  return readable;
}

bool read(const WireValue& v, LabelSelector& out, Trouble& t) {
  return expect_object(v, t) && field(v, "matchLabels", out.match_labels, t) &&
         field_with(v, "matchExpressions", t, [&](const WireValue& list) {
           return read_list(list, out.match_expressions, t, read_label_requirement);
         });
}

bool read(const WireValue& v, NodeSelectorTerm& out, Trouble& t) {
  return expect_object(v, t) &&
         field_with(
             v, "matchExpressions", t,
             [&](const WireValue& list) { return read_list(list, out.match_expressions, t, read_node_requirement); }) &&
         field_with(v, "matchFields", t,
                    [&](const WireValue& list) { return read_list(list, out.match_fields, t, read_node_requirement); });
}

bool read(const WireValue& v, NodeSelector& out, Trouble& t) {
  return expect_object(v, t) && field(v, "nodeSelectorTerms", out.terms, t);
}

}  // namespace dra::api::detail
