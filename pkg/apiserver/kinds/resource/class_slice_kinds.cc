// DeviceClass and ResourceSlice.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/resource/kinds.h"
#include "pkg/apiserver/kinds/resource/parts.h"
#include "pkg/apiserver/kinds/resource/slice_spec.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

namespace {

// v1 IsExtendedResourceName: has a domain that is not Kubernetes' own, and a quota can count it.
bool extended_resource_name(const std::string& name) {
  if (name.find('/') == std::string::npos || name.find("kubernetes.io/") != std::string::npos) return false;
  if (name.starts_with("requests.")) return false;
  return qualified_name_problems("requests." + name).empty();
}

class DeviceClassKind : public Kind {
 public:
  using Kind::Kind;

  FieldErrors validate_create(const WriteContext&, const Json& object) const override {
    return check(member(object, "spec"), nullptr);
  }
  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    return check(member(object, "spec"), member(old, "spec"));
  }

 private:
  // Lists that did not change are "stored": values that an earlier release accepted stay acceptable.
  static FieldErrors check(const Json& spec, const Json& old) {
    FieldErrors out;
    const FieldPath path("spec");
    auto stored = [&](const char* key) {
      return !old.is_null() && semantic_equal(member(spec, key), member(old, key));
    };
    check_selectors(out, path.child("selectors"), member(spec, "selectors"), stored("selectors"));
    const bool stored_config = stored("config");
    check_list(out, path.child("config"), member(spec, "config"), kMaxConfigs,
               [&](FieldErrors& o, const FieldPath& p, const Json& config) {
                 check_device_configuration(o, p, config, stored_config);
               });
    if (is_set(spec, "extendedResourceName") && !extended_resource_name(text_of(spec, "extendedResourceName"))) {
      out.push_back(invalid(path.child("extendedResourceName"), text_of(spec, "extendedResourceName"),
                            "must be a valid extended resource name"));
    }
    return out;
  }
};

class ResourceSliceKind : public Kind {
 public:
  using Kind::Kind;

  void convert(Json& object, const GroupVersion& from, const GroupVersion& to) const override {
    const bool old_from = from.version == "v1beta1";
    const bool old_to = to.version == "v1beta1";
    if (old_from == old_to || !object.contains("spec")) return;
    if (old_from) {
      slice_spec_from_v1beta1(object["spec"]);
    } else {
      slice_spec_to_v1beta1(object["spec"]);
    }
  }

  void prepare_for_create(const WriteContext& ctx, Json& object) const override {
    if (!object.contains("spec")) return;
    if (ctx.clock != nullptr) default_taint_times(object["spec"], format_rfc3339(ctx.clock->wall_now()));
    drop_disabled_slice_fields(object["spec"], nullptr);
  }

  void prepare_for_update(const WriteContext& ctx, Json& object, const Json& old) const override {
    if (!object.contains("spec")) return;
    if (ctx.clock != nullptr) default_taint_times(object["spec"], format_rfc3339(ctx.clock->wall_now()));
    drop_disabled_slice_fields(object["spec"], member(old, "spec"));
  }

  FieldErrors validate_create(const WriteContext& ctx, const Json& object) const override {
    FieldErrors out;
    check_slice_spec(out, FieldPath("spec"), member(object, "spec"), nullptr);
    warn_about_driver(ctx, object, out);
    return out;
  }

  FieldErrors validate_update(const WriteContext& ctx, const Json& object, const Json& old) const override {
    FieldErrors out;
    check_slice_spec(out, FieldPath("spec"), member(object, "spec"), member(old, "spec"));
    warn_about_driver(ctx, object, out);
    return out;
  }

  std::vector<TableColumn> columns() const override {
    return {name_column(),
            {"Node", "string", "",
             "NodeName identifies the node which provides the resources in this pool. A field selector can be used to "
             "list only ResourceSlice objects belonging to a certain node.\n\nThis field can be used to limit access "
             "from nodes to ResourceSlices with the same node name. It also indicates to autoscalers that adding new "
             "nodes of the same type as some old node might also make new resources available.\n\nExactly one of "
             "NodeName, NodeSelector, AllNodes, and PerDeviceNodeSelection must be set. This field is immutable.",
             0},
            {"Driver", "string", "",
             "Driver identifies the DRA driver providing the capacity information. A field selector can be used to "
             "list only ResourceSlice objects with a certain driver name.\n\nMust be a DNS subdomain and should end "
             "with a DNS domain owned by the vendor of the driver. It should use only lower case characters. This "
             "field is immutable.",
             0},
            {"Pool", "string", "",
             "Name is used to identify the pool. For node-local devices, this is often the node name, but this is not "
             "required.\n\nIt must not be longer than 253 characters and must consist of one or more DNS sub-domains "
             "separated by slashes. This field is immutable.",
             0},
            age_column()};
  }

  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    const Json& spec = member(object, "spec");
    return Json::array({text_of(meta, "name"), text_of(spec, "nodeName"), text_of(spec, "driver"),
                        as_text(member_at(spec, "pool.name")), age_cell(member(meta, "creationTimestamp"), now)});
  }

  std::vector<std::string> field_labels(const GroupVersion&) const override { return {"spec.nodeName", "spec.driver"}; }

  std::string field_value(const Json& object, std::string_view label, const GroupVersion&) const override {
    return as_text(member_at(object, label));
  }

  std::string unknown_field_label(std::string_view label, const GroupVersion& gv) const override {
    return "field label not supported for " + gv.text() + ", Kind=ResourceSlice: " + std::string(label);
  }

 private:
  static void warn_about_driver(const WriteContext& ctx, const Json& object, const FieldErrors& errors) {
    const std::string& driver = as_text(member_at(object, "spec.driver"));
    if (!errors.empty() || driver == to_lower(driver)) return;
    ctx.warn("spec.driver: driver names should be lowercase; " + quote(driver) + " contains uppercase characters");
  }
};

}  // namespace

std::unique_ptr<Kind> make_device_class_kind() {
  KindInfo info = resource_kind_info("DeviceClass", "deviceclasses", "deviceclass", false);
  info.has_generation = true;
  return std::make_unique<DeviceClassKind>(std::move(info));
}

std::unique_ptr<Kind> make_resource_slice_kind() {
  KindInfo info = resource_kind_info("ResourceSlice", "resourceslices", "resourceslice", false);
  info.has_generation = true;
  return std::make_unique<ResourceSliceKind>(std::move(info));
}

}  // namespace dra::apiserver
