// PodDisruptionBudget: stored and validated. budget.h has what it allows.
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/policy/kinds.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/go_render.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

std::string amount_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_integer() ? std::to_string(value.get<int64_t>()) : "N/A";
}

// A count, or a percentage from 0 to 100.
void check_amount(FieldErrors& out, const FieldPath& path, const Json& value) {
  if (value.is_number_integer()) {
    if (value.get<int64_t>() < 0) {
      out.push_back(invalid_value(path, value, "must be greater than or equal to 0"));
    }
    return;
  }
  if (!value.is_string()) return;
  const std::string& text = as_text(value);
  const size_t digits = text.size() - (text.ends_with('%') ? 1 : 0);
  const bool percent =
      digits != text.size() && digits > 0 && digits <= 9 && text.find_first_not_of("0123456789") == digits;
  if (!percent) {
    out.push_back(invalid(path, text,
                          "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
                          "'93%', regex used for validation is '[0-9]+%')"));
  } else if (std::stol(text.substr(0, digits)) > 100) {
    out.push_back(invalid(path, text, "must not be greater than 100%"));
  }
}

class PodDisruptionBudgetKind : public Kind {
 public:
  using Kind::Kind;

  FieldErrors validate_create(const WriteContext&, const Json& object) const override { return check(object); }
  FieldErrors validate_update(const WriteContext&, const Json& object, const Json&) const override {
    return check(object);
  }

  std::vector<TableColumn> columns() const override {
    return {name_column(),
            {"Min Available", "string", "", "The minimum number of pods that must be available.", 0},
            {"Max Unavailable", "string", "", "The maximum number of pods that may be unavailable.", 0},
            {"Allowed Disruptions", "integer", "", "Calculated number of pods that may be disrupted at this time.", 0},
            age_column()};
  }
  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    const Json& spec = member(object, "spec");
    return Json::array(
        {text_of(meta, "name"), amount_text(member(spec, "minAvailable")), amount_text(member(spec, "maxUnavailable")),
         int_of(member(object, "status"), "disruptionsAllowed"), age_cell(member(meta, "creationTimestamp"), now)});
  }

 private:
  static FieldErrors check(const Json& object) {
    FieldErrors out;
    const Json& spec = member(object, "spec");
    const FieldPath path("spec");
    if (is_set(spec, "minAvailable") && is_set(spec, "maxUnavailable")) {
      out.push_back(invalid_raw(path, render_go("PodDisruptionBudgetSpec", spec),
                                "minAvailable and maxUnavailable cannot be both set"));
    }
    check_amount(out, path.child("minAvailable"), member(spec, "minAvailable"));
    check_amount(out, path.child("maxUnavailable"), member(spec, "maxUnavailable"));
    const std::string& policy = text_of(spec, "unhealthyPodEvictionPolicy");
    if (is_set(spec, "unhealthyPodEvictionPolicy") && policy != "AlwaysAllow" && policy != "IfHealthyBudget") {
      out.push_back(
          not_supported(path.child("unhealthyPodEvictionPolicy"), policy, {"AlwaysAllow", "IfHealthyBudget"}));
    }
    check_label_selector(out, path.child("selector"), member(spec, "selector"));
    return out;
  }
};

}  // namespace

void add_policy_kinds(KindRegistry& registry) {
  KindInfo info = kind_info({"policy", "v1"}, "policy/v1", "PodDisruptionBudget", "poddisruptionbudgets",
                            "poddisruptionbudget", true);
  info.short_names = {"pdb"};
  info.has_generation = true;
  with_status(info);
  registry.add(std::make_unique<PodDisruptionBudgetKind>(std::move(info)));
}

}  // namespace dra::apiserver
