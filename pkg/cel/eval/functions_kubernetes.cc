// Quantities, versions and named formats: k8s.io/apiserver/pkg/cel/library/{quantity,semverlib,format}.go.
#include "pkg/api/quantity.h"
#include "pkg/api/semver.h"
#include "pkg/cel/check/overloads.h"
#include "pkg/cel/eval/function_support.h"
#include "pkg/cel/lib/named_format.h"

namespace dra::cel {
namespace {

using api::Quantity;
using api::Semver;

Value quantity_value(EvalContext& c, const Quantity& q) {
  return Value::of_quantity(c.arena.make<Quantity>(q));
}

Value quantity(EvalContext& c, const Value* a) {
  auto parsed = Quantity::parse(a[0].str());
  return parsed ? quantity_value(c, *parsed) : c.fail_copy(RuntimeCategory::kQuantityParse, parsed.error().message());
}
Value is_quantity(EvalContext&, const Value* a) {
  return Value::of_bool(Quantity::parse(a[0].str()).has_value());
}
Value sign(EvalContext&, const Value* a) {
  return Value::of_int(a[0].quantity->sign());
}
Value as_integer(EvalContext& c, const Value* a) {
  auto v = a[0].quantity->as_int64();
  return v ? Value::of_int(*v) : c.fail(RuntimeCategory::kQuantityNotInt, "cannot convert value to integer");
}
Value is_integer(EvalContext&, const Value* a) {
  return Value::of_bool(a[0].quantity->as_int64().has_value());
}
Value as_approximate(EvalContext&, const Value* a) {
  return Value::of_double(a[0].quantity->approximate());
}

Value sum_or_error(EvalContext& c, const Result<Quantity>& sum) {
  if (!sum) return c.abort(RuntimeCategory::kSizeLimit, c.arena.copy(sum.error().message()));
  Value v = quantity_value(c, *sum);
  if (!c.spend(value_weight(v))) return aborted(c);
  v.flag = kComputedQuantity;
  return v;
}
Value add(EvalContext& c, const Value* a) {
  return sum_or_error(c, a[0].quantity->add(*a[1].quantity));
}
Value sub(EvalContext& c, const Value* a) {
  return sum_or_error(c, a[0].quantity->sub(*a[1].quantity));
}
Value add_int(EvalContext& c, const Value* a) {
  return sum_or_error(c, a[0].quantity->add(Quantity::from_int64(a[1].i)));
}
Value sub_int(EvalContext& c, const Value* a) {
  return sum_or_error(c, a[0].quantity->sub(Quantity::from_int64(a[1].i)));
}

int three_way(int c) {
  return c < 0 ? -1 : c > 0 ? 1 : 0;
}
Value compare_quantities(EvalContext&, const Value* a) {
  return Value::of_int(three_way(a[0].quantity->compare(*a[1].quantity)));
}
Value quantity_greater(EvalContext&, const Value* a) {
  return Value::of_bool(a[0].quantity->compare(*a[1].quantity) > 0);
}
Value quantity_less(EvalContext&, const Value* a) {
  return Value::of_bool(a[0].quantity->compare(*a[1].quantity) < 0);
}

Result<Semver> parse_semver(const Value* a, bool with_flag) {
  return with_flag && a[1].b ? Semver::parse_normalized(a[0].str()) : Semver::parse(a[0].str());
}
template <bool kWithFlag>
Value semver(EvalContext& c, const Value* a) {
  auto parsed = parse_semver(a, kWithFlag);
  return parsed ? Value::of_semver(c.arena.make<Semver>(*parsed))
                : c.fail_copy(RuntimeCategory::kSemverParse, parsed.error().message());
}
template <bool kWithFlag>
Value is_semver(EvalContext&, const Value* a) {
  return Value::of_bool(parse_semver(a, kWithFlag).has_value());
}
// Numbers beyond int64 wrap around, as Go's conversion does.
Value major(EvalContext&, const Value* a) {
  return Value::of_int(static_cast<int64_t>(a[0].semver->major()));
}
Value minor(EvalContext&, const Value* a) {
  return Value::of_int(static_cast<int64_t>(a[0].semver->minor()));
}
Value patch(EvalContext&, const Value* a) {
  return Value::of_int(static_cast<int64_t>(a[0].semver->patch()));
}
Value compare_versions(EvalContext&, const Value* a) {
  return Value::of_int(three_way(a[0].semver->compare(*a[1].semver)));
}
Value version_greater(EvalContext&, const Value* a) {
  return Value::of_bool(a[0].semver->compare(*a[1].semver) > 0);
}
Value version_less(EvalContext&, const Value* a) {
  return Value::of_bool(a[0].semver->compare(*a[1].semver) < 0);
}

Value format_named(EvalContext& c, const Value* a) {
  const lib::NamedFormat* format = lib::find_named_format(a[0].str());
  return format == nullptr ? Value::of_optional(nullptr) : some(c, Value::of_format(format));
}

Value validate(EvalContext& c, const Value* a) {
  std::vector<std::string> problems = a[0].format->validate(a[1].str());
  if (problems.empty()) return Value::of_optional(nullptr);
  Value* items = new_items(c, problems.size());
  if (items == nullptr) return aborted(c);
  for (size_t i = 0; i < problems.size(); ++i) items[i] = c.string(problems[i]);
  return some(c, list_of(c, items, problems.size()));
}

constexpr std::string_view kFormatDns1123Label = "dns1123Label";
constexpr std::string_view kFormatDns1123LabelPrefix = "dns1123LabelPrefix";
constexpr std::string_view kFormatDns1123Subdomain = "dns1123Subdomain";
constexpr std::string_view kFormatDns1123SubdomainPrefix = "dns1123SubdomainPrefix";
constexpr std::string_view kFormatDns1035Label = "dns1035Label";
constexpr std::string_view kFormatDns1035LabelPrefix = "dns1035LabelPrefix";
constexpr std::string_view kFormatQualifiedName = "qualifiedName";
constexpr std::string_view kFormatLabelValue = "labelValue";
constexpr std::string_view kFormatUri = "uri";
constexpr std::string_view kFormatUuid = "uuid";
constexpr std::string_view kFormatByte = "byte";
constexpr std::string_view kFormatDate = "date";
constexpr std::string_view kFormatDatetime = "datetime";

template <const std::string_view& kName>
Value format_of(EvalContext&, const Value*) {
  return Value::of_format(lib::find_named_format(kName));
}

template <const std::string_view& kName>
void add_format(SpecList& out, std::string_view function) {
  out.push_back({function, function, "() Format", format_of<kName>, CostRule::kOne});
}

void add_format_specs(SpecList& out) {
  add_format<kFormatDns1123Label>(out, "format.dns1123Label");
  add_format<kFormatDns1123LabelPrefix>(out, "format.dns1123LabelPrefix");
  add_format<kFormatDns1123Subdomain>(out, "format.dns1123Subdomain");
  add_format<kFormatDns1123SubdomainPrefix>(out, "format.dns1123SubdomainPrefix");
  add_format<kFormatDns1035Label>(out, "format.dns1035Label");
  add_format<kFormatDns1035LabelPrefix>(out, "format.dns1035LabelPrefix");
  add_format<kFormatQualifiedName>(out, "format.qualifiedName");
  add_format<kFormatLabelValue>(out, "format.labelValue");
  add_format<kFormatUri>(out, "format.uri");
  add_format<kFormatUuid>(out, "format.uuid");
  add_format<kFormatByte>(out, "format.byte");
  add_format<kFormatDate>(out, "format.date");
  add_format<kFormatDatetime>(out, "format.datetime");
  out.push_back({"format.named", "format-named", "(string) optional(Format)", format_named, CostRule::kNamedOne});
  out.push_back(
      {"validate", "format-validate", "Format.(string) optional(list(string))", validate, CostRule::kValidate});
}

}  // namespace

void add_kubernetes_specs(SpecList& out) {
  const OverloadSpec specs[] = {
      {"quantity", "string_to_quantity", "(string) Quantity", quantity, CostRule::kParse},
      {"isQuantity", "is_quantity_string", "(string) bool", is_quantity, CostRule::kParse},
      {"sign", "quantity_sign", "(Quantity) int", sign, CostRule::kNamedOne},
      {"asInteger", "quantity_get_int", "Quantity.() int", as_integer, CostRule::kNamedOne},
      {"isInteger", "quantity_is_integer", "Quantity.() bool", is_integer, CostRule::kNamedOne},
      {"asApproximateFloat", "quantity_get_float", "Quantity.() double", as_approximate, CostRule::kNamedOne},
      {"add", "quantity_add", "Quantity.(Quantity) Quantity", add, CostRule::kNamedOne},
      {"add", "quantity_add_int", "Quantity.(int) Quantity", add_int, CostRule::kNamedOne},
      {"sub", "quantity_sub", "Quantity.(Quantity) Quantity", sub, CostRule::kNamedOne},
      {"sub", "quantity_sub_int", "Quantity.(int) Quantity", sub_int, CostRule::kNamedOne},
      {"compareTo", "quantity_compare_to", "Quantity.(Quantity) int", compare_quantities, CostRule::kNamedOne},
      {"isGreaterThan", "quantity_is_greater_than", "Quantity.(Quantity) bool", quantity_greater, CostRule::kNamedOne},
      {"isLessThan", "quantity_is_less_than", "Quantity.(Quantity) bool", quantity_less, CostRule::kNamedOne},
      {"semver", "string_to_semver", "(string) Semver", semver<false>, CostRule::kParse},
      {"semver", "string_bool_to_semver", "(string, bool) Semver", semver<true>, CostRule::kParse},
      {"isSemver", "is_semver_string", "(string) bool", is_semver<false>, CostRule::kParse},
      {"isSemver", "is_semver_string_bool", "(string, bool) bool", is_semver<true>, CostRule::kParse},
      {"major", "semver_major", "Semver.() int", major, CostRule::kNamedOne},
      {"minor", "semver_minor", "Semver.() int", minor, CostRule::kNamedOne},
      {"patch", "semver_patch", "Semver.() int", patch, CostRule::kNamedOne},
      {"compareTo", "semver_compare_to", "Semver.(Semver) int", compare_versions, CostRule::kNamedOne},
      {"isGreaterThan", "semver_is_greater_than", "Semver.(Semver) bool", version_greater, CostRule::kNamedOne},
      {"isLessThan", "semver_is_less_than", "Semver.(Semver) bool", version_less, CostRule::kNamedOne},
  };
  out.insert(out.end(), std::begin(specs), std::end(specs));
  add_format_specs(out);
}

}  // namespace dra::cel
