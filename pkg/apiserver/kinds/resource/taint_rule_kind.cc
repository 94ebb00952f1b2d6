// DeviceTaintRule, as kube-apiserver 1.36 serves it in v1beta2 and v1alpha3, and 1.37 in v1.
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/resource/kinds.h"
#include "pkg/apiserver/kinds/resource/parts.h"
#include "pkg/apiserver/model/release.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMaxRuleConditions = 8;

class DeviceTaintRuleKind : public Kind {
 public:
  using Kind::Kind;

  void prepare_for_create(const WriteContext& ctx, Json& object) const override { add_time(ctx, object); }

  // A changed effect is a new taint: its time is now, unless the client changed the time too.
  void prepare_for_update(const WriteContext& ctx, Json& object, const Json& old) const override {
    const Json& before = member_at(old, "spec.taint");
    const Json& after = member_at(object, "spec.taint");
    const bool same_time = semantic_equal(member(before, "timeAdded"), member(after, "timeAdded"));
    if (same_time && text_of(before, "effect") != text_of(after, "effect") && after.is_object())
      object["spec"]["taint"].erase("timeAdded");
    add_time(ctx, object);
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override {
    FieldErrors out;
    const FieldPath spec("spec");
    const FieldPath path = spec.child("deviceSelector");
    const Json& selector = member_at(object, "spec.deviceSelector");
    if (is_set(selector, "driver")) check_driver_name(out, path.child("driver"), text_of(selector, "driver"));
    if (is_set(selector, "pool")) check_pool_name(out, path.child("pool"), text_of(selector, "pool"));
    if (is_set(selector, "device")) check_dns_label(out, path.child("device"), text_of(selector, "device"));
    check_taint(out, spec.child("taint"), member_at(object, "spec.taint"));
    return out;
  }

  FieldErrors validate_update(const WriteContext& ctx, const Json& object, const Json&) const override {
    return validate_create(ctx, object);
  }

  FieldErrors validate_status_update(const WriteContext&, const Json& object, const Json&) const override {
    FieldErrors out;
    const FieldPath path = FieldPath("status").child("conditions");
    const Json& conditions = list_of(member(object, "status"), "conditions");
    if (conditions.size() > kMaxRuleConditions) {
      out.push_back(too_many(path, static_cast<int64_t>(conditions.size()), kMaxRuleConditions));
      return out;
    }
    check_conditions(out, path, conditions);
    return out;
  }

  std::vector<TableColumn> columns() const override {
    return {name_column(),
            {"Key", "string", "", "The taint key to be applied to a device. Must be a label name.", 0},
            {"Value", "string", "", "The taint value corresponding to the taint key. Must be a label value.", 0},
            {"Effect", "string", "",
             "The effect of the taint on claims that do not tolerate the taint and through such claims on the pods "
             "using them.\n\nValid effects are None, NoSchedule and NoExecute. PreferNoSchedule as used for nodes is "
             "not valid here. More effects may get added in the future. Consumers must treat unknown effects like "
             "None.",
             0},
            {"TimeAdded", "string", "",
             "TimeAdded represents the time at which the taint was added or (only in a DeviceTaintRule) the effect was "
             "modified. Added automatically during create or update if not set.\n\nIn addition, in a DeviceTaintRule a "
             "value provided during an update gets replaced with the current time if the provided value is the same as "
             "the old one and the new effect is different. Changing the key and/or value while keeping the effect "
             "unchanged is possible and does not update the time stamp because the eviction which uses it is either "
             "already started (NoExecute) or not started yet (NoEffect, NoSchedule).",
             0},
            age_column()};
  }

  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    const Json& taint = member_at(object, "spec.taint");
    return Json::array({text_of(meta, "name"), text_of(taint, "key"), text_of(taint, "value"), text_of(taint, "effect"),
                        age_cell(member(taint, "timeAdded"), now), age_cell(member(meta, "creationTimestamp"), now)});
  }

 private:
  static void add_time(const WriteContext& ctx, Json& object) {
    if (ctx.clock == nullptr || !member_at(object, "spec.taint").is_object()) return;
    Json& taint = object["spec"]["taint"];
    if (!taint.contains("timeAdded")) taint["timeAdded"] = format_rfc3339(ctx.clock->wall_now());
  }
};

}  // namespace

std::unique_ptr<Kind> make_device_taint_rule_kind() {
  const bool stable = served_release() >= 37;
  KindInfo i = kind_info({"resource.k8s.io", stable ? "v1" : "v1beta2"}, stable ? "resource/v1" : "resource/v1beta2",
                         "DeviceTaintRule", "devicetaintrules", "devicetaintrule", false);
  if (stable)
    i.served.push_back({{"resource.k8s.io", "v1beta2"},
                        "resource/v1beta2",
                        "resource.k8s.io/v1beta2 DeviceTaintRule is deprecated in v1.39+, unavailable in v1.42+"});
  i.served.push_back({{"resource.k8s.io", "v1alpha3"},
                      "resource/v1alpha3",
                      "resource.k8s.io/v1alpha3 DeviceTaintRule is deprecated in v1.36+, unavailable in v1.39+"});
  i.storage_version = "v1alpha3";
  i.has_generation = true;
  i.delete_returns_object = true;
  with_status(i);
  return std::make_unique<DeviceTaintRuleKind>(std::move(i));
}

}  // namespace dra::apiserver
