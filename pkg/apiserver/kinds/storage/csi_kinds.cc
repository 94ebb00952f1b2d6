// CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment (k8s.io/kubernetes/pkg/apis/storage/validation).
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/api/quantity.h"
#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/storage/volume_kinds.h"
#include "pkg/apiserver/kinds/storage/volume_parts.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/go_render.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMaxNodeId = 256;
constexpr int64_t kMinTokenSeconds = 600;
constexpr int64_t kMaxTokenSeconds = int64_t{1} << 32;
constexpr size_t kMaxErrorMessage = 1024;

KindInfo storage_info(const std::string& kind, const std::string& plural, const std::string& singular,
                      bool namespaced = false) {
  KindInfo info = kind_info({"storage.k8s.io", "v1"}, "storage/v1", kind, plural, singular, namespaced);
  info.delete_returns_object = true;
  return info;
}

void check_topology_keys(FieldErrors& out, const FieldPath& path, const Json& keys) {
  std::set<std::string> seen;
  for (const Json& k : keys) {
    const std::string& key = as_text(k);
    if (key.empty()) out.push_back(required(path, key));
    if (!seen.insert(key).second) out.push_back(duplicate(path, key));
    add_problems(out, path, key, qualified_name_problems(key));
  }
}

FieldErrors check_csi_node(const Json& object) {
  FieldErrors out;
  std::set<std::string> names;
  size_t i = 0;
  for (const Json& driver : list_of(member(object, "spec"), "drivers")) {
    const FieldPath path = FieldPath("spec.drivers").index(i++);
    const std::string& name = text_of(driver, "name");
    const std::string& id = text_of(driver, "nodeID");
    check_csi_driver_name(out, path.child("name"), name);
    if (id.empty()) out.push_back(required(path.child("nodeID"), ""));
    if (id.size() > kMaxNodeId) out.push_back(invalid(path.child("nodeID"), id, "must be 256 characters or less"));
    const Json& count = member(member(driver, "allocatable"), "count");
    if (count.is_number_integer() && count.get<int64_t>() < 0) {
      out.push_back(invalid_value(path.child("allocatable.count"), count, "must be greater than or equal to 0"));
    }
    if (!names.insert(name).second) out.push_back(duplicate(path.child("name"), name));
    check_topology_keys(out, path, list_of(driver, "topologyKeys"));
  }
  return out;
}

FieldErrors check_csi_node_change(const Json& object, const Json& old) {
  FieldErrors out;
  for (const Json& driver : list_of(member(object, "spec"), "drivers")) {
    for (const Json& before : list_of(member(old, "spec"), "drivers")) {
      if (text_of(driver, "name") != text_of(before, "name")) continue;
      for (const char* key : {"nodeID", "topologyKeys", "allocatable"}) {
        if (semantic_equal(member(driver, key), member(before, key))) continue;
        out.push_back(invalid_raw(FieldPath("spec.drivers"), render_go("CSINodeDriver", driver), "field is immutable"));
        break;
      }
    }
  }
  return out;
}

void check_token_requests(FieldErrors& out, const Json& requests) {
  std::set<std::string> audiences;
  size_t i = 0;
  for (const Json& request : requests) {
    const FieldPath path = FieldPath("spec.tokenRequests").index(i++);
    const std::string& audience = text_of(request, "audience");
    if (!audiences.insert(audience).second) {
      out.push_back(duplicate(path.child("audience"), audience));
      continue;
    }
    if (!is_set(request, "expirationSeconds")) continue;
    const int64_t seconds = int_of(request, "expirationSeconds");
    const FieldPath at = path.child("expirationSeconds");
    if (seconds < kMinTokenSeconds) {
      out.push_back(invalid_value(at, seconds, "may not specify a duration less than 10 minutes"));
    }
    if (seconds > kMaxTokenSeconds) {
      out.push_back(invalid_value(at, seconds, "may not specify a duration larger than 2^32 seconds"));
    }
  }
}

