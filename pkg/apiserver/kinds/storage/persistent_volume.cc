// PersistentVolume (k8s.io/kubernetes/pkg/apis/core/validation ValidatePersistentVolume,
// k8s.io/kubernetes/pkg/registry/core/persistentvolume). Volume sources are checked only for those that are still in
// use: local, hostPath, nfs and csi.
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/described_kind.h"
#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/storage/kinds.h"
#include "pkg/apiserver/kinds/storage/volume_kinds.h"
#include "pkg/apiserver/kinds/storage/volume_parts.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/apiserver/validation/node_selector.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

namespace {

constexpr const char* kVolumeProtection = "kubernetes.io/pv-protection";
constexpr const char* kReclaimPolicy = "persistentVolumeReclaimPolicy";

// In the order in which upstream checks them.
constexpr const char* kVolumeSources[] = {"hostPath",
                                          "gcePersistentDisk",
                                          "awsElasticBlockStore",
                                          "glusterfs",
                                          "flocker",
                                          "nfs",
                                          "rbd",
                                          "quobyte",
                                          "cephfs",
                                          "iscsi",
                                          "cinder",
                                          "fc",
                                          "flexVolume",
                                          "azureFile",
                                          "vsphereVolume",
                                          "photonPersistentDisk",
                                          "portworxVolume",
                                          "azureDisk",
                                          "scaleIO",
                                          "local",
                                          "storageos",
                                          "csi"};

void check_volume_path(FieldErrors& out, const FieldPath& path, const std::string& text) {
  if (text.empty()) return out.push_back(required(path, ""));
  for (const std::string& part : split(text, '/')) {
    if (part == "..") return out.push_back(invalid(path, text, "must not contain '..'"));
  }
}

void check_volume_source(FieldErrors& out, const FieldPath& path, const Json& spec, const std::string& name) {
  const Json& source = member(spec, name);
  const FieldPath at = path.child(name);
  if (name == "hostPath" || name == "local") check_volume_path(out, at.child("path"), text_of(source, "path"));
  if (name == "local" && !is_set(spec, "nodeAffinity")) {
    out.push_back(required(path.child("nodeAffinity"), "Local volume requires node affinity"));
  }
  if (name == "nfs") {
    const std::string& where = text_of(source, "path");
    if (text_of(source, "server").empty()) out.push_back(required(at.child("server"), ""));
    if (where.empty()) out.push_back(required(at.child("path"), ""));
    if (!where.starts_with("/")) out.push_back(invalid(at.child("path"), where, "must be an absolute path"));
  }
  if (name == "csi") {
    check_csi_driver_name(out, at.child("driver"), text_of(source, "driver"));
    if (text_of(source, "volumeHandle").empty()) out.push_back(required(at.child("volumeHandle"), ""));
  }
}

void check_volume_sources(FieldErrors& out, const FieldPath& path, const Json& spec) {
  bool any = false;
  for (const char* name : kVolumeSources) {
    if (!is_set(spec, name)) continue;
    if (any)
      out.push_back(forbidden(path.child(name), "may not specify more than 1 volume type"));
    else
      check_volume_source(out, path, spec, name);
    any = true;
  }
  if (!any) out.push_back(required(path, "must specify a volume type"));
}

void check_volume_capacity(FieldErrors& out, const FieldPath& path, const Json& capacity) {
  if (capacity.empty()) out.push_back(required(path, ""));
  if (!capacity.contains("storage") || capacity.size() > 1) {
    std::string text;
    for (const auto& [name, amount] : capacity.items()) text += (text.empty() ? "" : " ") + name;
    out.push_back(not_supported(path, text, {"storage"}));
  }
  for (const auto& [name, amount] : capacity.items()) check_storage(out, path.key(name), amount);
}

FieldErrors check_volume(const Json& object) {
  FieldErrors out;
  const FieldPath path("spec");
  const Json& spec = member(object, "spec");
  if (list_of(spec, "accessModes").empty()) out.push_back(required(path.child("accessModes"), ""));
  check_access_modes(out, path.child("accessModes"), list_of(spec, "accessModes"));
  check_volume_capacity(out, path.child("capacity"), map_of(spec, "capacity"));
  const std::string& policy = text_of(spec, kReclaimPolicy);
  if (policy != "Delete" && policy != "Recycle" && policy != "Retain") {
    out.push_back(not_supported(path.child(kReclaimPolicy), policy, {"Delete", "Recycle", "Retain"}));
  }
  if (is_set(spec, "nodeAffinity")) {
    const Json& affinity = member(spec, "nodeAffinity");
    const FieldPath at = path.child("nodeAffinity").child("required");
    if (is_set(affinity, "required"))
      check_node_selector(out, at, member(affinity, "required"));
    else
      out.push_back(required(at, "must specify required node constraints"));
  }
  check_volume_sources(out, path, spec);
  check_volume_class_name(out, path.child("storageClassName"), text_of(spec, "storageClassName"));
  check_volume_mode(out, path, spec);
  return out;
}

FieldErrors check_volume_change(const Json& object, const Json& old) {
  FieldErrors out = check_volume(object);  // upstream checks twice and reports twice
  const Json& spec = member(object, "spec");
  const Json& before = member(old, "spec");
  for (const char* name : kVolumeSources) {
    if (semantic_equal(member(spec, name), member(before, name))) continue;
    out.push_back(
        forbidden(FieldPath("spec.persistentvolumesource"),
                  "spec.persistentvolumesource is immutable after creation: " + std::string(name) + " differs"));
    break;
  }
  check_kept(out, FieldPath("volumeMode"), member(spec, "volumeMode"), member(before, "volumeMode"));
  const Json& affinity = member(spec, "nodeAffinity");
  if (is_set(before, "nodeAffinity") && !semantic_equal(affinity, member(before, "nodeAffinity"))) {
    out.push_back(invalid_value(FieldPath("nodeAffinity"), affinity,
                                "field is immutable, except for updating from beta label to GA"));
  }
  return out;
}

void set_volume_defaults(Json& object) {
  Json& spec = object_member(object, "spec");
  if (text_of(spec, kReclaimPolicy).empty()) spec[kReclaimPolicy] = "Retain";
  set_default(spec, "volumeMode", "Filesystem");
  if (is_set(spec, "hostPath")) set_default(spec["hostPath"], "type", "");
  Json& status = object_member(object, "status");
  if (text_of(status, "phase").empty()) status["phase"] = "Pending";
}

Json claim_cell(const Json& object) {
  const Json& ref = member_at(object, "spec.claimRef");
  return ref.is_null() ? "" : text_of(ref, "namespace") + "/" + text_of(ref, "name");
}

KindDescription volume_description() {
  KindDescription d;
  d.info = kind_info({"", "v1"}, "core/v1", "PersistentVolume", "persistentvolumes", "persistentvolume", false);
  d.info.short_names = {"pv"};
  d.info.delete_returns_object = true;
  d.info.status_keeps_labels = false;
  d.info.status_keeps_finalizers = false;
  with_status(d.info);
  d.defaults = set_volume_defaults;
  d.check = check_volume;
  d.check_change = check_volume_change;
  const auto spec_text = [](const char* name, const char* what, Json (*cell)(const Json&), int priority = 0) {
    return DescribedColumn{{name, "string", "", what, priority}, cell};
  };
  d.columns = {
      spec_text("Capacity",
                "capacity is the description of the persistent volume's resources and capacity. More info: "
                "https://kubernetes.io/docs/concepts/storage/persistent-volumes#capacity",
                [](const Json& o) -> Json { return member_at(o, "spec.capacity").value("storage", "0"); }),
      spec_text("Access Modes",
                "accessModes contains all ways the volume can be mounted. More info: "
                "https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes",
                [](const Json& o) -> Json { return access_modes_text(list_of(member(o, "spec"), "accessModes")); }),
      spec_text("Reclaim Policy",
                "persistentVolumeReclaimPolicy defines what happens to a persistent volume when released from its "
                "claim. Valid options are Retain (default for manually created PersistentVolumes), Delete (default for "
                "dynamically provisioned PersistentVolumes), and Recycle (deprecated). Recycle must be supported by "
                "the volume plugin underlying this PersistentVolume. More info: "
                "https://kubernetes.io/docs/concepts/storage/persistent-volumes#reclaiming",
                [](const Json& o) -> Json { return text_of(member(o, "spec"), kReclaimPolicy); }),
      spec_text("Status",
                "phase indicates if a volume is available, bound to a claim, or released by a claim. More info: "
                "https://kubernetes.io/docs/concepts/storage/persistent-volumes#phase",
                [](const Json& o) -> Json { return phase_text(o); }),
      spec_text("Claim",
                "claimRef is part of a bi-directional binding between PersistentVolume and PersistentVolumeClaim. "
                "Expected to be non-nil when bound. claim.VolumeName is the authoritative bind between PV and PVC. "
                "More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#binding",
                claim_cell),
      spec_text("StorageClass", "StorageClass of the pv", [](const Json& o) -> Json { return class_of(o); }),
      spec_text("VolumeAttributesClass", "VolumeAttributesClass of the pv",
                [](const Json& o) -> Json { return or_unset(member(o, "spec"), "volumeAttributesClassName"); }),
      spec_text("Reason",
                "reason is a brief CamelCase string that describes any failure and is meant for machine parsing and "
                "tidy display in the CLI.",
                [](const Json& o) -> Json { return text_of(member(o, "status"), "reason"); }),
      described_age(),
      spec_text(
          "VolumeMode",
          "volumeMode defines if a volume is intended to be used with a formatted filesystem or to remain in raw block "
          "state. Value of Filesystem is implied when not included in spec.",
          [](const Json& o) -> Json { return or_unset(member(o, "spec"), "volumeMode"); }, 1)};
  return d;
}

class PersistentVolumeKind : public DescribedKind {
 public:
  PersistentVolumeKind() : DescribedKind(volume_description()) {}

