// ResourceClaim and ResourceClaimTemplate.
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/resource/claim_spec.h"
#include "pkg/apiserver/kinds/resource/claim_status.h"
#include "pkg/apiserver/kinds/resource/kinds.h"
#include "pkg/apiserver/kinds/resource/release_fields.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/go_render.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

bool is_v1beta1(const GroupVersion& gv) {
  return gv.version == "v1beta1";
}

Json* writable_member(Json& object, const char* key) {
  auto it = object.find(key);
  return it == object.end() || !it->is_object() ? nullptr : &*it;
}

void convert_claim_spec(Json* spec, const GroupVersion& from, const GroupVersion& to) {
  if (spec == nullptr || is_v1beta1(from) == is_v1beta1(to)) return;
  if (is_v1beta1(from)) {
    claim_spec_from_v1beta1(*spec);
  } else {
    claim_spec_to_v1beta1(*spec);
  }
}

class ResourceClaimKind : public Kind {
 public:
  using Kind::Kind;

  void convert(Json& object, const GroupVersion& from, const GroupVersion& to) const override {
    convert_claim_spec(writable_member(object, "spec"), from, to);
  }

  void set_defaults(Json& object) const override {
    if (Json* spec = writable_member(object, "spec")) default_claim_spec(*spec);
  }

  void prepare_for_create(const WriteContext&, Json& object) const override {
    if (Json* spec = writable_member(object, "spec")) drop_claim_fields_of_137(*spec, nullptr);
  }

  void prepare_for_update(const WriteContext&, Json& object, const Json& old) const override {
    if (Json* spec = writable_member(object, "spec")) drop_claim_fields_of_137(*spec, member(old, "spec"));
  }

  void prepare_for_status_update(const WriteContext&, Json& object, const Json& old) const override {
    drop_deallocated_devices(object, old);
  }

  FieldErrors validate_before_metadata(const WriteContext& ctx, const Json& object) const override {
    FieldErrors out;
    check_admin_access(out, ctx, member(object, "spec"));
    return out;
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override {
    FieldErrors out;
    check_claim_spec(out, FieldPath("spec"), member(object, "spec"));
    return out;
  }

  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out;
    if (!semantic_equal(member(object, "spec"), member(old, "spec"))) {
      out.push_back(
          invalid_raw(FieldPath("spec"), render_go("ResourceClaimSpec", member(object, "spec")), "field is immutable"));
    }
    return out;
  }

  FieldErrors validate_status_update(const WriteContext& ctx, const Json& object, const Json& old) const override {
    FieldErrors out;
    check_status_permissions(out, ctx, object, old);
    check_status_admin_access(out, ctx, object, old);
    check_claim_status(out, object, old);
    return out;
  }

  std::vector<TableColumn> columns() const override {
    return {name_column(),
            {"State", "string", "", "A summary of the current state (allocated, pending, reserved, etc.).", 0},
            age_column()};
  }

  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    return Json::array({text_of(meta, "name"), claim_state(object), age_cell(member(meta, "creationTimestamp"), now)});
  }
};

class ResourceClaimTemplateKind : public Kind {
 public:
  using Kind::Kind;

  void convert(Json& object, const GroupVersion& from, const GroupVersion& to) const override {
    Json* spec = writable_member(object, "spec");
    if (spec != nullptr) convert_claim_spec(writable_member(*spec, "spec"), from, to);
  }

  void set_defaults(Json& object) const override {
    Json* spec = writable_member(object, "spec");
    if (spec == nullptr) return;
    if (Json* inner = writable_member(*spec, "spec")) default_claim_spec(*inner);
  }

  void prepare_for_create(const WriteContext&, Json& object) const override { drop_disabled(object, nullptr); }

  void prepare_for_update(const WriteContext&, Json& object, const Json& old) const override {
    drop_disabled(object, member_at(old, "spec.spec"));
  }

  FieldErrors validate_before_metadata(const WriteContext& ctx, const Json& object) const override {
    FieldErrors out;
    check_admin_access(out, ctx, member(member(object, "spec"), "spec"));
    return out;
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override {
    FieldErrors out;
    const Json& spec = member(object, "spec");
    check_template_metadata(out, FieldPath("spec.metadata"), member(spec, "metadata"));
    check_claim_spec(out, FieldPath("spec.spec"), member(spec, "spec"));
    return out;
  }

  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out;
    check_template_metadata(out, FieldPath("spec.metadata"), member_at(object, "spec.metadata"));
    if (!semantic_equal(member(object, "spec"), member(old, "spec"))) {
      out.push_back(invalid_raw(FieldPath("spec"), render_go("ResourceClaimTemplateSpec", member(object, "spec")),
                                "field is immutable"));
    }
    return out;
  }

 private:
  static void drop_disabled(Json& object, const Json& old_spec) {
    Json* spec = writable_member(object, "spec");
    Json* inner = spec == nullptr ? nullptr : writable_member(*spec, "spec");
    if (inner != nullptr) drop_claim_fields_of_137(*inner, old_spec);
  }

  // Generated claims inherit only labels and annotations; everything else is refused.
  static void check_template_metadata(FieldErrors& out, const FieldPath& path, const Json& meta) {
    check_labels(out, path.child("labels"), member(meta, "labels"));
    check_annotations(out, path.child("annotations"), member(meta, "annotations"));
    for (const char* key : {"name", "generateName", "namespace", "uid", "resourceVersion", "generation",
                            "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers",
                            "ownerReferences", "selfLink", "managedFields"}) {
      if (meta.is_object() && meta.contains(key)) out.push_back(forbidden(path.child(key), "cannot be set"));
    }
  }
};

}  // namespace

KindInfo resource_claim_info() {
  KindInfo info = resource_kind_info("ResourceClaim", "resourceclaims", "resourceclaim", true);
  with_status(info);
  return info;
}

std::unique_ptr<Kind> make_resource_claim_kind() {
  return std::make_unique<ResourceClaimKind>(resource_claim_info());
}

std::unique_ptr<Kind> make_resource_claim_template_kind() {
  return std::make_unique<ResourceClaimTemplateKind>(
      resource_kind_info("ResourceClaimTemplate", "resourceclaimtemplates", "resourceclaimtemplate", true));
}

}  // namespace dra::apiserver
