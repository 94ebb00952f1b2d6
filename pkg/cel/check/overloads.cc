#include "pkg/cel/check/overloads.h"

#include "pkg/base/check.h"

namespace dra::cel {
namespace {

uint32_t bit(Kind kind) {
  return 1u << static_cast<unsigned>(kind);
}

uint32_t kinds_of(const Type* type) {
  switch (type->kind) {
    case TypeKind::kBool:
      return bit(Kind::kBool);
    case TypeKind::kInt:
      return bit(Kind::kInt);
    case TypeKind::kUint:
      return bit(Kind::kUint);
    case TypeKind::kDouble:
      return bit(Kind::kDouble);
    case TypeKind::kString:
      return bit(Kind::kString);
    case TypeKind::kBytes:
      return bit(Kind::kBytes);
    case TypeKind::kNull:
      return bit(Kind::kNull);
    case TypeKind::kDuration:
      return bit(Kind::kDuration);
    case TypeKind::kTimestamp:
      return bit(Kind::kTimestamp);
    case TypeKind::kList:
      return bit(Kind::kList);
    case TypeKind::kMap:
      return bit(Kind::kMap);
    case TypeKind::kType:
      return bit(Kind::kType);
    case TypeKind::kOpaque:
      if (type->is_optional()) return bit(Kind::kOptional);
      return type->name == "net.IP" ? bit(Kind::kIp) : type->name == "net.CIDR" ? bit(Kind::kCidr) : 0;
    case TypeKind::kObject:
      if (type->name == "kubernetes.Quantity") return bit(Kind::kQuantity);
      if (type->name == "kubernetes.Semver") return bit(Kind::kSemver);
      if (type->name == "kubernetes.URL") return bit(Kind::kUrl);
      return type->name == "kubernetes.NamedFormat" ? bit(Kind::kFormat) : 0;
    default:
      return ~0u;
  }
}

Guard guard_of(const Type* type) {
  Guard guard;
  guard.kinds = kinds_of(type);
  // Parts that are containers themselves are the function's business.
  auto part = [](const Type* t) { return t->param_count > 0 ? ~0u : kinds_of(t); };
  if (type->kind == TypeKind::kList || type->kind == TypeKind::kMap) guard.first = part(type->param(0));
  if (type->kind == TypeKind::kMap) guard.first_value = part(type->param(1));
  return guard;
}

// Splits "a, map(b, c)" at the commas outside parentheses.
std::vector<std::string_view> split_params(std::string_view text) {
  std::vector<std::string_view> out;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ',';
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      std::string_view part = text.substr(start, i - start);
      while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
      if (!part.empty()) out.push_back(part);
      start = i + 1;
    }
  }
  return out;
}

size_t matching_paren(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

bool by_function_name(CostRule rule) {
  return rule >= CostRule::kNamedOne && rule <= CostRule::kIncludes;
}

bool Guard::accepts(const Value& v) const {
  if ((kinds & bit(v.kind)) == 0) return false;
  if (v.kind == Kind::kList) return first == ~0u || v.list->size == 0 || (first & bit(v.list->items[0].kind)) != 0;
  if (v.kind == Kind::kMap && v.map->size > 0) {
    return (first & bit(v.map->entries[0].key.kind)) != 0 && (first_value & bit(v.map->entries[0].value.kind)) != 0;
  }
  return true;
}

bool fill_overload(Arena& arena, const OverloadSpec& spec, Overload& out) {
  out.function = spec.function;
  out.id = spec.id;
  out.implementation = spec.implementation;
  out.cost = spec.cost;
  out.environments = spec.environments;
  std::string_view text = spec.signature;
  std::vector<std::string_view> params;
  size_t dot = text.find(".(");
  size_t open = 0;
  if (dot != std::string_view::npos) {
    out.receiver = true;
    params.push_back(text.substr(0, dot));
    open = dot + 1;
  }
  size_t close = matching_paren(text, open);
  if (close == std::string_view::npos) return false;
  for (std::string_view p : split_params(text.substr(open + 1, close - open - 1))) params.push_back(p);
  std::vector<std::string> names;
  for (std::string_view p : params) {
    const Type* type = parse_type(arena, p, names);
    if (type == nullptr) return false;
    out.params.push_back(type);
    out.guards.push_back(guard_of(type));
    if (spec.cost == CostRule::kQuadratic) out.guards.back().first = ~0u;  // they report what cannot be sorted
  }
  std::string_view result = text.substr(close + 1);
  while (!result.empty() && result.front() == ' ') result.remove_prefix(1);
  out.result = parse_type(arena, result, names);
  out.type_params = static_cast<uint32_t>(names.size());
  return out.result != nullptr;
}

const std::vector<Overload>& all_overloads() {
  static Arena arena;
  static const std::vector<Overload> overloads = [] {
    SpecList specs;
    add_operator_specs(specs);
    add_conversion_specs(specs);
    add_string_specs(specs);
    add_time_specs(specs);
    add_optional_specs(specs);
    add_list_specs(specs);
    add_kubernetes_specs(specs);
    add_net_specs(specs);
    add_authz_specs(specs);
    std::vector<Overload> out(specs.size());
    for (size_t i = 0; i < specs.size(); ++i) DRA_CHECK(fill_overload(arena, specs[i], out[i]));
    return out;
  }();
  return overloads;
}

}  // namespace dra::cel
