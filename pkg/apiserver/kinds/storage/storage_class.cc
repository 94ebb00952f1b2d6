// StorageClass and VolumeAttributesClass (k8s.io/kubernetes/pkg/apis/storage/validation).
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/storage/volume_kinds.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMaxParameters = 512;
constexpr size_t kMaxParameterBytes = 256 * 1024;

void check_parameters(FieldErrors& out, const FieldPath& path, const Json& parameters) {
  if (parameters.size() > kMaxParameters) return out.push_back(too_long(path, kMaxParameters));
  size_t total = 0;
  for (const auto& [key, value] : parameters.items()) {
    if (key.empty()) out.push_back(invalid(path, key, "field can not be empty."));
    total += key.size() + as_text(value).size();
  }
  if (total > kMaxParameterBytes) out.push_back(too_long(path, kMaxParameterBytes));
}

void check_provisioner(FieldErrors& out, const FieldPath& path, std::string name) {
  if (name.empty()) return out.push_back(required(path, ""));
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  add_problems(out, path, name, qualified_name_problems(name));
}

void check_topologies(FieldErrors& out, const FieldPath& path, const Json& terms) {
  size_t term_index = 0;
  for (const Json& term : terms) {
    const FieldPath at = path.index(term_index++).child("matchLabelExpressions");
    std::set<std::string> keys;
    size_t i = 0;
    for (const Json& expression : list_of(term, "matchLabelExpressions")) {
      const FieldPath e = at.index(i++);
      const std::string& key = text_of(expression, "key");
      check_label_name(out, e.child("key"), key);
      if (list_of(expression, "values").empty()) out.push_back(required(e.child("values"), ""));
      if (!keys.insert(key).second) out.push_back(duplicate(e.child("key"), key));
    }
  }
}

FieldErrors check_storage_class(const Json& object) {
  FieldErrors out;
  check_provisioner(out, FieldPath("provisioner"), text_of(object, "provisioner"));
  check_parameters(out, FieldPath("parameters"), map_of(object, "parameters"));
  const std::string& policy = text_of(object, "reclaimPolicy");
  if (!policy.empty() && policy != "Delete" && policy != "Retain") {
    out.push_back(not_supported(FieldPath("reclaimPolicy"), policy, {"Delete", "Retain"}));
  }
  const std::string& mode = text_of(object, "volumeBindingMode");
  if (mode != "Immediate" && mode != "WaitForFirstConsumer") {
    out.push_back(not_supported(FieldPath("volumeBindingMode"), mode, {"Immediate", "WaitForFirstConsumer"}));
  }
  check_topologies(out, FieldPath("allowedTopologies"), list_of(object, "allowedTopologies"));
  return out;
}

FieldErrors check_storage_class_change(const Json& object, const Json& old) {
  FieldErrors out;
  for (const char* key : {"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"})
    check_kept(out, FieldPath(key), member(object, key), member(old, key));
  return out;
}

void set_storage_class_defaults(Json& object) {
  set_default(object, "reclaimPolicy", "Delete");
  set_default(object, "volumeBindingMode", "Immediate");
}

FieldErrors check_attributes_class(const Json& object) {
  FieldErrors out;
  const Json& parameters = map_of(object, "parameters");
  check_provisioner(out, FieldPath("driverName"), text_of(object, "driverName"));
  check_parameters(out, FieldPath("parameters"), parameters);
  if (parameters.empty()) {
    out.push_back(required(FieldPath("parameters"), "must contain at least one key/value pair"));
  }
  return out;
}

FieldErrors check_attributes_class_change(const Json& object, const Json& old) {
  FieldErrors out;
  for (const std::string key : {"driverName", "parameters"}) {
    if (!semantic_equal(member(object, key), member(old, key)))
      out.push_back(forbidden(FieldPath(key), "updates to " + key + " are forbidden."));
  }
  return out;
}

Json storage_class_name(const Json& object) {
  const Json& meta = member(object, "metadata");
  const Json& annotations = map_of(meta, "annotations");
  const bool is_default = text_of(annotations, "storageclass.kubernetes.io/is-default-class") == "true" ||
                          text_of(annotations, "storageclass.beta.kubernetes.io/is-default-class") == "true";
  return text_of(meta, "name") + (is_default ? " (default)" : "");
}

}  // namespace

KindDescription storage_class_kind() {
  KindDescription d;
  d.info = kind_info({"storage.k8s.io", "v1"}, "storage/v1", "StorageClass", "storageclasses", "storageclass", false);
  d.info.short_names = {"sc"};
  d.info.delete_returns_object = true;
  d.defaults = set_storage_class_defaults;
  d.check = check_storage_class;
  d.check_change = check_storage_class_change;
  d.name_cell = storage_class_name;
  d.columns = {{{"Provisioner", "string", "", "provisioner indicates the type of the provisioner.", 0},
                [](const Json& o) -> Json { return text_of(o, "provisioner"); }},
               {{"ReclaimPolicy", "string", "",
                 "reclaimPolicy controls the reclaimPolicy for dynamically provisioned PersistentVolumes of this "
                 "storage class. Defaults to Delete.",
                 0},
                [](const Json& o) -> Json { return text_of(o, "reclaimPolicy"); }},
               {{"VolumeBindingMode", "string", "",
                 "volumeBindingMode indicates how PersistentVolumeClaims should be provisioned and bound.  When unset, "
                 "VolumeBindingImmediate is used. This field is only honored by servers that enable the "
                 "VolumeScheduling feature.",
                 0},
                [](const Json& o) -> Json { return text_of(o, "volumeBindingMode"); }},
               {{"AllowVolumeExpansion", "string", "",
                 "allowVolumeExpansion shows whether the storage class allow volume expand.", 0},
                [](const Json& o) -> Json { return bool_of(o, "allowVolumeExpansion"); }},
               described_age()};
  return d;
}

KindDescription volume_attributes_class_kind() {
  KindDescription d;
  d.info = kind_info({"storage.k8s.io", "v1"}, "storage/v1", "VolumeAttributesClass", "volumeattributesclasses",
                     "volumeattributesclass", false);
  d.info.short_names = {"vac"};
  d.check = check_attributes_class;
  d.check_change = check_attributes_class_change;
  d.columns = {{{"DriverName", "string", "", "The driver that the class is of.", 0},
                [](const Json& o) -> Json { return text_of(o, "driverName"); }},
               described_age()};
  return d;
}

}  // namespace dra::apiserver