  void prepare_for_create(const WriteContext& ctx, Json& object) const override {
    object["status"] = {{"phase", "Pending"}, {"lastPhaseTransitionTime", format_rfc3339(ctx.clock->wall_now())}};
  }
  void prepare_for_status_update(const WriteContext& ctx, Json& object, const Json& old) const override {
    Json& status = object_member(object, "status");
    const Json& before = member(old, "status");
    const Json& since = member(before, "lastPhaseTransitionTime");
    const bool same_time = !is_set(status, "lastPhaseTransitionTime") || status["lastPhaseTransitionTime"] == since;
    if (!same_time) return;
    if (text_of(status, "phase") != text_of(before, "phase"))
      status["lastPhaseTransitionTime"] = format_rfc3339(ctx.clock->wall_now());
    else if (!since.is_null())
      status["lastPhaseTransitionTime"] = since;
  }
  // Admission plug-in StorageObjectInUseProtection.
  StatusOr<void> admit_create(const WriteContext&, Json& object) const override {
    add_finalizer(object, kVolumeProtection);
    return {};
  }
};

}  // namespace

void add_finalizer(Json& object, const char* name) {
  Json& all = object["metadata"]["finalizers"];
  if (!all.is_array()) all = Json::array();
  for (const Json& f : all)
    if (f == name) return;
  all.push_back(name);
}

std::unique_ptr<Kind> make_persistent_volume_kind() {
  return std::make_unique<PersistentVolumeKind>();
}

}  // namespace dra::apiserver
