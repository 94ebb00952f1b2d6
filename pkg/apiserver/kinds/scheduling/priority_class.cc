#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/scheduling/kinds.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

constexpr int64_t kHighestUserPriority = 1'000'000'000;

class PriorityClassKind : public Kind {
 public:
  using Kind::Kind;

  void set_defaults(Json& object) const override {
    if (text_of(object, "preemptionPolicy").empty()) object["preemptionPolicy"] = "PreemptLowerPriority";
  }

  // Admission plug-in Priority: at most one default.
  StatusOr<void> admit_create(const WriteContext& ctx, Json& object) const override {
    return check_default(ctx, object);
  }
  StatusOr<void> admit_update(const WriteContext& ctx, Json& object, const Json&) const override {
    return check_default(ctx, object);
  }

  // Set once and never counted, as upstream.
  bool bumps_generation(const Json&, const Json&) const override { return false; }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override {
    FieldErrors out;
    const std::string& name = text_of(member(object, "metadata"), "name");
    if (name.starts_with("system-")) {
      out.push_back(forbidden(FieldPath("metadata.name"),
                              "priority class names with 'system-' prefix are reserved for system use only. error: " +
                                  name + " is not a known system priority class"));
    } else if (int_of(object, "value") > kHighestUserPriority) {
      out.push_back(forbidden(FieldPath("value"), "maximum allowed value of a user defined priority is " +
                                                      std::to_string(kHighestUserPriority)));
    }
    const std::string& policy = text_of(object, "preemptionPolicy");
    if (policy != "PreemptLowerPriority" && policy != "Never") {
      out.push_back(not_supported(FieldPath("preemptionPolicy"), policy, {"PreemptLowerPriority", "Never"}));
    }
    return out;
  }

  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out;
    if (int_of(object, "value") != int_of(old, "value")) {
      out.push_back(forbidden(FieldPath("value"), "may not be changed in an update."));
    }
    if (text_of(object, "preemptionPolicy") != text_of(old, "preemptionPolicy")) {
      out.push_back(invalid(FieldPath("preemptionPolicy"), text_of(object, "preemptionPolicy"), "field is immutable"));
    }
    return out;
  }

  std::vector<TableColumn> columns() const override {
    return {
        name_column(),
        {"Value", "integer", "",
         "value represents the integer value of this priority class. This is the actual priority that pods receive "
         "when they have the name of this class in their pod spec.",
         0},
        {"Global-Default", "boolean", "",
         "globalDefault specifies whether this PriorityClass should be considered as the default priority for pods "
         "that do not have any priority class. Only one PriorityClass can be marked as `globalDefault`. However, if "
         "more than one PriorityClasses exists with their `globalDefault` field set to true, the smallest value of "
         "such global default PriorityClasses will be used as the default priority.",
         0},
        age_column(),
        {"PreemptionPolicy", "string", "",
         "preemptionPolicy is the Policy for preempting pods with lower priority. One of Never, "
         "PreemptLowerPriority. Defaults to PreemptLowerPriority if unset.",
         0}};
  }
  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    return Json::array({text_of(meta, "name"), int_of(object, "value"), bool_of(object, "globalDefault"),
                        age_cell(member(meta, "creationTimestamp"), now), text_of(object, "preemptionPolicy")});
  }

 private:
  StatusOr<void> check_default(const WriteContext& ctx, const Json& object) const {
    if (!bool_of(object, "globalDefault") || ctx.reader == nullptr) return {};
    const std::string& name = text_of(member(object, "metadata"), "name");
    std::string other;
    ctx.reader->for_each("scheduling.k8s.io", "priorityclasses", "", [&](const Json& c) {
      const std::string& found = text_of(member(c, "metadata"), "name");
      if (bool_of(c, "globalDefault") && found != name && other.empty()) other = found;
    });
    if (other.empty()) return {};
    return fail_status(
        forbidden_status(info().group_resource(), name,
                         "PriorityClass " + other + " is already marked as default. Only one default can exist"));
  }
};

}  // namespace

std::unique_ptr<Kind> make_priority_class_kind() {
  KindInfo info = kind_info({"scheduling.k8s.io", "v1"}, "scheduling/v1", "PriorityClass", "priorityclasses",
                            "priorityclass", false);
  info.short_names = {"pc"};
  info.has_generation = true;
  return std::make_unique<PriorityClassKind>(std::move(info));
}

}  // namespace dra::apiserver
