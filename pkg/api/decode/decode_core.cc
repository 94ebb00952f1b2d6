// decode<T>() for the kinds of core.h except Pod, and for the parts of meta.h.
#include "pkg/api/decode/decode_entry.h"
#include "pkg/base/strings.h"

namespace dra::api {
namespace detail {

std::string item_key(const WireValue& item) {
  WireValue metadata, value;
  std::string_view name, ns;
  if (!item.find("metadata", metadata) || !metadata.find("name", value) || !value.get(name) || name.empty()) return {};
  if (!metadata.find("namespace", value) || !value.get(ns) || ns.empty()) return std::string(name);
  return std::string(ns) + "/" + std::string(name);
}

bool read_list_meta_fields(const WireValue& v, ListMeta& out, Trouble& trouble) {
  return field(v, "resourceVersion", out.resource_version, trouble) &&
         field(v, "continue", out.continue_token, trouble) &&
         field(v, "remainingItemCount", out.remaining_item_count, trouble);
}

bool read_list_meta(const WireValue& list, ListMeta& out, Trouble& trouble) {
  return section(list, "metadata", trouble, [&](const WireValue& v) { return read_list_meta_fields(v, out, trouble); });
}

namespace {

bool read_images(const WireValue& list, std::vector<NodeImage>& out, Trouble& t) {
  if (list.kind() != WireValue::Kind::kArray) return t.wrong_type(list, "an array");
  size_t index = 0;
  return list.each_element([&](const WireValue& image) {
    int64_t size = 0;
    std::vector<std::string> names;
    if (!image.is_null() && (!field(image, "sizeBytes", size, t) || !field(image, "names", names, t)))
      return t.in_element(index);
    for (const std::string& name : names) out.push_back({image_hash(name), size});
    ++index;
    return true;
  });
}

bool read_node_taint(const WireValue& v, Taint& out, Trouble& t) {
  return expect_object(v, t) && field(v, "key", out.key, t) && field(v, "value", out.value, t) &&
         field(v, "effect", out.effect, t) && field(v, "timeAdded", out.time_added, t);
}

}  // namespace

bool read(const WireValue& v, Node& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kKept, t) &&
         section(v, "spec", t,
                 [&](const WireValue& spec) {
                   return field(spec, "unschedulable", out.unschedulable, t) &&
                          field_with(spec, "taints", t, [&](const WireValue& list) {
                            return read_list(list, out.taints, t, read_node_taint);
                          });
                 }) &&
         section(v, "status", t, [&](const WireValue& status) {
           return quantities(status, "capacity", out.capacity, t) &&
                  quantities(status, "allocatable", out.allocatable, t) &&
                  field(status, "conditions", out.conditions, t) &&
                  field_with(status, "images", t,
                             [&](const WireValue& list) { return read_images(list, out.images, t); });
         });
}

bool read(const WireValue& v, Namespace& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kKept, t) &&
         section(v, "status", t, [&](const WireValue& status) { return field(status, "phase", out.phase, t); });
}

bool read(const WireValue& v, Lease& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kKept, t) &&
         section(v, "spec", t, [&](const WireValue& spec) {
           return field(spec, "holderIdentity", out.holder_identity, t) &&
                  field(spec, "leaseDurationSeconds", out.lease_duration_seconds, t) &&
                  field(spec, "acquireTime", out.acquire_time, t) && field(spec, "renewTime", out.renew_time, t) &&
                  field(spec, "leaseTransitions", out.lease_transitions, t);
         });
}

}  // namespace detail

// FNV-1a, 64 bits.
uint64_t image_hash(std::string_view name) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

DRA_DECODE_KIND(Node)
DRA_DECODE_PROTOBUF(Node)
DRA_DECODE_KIND(Namespace)
DRA_DECODE_KIND(Lease)
DRA_DECODE_PART(ObjectMeta)
DRA_DECODE_PART(LabelSelector)
DRA_DECODE_PART(NodeSelector)
DRA_DECODE_PART(NodeSelectorTerm)

}  // namespace dra::api