FieldErrors check_csi_driver(const Json& object) {
  FieldErrors out;
  const Json& spec = member(object, "spec");
  const std::string& policy = text_of(spec, "fsGroupPolicy");
  if (is_set(spec, "fsGroupPolicy") && policy != "File" && policy != "None" && policy != "ReadWriteOnceWithFSType") {
    out.push_back(not_supported(FieldPath("spec.fsGroupPolicy"), policy, {"File", "None", "ReadWriteOnceWithFSType"}));
  }
  check_token_requests(out, list_of(spec, "tokenRequests"));
  for (const Json& mode : list_of(spec, "volumeLifecycleModes")) {
    if (mode == "Persistent" || mode == "Ephemeral") continue;
    out.push_back(not_supported(FieldPath("spec.volumeLifecycleModes"), as_text(mode), {"Ephemeral", "Persistent"}));
  }
  return out;
}

FieldErrors check_csi_driver_change(const Json& object, const Json& old) {
  FieldErrors out;
  check_kept(out, FieldPath("spec.attachedRequired"), member_at(object, "spec.attachRequired"),
             member_at(old, "spec.attachRequired"));
  check_kept(out, FieldPath("spec.volumeLifecycleModes"), member_at(object, "spec.volumeLifecycleModes"),
             member_at(old, "spec.volumeLifecycleModes"));
  return out;
}

void set_driver_defaults(Json& object) {
  Json& spec = object_member(object, "spec");
  set_default(spec, "attachRequired", true);
  for (const char* off : {"podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"})
    set_default(spec, off, false);
  set_default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
  if (list_of(spec, "volumeLifecycleModes").empty()) spec["volumeLifecycleModes"] = {"Persistent"};
}

FieldErrors check_storage_capacity(const Json& object) {
  FieldErrors out;
  if (is_set(object, "nodeTopology"))
    check_label_selector(out, FieldPath("nodeTopology"), member(object, "nodeTopology"));
  const std::string& name = text_of(object, "storageClassName");
  add_problems(out, FieldPath("storageClassName"), name, dns_subdomain_problems(name));
  auto amount = api::Quantity::parse(text_of(object, "capacity"));
  if (is_set(object, "capacity") && amount && amount->sign() < 0) {
    out.push_back(invalid(FieldPath("capacity"), text_of(object, "capacity"), "must be greater than or equal to 0"));
  }
  return out;
}

FieldErrors check_storage_capacity_change(const Json& object, const Json& old) {
  FieldErrors out;
  for (const char* key : {"nodeTopology", "storageClassName"})
    check_kept(out, FieldPath(key), member(object, key), member(old, key));
  return out;
}

void check_volume_error(FieldErrors& out, const FieldPath& path, const Json& error) {
  if (text_of(error, "message").size() > kMaxErrorMessage)
    out.push_back(too_long(path.child("message"), static_cast<int64_t>(kMaxErrorMessage)));
}

FieldErrors check_attachment(const Json& object) {
  FieldErrors out;
  const FieldPath path("spec");
  const Json& spec = member(object, "spec");
  const Json& source = member(spec, "source");
  const FieldPath at = path.child("source");
  check_csi_driver_name(out, path.child("attacher"), text_of(spec, "attacher"));
  constexpr const char* kOne = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  const bool by_name = is_set(source, "persistentVolumeName");
  const bool inlined = is_set(source, "inlineVolumeSpec");
  if (by_name == inlined) out.push_back(by_name ? forbidden(at, kOne) : required(at, kOne));
  const std::string& node = text_of(spec, "nodeName");
  add_problems(out, path.child("nodeName"), node, dns_subdomain_problems(node));
  for (const char* key : {"attachError", "detachError"})
    check_volume_error(out, FieldPath("status").child(key), member(member(object, "status"), key));
  if (by_name && !inlined) {
    const std::string& name = text_of(source, "persistentVolumeName");
    add_problems(out, at.child("persistentVolumeName"), name, dns_subdomain_problems(name));
  }
  return out;
}

FieldErrors check_attachment_change(const Json& object, const Json& old) {
  FieldErrors out;
  check_kept(out, FieldPath("spec"), member(object, "spec"), member(old, "spec"));
  return out;
}

