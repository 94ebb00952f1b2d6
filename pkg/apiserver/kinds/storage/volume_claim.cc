// PersistentVolumeClaim (k8s.io/kubernetes/pkg/apis/core/validation ValidatePersistentVolumeClaim; its registry
// strategy; admission plug-ins DefaultStorageClass and StorageObjectInUseProtection).
#include <nlohmann/json.hpp>

#include "pkg/api/quantity.h"
#include "pkg/apiserver/kinds/described_kind.h"
#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/storage/volume_kinds.h"
#include "pkg/apiserver/kinds/storage/volume_parts.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

constexpr const char* kVolumeClaimProtection = "kubernetes.io/pvc-protection";
constexpr const char* kClaimClassAnnotation = "volume.beta.kubernetes.io/storage-class";
constexpr const char* kDefaultClass = "storageclass.kubernetes.io/is-default-class";
constexpr const char* kDefaultClassBeta = "storageclass.beta.kubernetes.io/is-default-class";

void check_data_source(FieldErrors& out, const FieldPath& path, const Json& source) {
  const std::string& group = text_of(source, "apiGroup");
  const std::string& kind = text_of(source, "kind");
  if (text_of(source, "name").empty()) out.push_back(required(path.child("name"), ""));
  if (kind.empty()) out.push_back(required(path.child("kind"), ""));
  if (group.empty() && kind != "PersistentVolumeClaim") {
    out.push_back(invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
  }
  if (!group.empty()) add_problems(out, path.child("apiGroup"), group, dns_subdomain_problems(group));
}

FieldErrors check_volume_claim(const Json& object) {
  FieldErrors out;
  const FieldPath path("spec");
  const Json& spec = member(object, "spec");
  if (list_of(spec, "accessModes").empty()) {
    out.push_back(required(path.child("accessModes"), "at least 1 access mode is required"));
  }
  if (is_set(spec, "selector")) check_label_selector(out, path.child("selector"), member(spec, "selector"));
  check_access_modes(out, path.child("accessModes"), list_of(spec, "accessModes"));
  const FieldPath storage = path.child("resources").key("storage");
  const Json& amount = member(member_at(spec, "resources.requests"), "storage");
  if (amount.is_null())
    out.push_back(required(storage, ""));
  else
    check_storage(out, storage, amount);
  check_volume_class_name(out, path.child("storageClassName"), text_of(spec, "storageClassName"));
  check_volume_mode(out, path, spec);
  for (const char* key : {"dataSource", "dataSourceRef"}) {
    if (is_set(spec, key)) check_data_source(out, path.child(key), member(spec, key));
  }
  check_volume_class_name(out, path.child("volumeAttributesClassName"), text_of(spec, "volumeAttributesClassName"));
  return out;
}

api::Quantity requested_storage(const Json& list) {
  auto q = api::Quantity::parse(text_of(list, "storage"));
  return q ? *q : api::Quantity();
}

FieldErrors check_volume_claim_change(const Json& object, const Json& old) {
  FieldErrors out;
  Json spec = member(object, "spec");
  Json before = member(old, "spec");
  const bool bound = text_of(member(object, "status"), "phase") == "Bound";
  // Set once: the volume by the binder, the class by defaulting.
  for (const char* once : {"volumeName", "storageClassName"}) {
    if (!is_set(before, once) || (std::string_view(once) == "volumeName" && text_of(before, once).empty())) {
      spec.erase(once);
      before.erase(once);
    }
  }
  if (bound) {
    for (Json* s : {&spec, &before}) {
      s->erase("volumeAttributesClassName");
      if (member_at(*s, "resources.requests").is_object()) (*s)["resources"]["requests"].erase("storage");
    }
  }
  if (!semantic_equal(spec, before)) {
    out.push_back(forbidden(FieldPath("spec"),
                            "spec is immutable after creation except resources.requests and volumeAttributesClassName "
                            "for bound claims"));
  }
  const api::Quantity now = requested_storage(member_at(object, "spec.resources.requests"));
  if (now.compare(requested_storage(member_at(old, "spec.resources.requests"))) < 0 &&
      now.compare(requested_storage(member_at(old, "status.capacity"))) <= 0) {
    out.push_back(
        forbidden(FieldPath("spec.resources.requests.storage"), "field can not be less than status.capacity"));
  }
  check_kept(out, FieldPath("volumeMode"), member_at(object, "spec.volumeMode"), member_at(old, "spec.volumeMode"));
  return out;
}

void set_volume_claim_defaults(Json& object) {
  set_default(object_member(object, "spec"), "volumeMode", "Filesystem");
  Json& status = object_member(object, "status");
  if (text_of(status, "phase").empty()) status["phase"] = "Pending";
}

// Each of the two data sources is copied to the other.
void copy_data_source(Json& object) {
  Json& spec = object["spec"];
  const bool other_namespace = !text_of(member(spec, "dataSourceRef"), "namespace").empty();
  if (is_set(spec, "dataSource") && !is_set(spec, "dataSourceRef"))
    spec["dataSourceRef"] = spec["dataSource"];
  else if (is_set(spec, "dataSourceRef") && !is_set(spec, "dataSource") && !other_namespace)
    spec["dataSource"] = spec["dataSourceRef"];
}

KindDescription volume_claim_description() {
  KindDescription d;
  d.info = kind_info({"", "v1"}, "core/v1", "PersistentVolumeClaim", "persistentvolumeclaims", "persistentvolumeclaim",
                     true);
  d.info.short_names = {"pvc"};
  d.info.delete_returns_object = true;
  d.info.status_keeps_labels = false;
  d.info.status_keeps_finalizers = false;
  with_status(d.info);
  d.defaults = set_volume_claim_defaults;
  d.prepare = copy_data_source;
  d.check = check_volume_claim;
  d.check_change = check_volume_claim_change;
  d.columns = {
      {{"Status", "string", "", "phase represents the current phase of PersistentVolumeClaim.", 0},
       [](const Json& o) -> Json { return phase_text(o); }},
      {{"Volume", "string", "", "volumeName is the binding reference to the PersistentVolume backing this claim.", 0},
       [](const Json& o) -> Json { return text_of(member(o, "spec"), "volumeName"); }},
      {{"Capacity", "string", "", "capacity represents the actual resources of the underlying volume.", 0},
       [](const Json& o) -> Json {
         if (text_of(member(o, "spec"), "volumeName").empty()) return "";
         const std::string& amount = text_of(member_at(o, "status.capacity"), "storage");
         return amount.empty() ? "0" : amount;
       }},
      {{"Access Modes", "string", "",
        "accessModes contains the actual access modes the volume backing the PVC has. More info: "
        "https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes-1",
        0},
       [](const Json& o) -> Json {
         if (text_of(member(o, "spec"), "volumeName").empty()) return "";
         return access_modes_text(list_of(member(o, "status"), "accessModes"));
       }},
      {{"StorageClass", "string", "", "StorageClass of the pvc", 0}, [](const Json& o) -> Json { return class_of(o); }},
      {{"VolumeAttributesClass", "string", "", "VolumeAttributesClass of the pvc", 0},
       [](const Json& o) -> Json { return or_unset(member(o, "spec"), "volumeAttributesClassName"); }},
      described_age(),
      {{"VolumeMode", "string", "",
        "volumeMode defines what type of volume is required by the claim. Value of Filesystem is implied when not "
        "included in claim spec.",
        1},
       [](const Json& o) -> Json { return or_unset(member(o, "spec"), "volumeMode"); }}};
  return d;
}

bool is_default_class(const Json& storage_class) {
  const Json& annotations = map_of(member(storage_class, "metadata"), "annotations");
  return text_of(annotations, kDefaultClass) == "true" || text_of(annotations, kDefaultClassBeta) == "true";
}

class PersistentVolumeClaimKind : public DescribedKind {
 public:
  PersistentVolumeClaimKind() : DescribedKind(volume_claim_description()) {}

  void prepare_for_create(const WriteContext&, Json& object) const override {
    copy_data_source(object);
    object["status"] = {{"phase", "Pending"}};
  }

  StatusOr<void> admit_create(const WriteContext& ctx, Json& object) const override {
    add_finalizer(object, kVolumeClaimProtection);
    Json& spec = object_member(object, "spec");
    const bool has_class = is_set(spec, "storageClassName") ||
                           map_of(member(object, "metadata"), "annotations").contains(kClaimClassAnnotation);
    if (has_class || ctx.reader == nullptr) return {};
    // Of several defaults the newest wins, then the first by name.
    std::string newest, name;
    ctx.reader->for_each("storage.k8s.io", "storageclasses", "", [&](const Json& c) {
      const Json& meta = member(c, "metadata");
      const std::string& created = text_of(meta, "creationTimestamp");
      if (!is_default_class(c) || (!name.empty() && created <= newest)) return;
      newest = created;
      name = text_of(meta, "name");
    });
    if (!name.empty()) spec["storageClassName"] = name;
    return {};
  }
};

}  // namespace

std::unique_ptr<Kind> make_persistent_volume_claim_kind() {
  return std::make_unique<PersistentVolumeClaimKind>();
}

}  // namespace dra::apiserver