Json audiences_cell(const Json& object) {
  const Json& requests = member_at(object, "spec.tokenRequests");
  if (!requests.is_array()) return "<unset>";
  std::vector<std::string> all;
  for (const Json& r : requests) all.push_back(text_of(r, "audience"));
  return join(all, ",");
}

Json modes_cell(const Json& object) {
  std::vector<std::string> all;
  for (const Json& m : list_of(member(object, "spec"), "volumeLifecycleModes")) all.push_back(as_text(m));
  return all.empty() ? "<none>" : join(all, ",");
}

}  // namespace

KindDescription csi_node_kind() {
  KindDescription d;
  d.info = storage_info("CSINode", "csinodes", "csinode");
  d.check = check_csi_node;
  d.check_change = check_csi_node_change;
  d.columns = {{{"Drivers", "integer", "", "How many CSI drivers are registered on the node.", 0},
                [](const Json& o) -> Json { return count_of(member_at(o, "spec.drivers")); }},
               described_age()};
  return d;
}

KindDescription csi_driver_kind() {
  KindDescription d;
  d.info = storage_info("CSIDriver", "csidrivers", "csidriver");
  d.defaults = set_driver_defaults;
  d.check = check_csi_driver;
  d.check_change = check_csi_driver_change;
  d.columns = {{{"AttachRequired", "boolean", "", "Whether volumes are attached before they are mounted.", 0},
                [](const Json& o) -> Json { return bool_of(member(o, "spec"), "attachRequired"); }},
               {{"PodInfoOnMount", "boolean", "", "Whether the driver is told of the pod.", 0},
                [](const Json& o) -> Json { return bool_of(member(o, "spec"), "podInfoOnMount"); }},
               {{"StorageCapacity", "boolean", "", "Whether CSIStorageCapacity objects count.", 0},
                [](const Json& o) -> Json { return bool_of(member(o, "spec"), "storageCapacity"); }},
               {{"TokenRequests", "string", "", "Audiences of the tokens that the driver gets.", 0}, audiences_cell},
               {{"RequiresRepublish", "boolean", "", "Whether volumes are published again and again.", 0},
                [](const Json& o) -> Json { return bool_of(member(o, "spec"), "requiresRepublish"); }},
               {{"Modes", "string", "", "Persistent or ephemeral volumes.", 0}, modes_cell},
               described_age()};
  return d;
}

KindDescription csi_storage_capacity_kind() {
  KindDescription d;
  d.info = storage_info("CSIStorageCapacity", "csistoragecapacities", "csistoragecapacity", true);
  d.check = check_storage_capacity;
  d.check_change = check_storage_capacity_change;
  d.columns = {{{"StorageClassName", "string", "", "The class that has this capacity.", 0},
                [](const Json& o) -> Json { return text_of(o, "storageClassName"); }},
               {{"Capacity", "string", "", "How much is free.", 0},
                [](const Json& o) -> Json { return or_unset(o, "capacity"); }}};
  return d;
}

KindDescription volume_attachment_kind() {
  KindDescription d;
  d.info = storage_info("VolumeAttachment", "volumeattachments", "volumeattachment");
  d.info.status_keeps_labels = false;
  d.info.status_keeps_finalizers = false;
  with_status(d.info);
  d.check = check_attachment;
  d.check_change = check_attachment_change;
  d.columns = {{{"Attacher", "string", "name", "The driver that attaches.", 0},
                [](const Json& o) -> Json { return text_of(member(o, "spec"), "attacher"); }},
               {{"PV", "string", "", "The volume.", 0},
                [](const Json& o) -> Json { return text_of(member_at(o, "spec.source"), "persistentVolumeName"); }},
               {{"Node", "string", "", "The node.", 0},
                [](const Json& o) -> Json { return text_of(member(o, "spec"), "nodeName"); }},
               {{"Attached", "boolean", "", "Whether the volume is attached.", 0},
                [](const Json& o) -> Json { return bool_of(member(o, "status"), "attached"); }},
               described_age()};
  return d;
}

}  // namespace dra::apiserver
