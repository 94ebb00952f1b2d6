#include "pkg/cel/check/cost_estimate.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace dra::cel {
namespace {

constexpr uint64_t kUnknown = UINT64_MAX;

// How many code points, bytes or elements a value may have.
struct Size {
  uint64_t min = 0;
  uint64_t max = kUnknown;

  static Size fixed(uint64_t n) { return {n, n}; }
  Size united(Size o) const { return {std::min(min, o.min), std::max(max, o.max)}; }
  Size plus(Size o) const { return {saturating_add(min, o.min), saturating_add(max, o.max)}; }
  Size times(Size o) const { return {saturating_multiply(min, o.min), saturating_multiply(max, o.max)}; }
  uint64_t cost(double factor) const { return scaled_cost(max, factor); }
};

// What is known about the parts of a list or map.
struct EntrySize {
  bool is_list = true;
  Size key = Size::fixed(1);
  Size value;
};

using Path = std::vector<std::string_view>;

struct NodeFacts {
  bool costed = false;
  uint64_t cost = 0;
  std::optional<Size> size;
  std::optional<EntrySize> entry;
  Path path;
};

struct LocalFacts {
  std::string_view name;
  std::optional<Size> size;
  std::optional<EntrySize> entry;
  Path path;
};

bool is_scalar(const Type* type) {
  switch (type->kind) {
    case TypeKind::kBool:
    case TypeKind::kDouble:
    case TypeKind::kDuration:
    case TypeKind::kInt:
    case TypeKind::kTimestamp:
    case TypeKind::kUint:
      return true;
    case TypeKind::kOpaque:
      return type->is_optional() && is_scalar(type->param(0));
    default:
      return false;
  }
}

bool is_text(const Type* type) {
  return type->kind == TypeKind::kString || type->kind == TypeKind::kBytes;
}

uint64_t add(uint64_t a, uint64_t b) {
  return saturating_add(a, b);
}

// The declared size at a path from `device` (resource.k8s.io limits: 32 attributes, names of 63 + 1 + 32, values of
// 64). Sizes of capacities are not declared: 0.
std::optional<uint64_t> declared_size(const Path& path) {
  if (path.empty() || path[0] != kDeviceVariable) return std::nullopt;
  if (path.size() == 1) return 0;
  if (path[1] == "driver") return path.size() == 2 ? std::optional<uint64_t>(63) : std::nullopt;
  if (path[1] == "allowMultipleAllocations") return path.size() == 2 ? std::optional<uint64_t>(1) : std::nullopt;
  bool attributes = path[1] == "attributes";
  if (!attributes && path[1] != "capacity") return std::nullopt;
  if (path.size() == 2) return 32;
  if (path[2] == "@keys") return path.size() == 3 ? std::optional<uint64_t>(63) : std::nullopt;
  if (path[2] != "@values" && path[2] != "@items") return std::nullopt;
  if (path.size() == 3) return 32;
  if (path[3] == "@keys") return path.size() == 4 ? std::optional<uint64_t>(32) : std::nullopt;
  if (path.size() > 4) return std::nullopt;
  // A name of an attribute counts like an index; that of a capacity does not.
  bool by_index = path[3] == "@values" || path[3] == "@items";
  if (attributes) return 64;
  return by_index ? std::optional<uint64_t>(0) : std::nullopt;
}

class Coster {
 public:
  Coster(const Environment::Rep& env, uint32_t nodes) : env_(env), facts_(nodes) {}

  uint64_t cost(const Expr* e) {
    NodeFacts& f = facts_[e->id];
    if (!f.costed) {
      uint64_t c = compute(e);
      f.cost = c;
      f.costed = true;
    }
    return f.cost;
  }

 private:
  uint64_t compute(const Expr* e) {
    switch (e->kind) {
      case ExprKind::kIdent:
        return ident_cost(e, e->name);
      case ExprKind::kSelect:
        return select_cost(e);
      case ExprKind::kCall:
        return call_cost(e);
      case ExprKind::kList:
        return list_cost(e);
      case ExprKind::kMap:
        return map_cost(e);
      case ExprKind::kMessage:
        return message_cost(e);
      case ExprKind::kComprehension:
        return e->fold->is_bind() ? bind_cost(e) : fold_cost(e);
      default:
        return 0;
    }
  }

  Path& path(const Expr* e) { return facts_[e->id].path; }
  void extend_path(const Expr* e, const Expr* from, std::string_view step) {
    Path p = path(from);
    p.push_back(step);
    facts_[e->id].path = std::move(p);
  }

  const LocalFacts* local(std::string_view name) const {
    for (size_t i = locals_.size(); i > 0; --i) {
      if (locals_[i - 1].name == name) return &locals_[i - 1];
    }
    return nullptr;
  }

  uint64_t ident_cost(const Expr* e, std::string_view name) {
    const LocalFacts* l = local(name);
    facts_[e->id].path = l != nullptr ? l->path : Path{name};
    return 1;
  }

  uint64_t select_cost(const Expr* e) {
    // A dotted name that is a variable of its own.
    if (!e->variable.empty()) return ident_cost(e, e->variable);
    uint64_t sum = cost(e->target);
    if (e->test_only) return sum;
    TypeKind kind = e->target->type->kind;
    if (kind == TypeKind::kMap || kind == TypeKind::kObject || kind == TypeKind::kParam) sum = add(sum, 1);
    extend_path(e, e->target, e->name);
    return sum;
  }

  uint64_t message_cost(const Expr* e) {
    uint64_t sum = kMessageCost;
    for (uint32_t i = 0; i < e->arg_count; ++i) sum = add(sum, cost(e->args[i]));
    return sum;
  }

  uint64_t list_cost(const Expr* e) {
    uint64_t sum = 10;
    Size element{e->arg_count == 0 ? 0 : kUnknown, 0};
    for (uint32_t i = 0; i < e->arg_count; ++i) {
      sum = add(sum, cost(e->args[i]));
      element = element.united(size_or_unknown(e->args[i]));
    }
    facts_[e->id].entry = EntrySize{true, Size::fixed(1), element};
    return sum;
  }

  uint64_t map_cost(const Expr* e) {
    uint64_t sum = 30;
    Size key{e->arg_count == 0 ? 0 : kUnknown, 0};
    Size value = key;
    for (uint32_t i = 0; i < e->arg_count; ++i) {
      sum = add(sum, cost(e->args[i]));
      Size& part = i % 2 == 0 ? key : value;
      part = part.united(size_or_unknown(e->args[i]));
    }
    facts_[e->id].entry = EntrySize{false, key, value};
    return sum;
  }

  std::optional<Size> estimated_size(const Path& p) const {
    if (!env_.device) return std::nullopt;
    auto n = declared_size(p);
    return n ? std::optional<Size>(Size{0, *n}) : std::nullopt;
  }

  std::optional<Size> computed_size(const Expr* e) {
    NodeFacts& f = facts_[e->id];
    if (f.size) return f.size;
    if (auto n = literal_size(e)) return Size::fixed(*n);
    if (auto size = estimated_size(f.path)) return f.size = size;
    if (is_scalar(e->type)) return Size::fixed(1);
    if (e->kind == ExprKind::kIdent) {
      if (const LocalFacts* l = local(e->name)) return l->size;
    }
    return std::nullopt;
  }

  static std::optional<uint64_t> literal_size(const Expr* e) {
    switch (e->kind) {
      case ExprKind::kConst:
        if (e->constant.kind == Kind::kString) return string_size(e->constant);
        return e->constant.kind == Kind::kBytes ? e->constant.length : 1;
      case ExprKind::kList:
        return e->arg_count;
      case ExprKind::kMap:
        return e->entry_count();
      default:
        return std::nullopt;
    }
  }

  Size size_or_unknown(const Expr* e) { return computed_size(e).value_or(Size{}); }

  std::optional<EntrySize> entry_size(const Expr* e) {
    if (facts_[e->id].entry) return facts_[e->id].entry;
    if (e->kind == ExprKind::kIdent) {
      if (const LocalFacts* l = local(e->name)) return l->entry;
    }
    return std::nullopt;
  }

  void copy_sizes(const Expr* to, const Expr* from) {
    if (auto size = computed_size(from)) facts_[to->id].size = size;
    if (auto entry = entry_size(from)) facts_[to->id].entry = entry;
  }

  void push_local(std::string_view name, const Expr* init) {
    locals_.push_back({name, computed_size(init), entry_size(init), path(init)});
  }

  // `value_of`: the element or value; else the key or index.
  void push_iteration(std::string_view name, const Expr* range, bool value_of) {
    auto entry = entry_size(range);
    bool is_list = entry ? entry->is_list : range->type->kind == TypeKind::kList;
    LocalFacts l{name, std::nullopt, std::nullopt, path(range)};
    if (entry) l.size = value_of ? entry->value : entry->key;
    l.path.push_back(value_of ? (is_list ? "@items" : "@values") : (is_list ? "@indices" : "@keys"));
    locals_.push_back(std::move(l));
  }

  uint64_t bind_cost(const Expr* e) {
    const Comprehension& f = *e->fold;
    uint64_t sum = add(cost(f.range), cost(f.init));
    push_local(f.accu_var, f.init);
    sum = add(sum, cost(f.result));
    copy_sizes(e, f.result);
    locals_.pop_back();
    return sum;
  }

  uint64_t fold_cost(const Expr* e) {
    const Comprehension& f = *e->fold;
    uint64_t sum = add(cost(f.range), cost(f.init));
    size_t scope = locals_.size();
    push_local(f.accu_var, f.init);
    if (f.iter_var2.empty()) {
      auto entry = entry_size(f.range);
      bool is_map = entry ? !entry->is_list : f.range->type->kind == TypeKind::kMap;
      push_iteration(f.iter_var, f.range, !is_map);
    } else {
      push_iteration(f.iter_var, f.range, false);
      push_iteration(f.iter_var2, f.range, true);
    }
    uint64_t loop = add(cost(f.condition), cost(f.step));
    auto step_entry = entry_size(f.step);
    locals_.resize(scope + 1);
    sum = add(sum, cost(f.result));
    locals_.resize(scope);
    Size count = size_or_unknown(f.range);
    sum = add(sum, saturating_multiply(count.max, loop));
    if (f.init->kind == ExprKind::kConst) facts_[e->id].size = Size::fixed(*literal_size(f.init));
    if (f.init->kind == ExprKind::kList || f.init->kind == ExprKind::kMap) {
      facts_[e->id].size = count;
      if (step_entry) facts_[e->id].entry = step_entry;
    }
    return sum;
  }

  // ---- calls

  struct Estimate {
    uint64_t cost = 1;
    std::optional<Size> result;
    bool includes_arguments = false;
  };

  static Estimate nominal(uint64_t cost, std::optional<Size> result = std::nullopt) { return {cost, result, false}; }

  uint64_t call_cost(const Expr* e) {
    if (e->name == "dyn" && e->arg_count == 1 && e->target == nullptr) {
      uint64_t c = add(cost(e->args[0]), 1);
      copy_sizes(e, e->args[0]);
      return c;
    }
    uint64_t arguments = 0;
    for (uint32_t i = 0; i < e->arg_count; ++i) arguments = add(arguments, cost(e->args[i]));
    uint64_t sum = e->target == nullptr ? 0 : cost(e->target);
    if (e->overload_count == 0 && e->name != op::kOptSelect) return 0;
    if (e->name == op::kConditional) {
      facts_[e->id].size = size_or_unknown(e->args[1]).united(size_or_unknown(e->args[2]));
      conditional_entry(e);
      return add(cost(e->args[0]), std::max(cost(e->args[1]), cost(e->args[2])));
    }
    if (e->name == op::kAnd || e->name == op::kOr) return arguments;
    if (e->name == op::kOptSelect) return add(arguments, 1);
    uint64_t most = 0;
    std::optional<Size> result;
    for (uint32_t i = 0; i < e->overload_count; ++i) {
      Estimate estimate = overload_estimate(e, *e->overloads[i]);
      most = std::max(most, estimate.cost);
      if (estimate.result) result = result ? result->united(*estimate.result) : *estimate.result;
      if (e->overloads[i]->id == "index_list") extend_path(e, e->args[0], "@items");
      if (e->overloads[i]->id == "index_map") extend_path(e, e->args[0], "@values");
    }
    if (result) facts_[e->id].size = result;
    return add(sum, add(arguments, most));
  }

  void conditional_entry(const Expr* e) {
    auto a = entry_size(e->args[1]);
    auto b = entry_size(e->args[2]);
    if (a && b && a->is_list == b->is_list) {
      facts_[e->id].entry = EntrySize{a->is_list, a->key.united(b->key), a->value.united(b->value)};
    } else if (a || b) {
      facts_[e->id].entry = a ? a : b;
    }
  }

  // The literal value of an argument, for functions whose cost depends on it.
  static uint64_t literal_or(const Expr* e, uint64_t otherwise) {
    if (e->kind != ExprKind::kConst || e->constant.kind != Kind::kInt) return otherwise;
    return e->constant.i < 0 ? 0 : static_cast<uint64_t>(e->constant.i);
  }

  static Estimate allocating(double factor, Size list) { return nominal(add(list.cost(factor), 11), list); }

  Estimate overload_estimate(const Expr* e, const Overload& o) {
    const Expr* target = e->target;
    const Expr* first = target != nullptr ? target : e->arg_count > 0 ? e->args[0] : nullptr;
    auto arg = [&](size_t i) { return e->args[i]; };
    auto size = [&](const Expr* x) { return size_or_unknown(x); };
    switch (o.cost) {
      case CostRule::kSetsContains:
        return nominal(add(1, size(arg(0)).times(size(arg(1))).cost(1)));
      case CostRule::kSetsEquivalent:
        return nominal(add(1, size(arg(0)).times(size(arg(1))).cost(2)));
      case CostRule::kSlice:
        return allocating(1, Size::fixed(literal_or(arg(1), size(target).max) - literal_or(arg(0), 0)));
      case CostRule::kRange:
        return allocating(1, Size::fixed(literal_or(arg(0), kUnknown)));
      case CostRule::kReverse:
        return allocating(1, size(target));
      case CostRule::kFlatten:
      case CostRule::kFlattenSaturating:
        return flatten(size(target), e->arg_count == 1 ? literal_or(arg(0), kUnknown) : 1);
      case CostRule::kQuadratic: {
        const Type* list = o.id == "list_distinct" ? target->type : o.params.back();
        bool text = list->kind == TypeKind::kList && is_text(list->param(0));
        return allocating(text ? 2.1 : 2, size(target).times(size(target)));
      }
      case CostRule::kTraverse:
        return traverse(target);
      case CostRule::kStringPass:
        return string_pass(first);
      case CostRule::kReplace:
        return replace(e);
      case CostRule::kSplit: {
        Size s = size(target);
        uint64_t most = s.max;
        if (e->arg_count > 1 && arg(1)->kind == ExprKind::kConst && arg(1)->constant.kind == Kind::kInt) {
          most = static_cast<uint64_t>(arg(1)->constant.i);
        }
        return nominal(s.cost(2 * 0.1), Size{0, most});
      }
      case CostRule::kJoin:
        return join(e);
      case CostRule::kFind: {
        Size s = size(target);
        uint64_t text = s.plus(Size::fixed(1)).cost(0.1);
        return nominal(saturating_multiply(text, size(arg(0)).cost(0.25)), s);
      }
      case CostRule::kParse:
        return nominal(target != nullptr ? 1 : size(arg(0)).cost(0.1));
      case CostRule::kCanonical:
        return nominal(size(arg(0)).cost(2 * 0.1));
      case CostRule::kContainsIp:
        return nominal(add(4, text_argument(e, o)));
      case CostRule::kContainsCidr:
        return nominal(add(7, text_argument(e, o)));
      case CostRule::kValidate:
        return nominal(scaled_cost(size(arg(0)).cost(0.1), 32));
      case CostRule::kAuthzCheck:
        return nominal(350'000);
      case CostRule::kIncludes:
        return target->type->param_count > 0 ? traverse(target) : nominal(size(target).max);
      case CostRule::kStringTenth:
        return string_tenth(e, o);
      case CostRule::kInList:
        return nominal(size(arg(1)).max);
      case CostRule::kCompare:
        return compare(e);
      case CostRule::kConcat: {
        Size s = size(arg(0)).plus(size(arg(1)));
        return nominal(s.cost(0.1), s);
      }
      case CostRule::kMatches: {
        uint64_t text = size(target).plus(Size::fixed(1)).cost(0.1);
        return nominal(saturating_multiply(text, size(arg(0)).cost(0.25)));
      }
      case CostRule::kContains:
        return nominal(saturating_multiply(size(target).cost(0.1), size(arg(0)).cost(0.1)));
      case CostRule::kNamedOne:
        return nominal(1);
      case CostRule::kOne:
        break;
    }
    if (o.id == "add_list") return add_list(e);
    if (o.id == "dra_includes_dyn_dyn") return nominal(48);
    return nominal(1);
  }

  Estimate add_list(const Expr* e) {
    auto a = entry_size(e->args[0]);
    auto b = entry_size(e->args[1]);
    if (a && b) {
      facts_[e->id].entry = EntrySize{true, a->key.united(b->key), a->value.united(b->value)};
    } else if (a || b) {
      facts_[e->id].entry = a ? a : b;
    }
    return nominal(1, size_or_unknown(e->args[0]).plus(size_or_unknown(e->args[1])));
  }

  // An argument that must be parsed first.
  uint64_t text_argument(const Expr* e, const Overload& o) {
    return o.params[1]->kind == TypeKind::kString ? size_or_unknown(e->args[0]).cost(0.1) : 0;
  }

  std::optional<Size> element_size(const Expr* list) {
    if (list->type->param_count == 0) return std::nullopt;
    Path p = path(list);
    if (!p.empty()) p.push_back("@items");
    return estimated_size(p).value_or(Size{});
  }

  Estimate traverse(const Expr* target) {
    Size s = size_or_unknown(target);
    if (target->type->param_count == 0) return nominal(s.cost(0.1));
    uint64_t each = 1;
    if (is_text(target->type->param(0))) each = add(each, element_size(target)->cost(0.1));
    return nominal(saturating_multiply(s.max, each));
  }

  Estimate string_pass(const Expr* text) {
    Size s = size_or_unknown(text);
    return nominal(s.cost(0.1), s);
  }

  // The longest and the shortest possible result.
  Estimate replace(const Expr* e) {
    Size s = size_or_unknown(e->target);
    Size from = size_or_unknown(e->args[0]);
    Size to = size_or_unknown(e->args[1]);
    Size count{0, 0};
    Size kept{0, 0};
    auto quotient = [](uint64_t a, uint64_t b) {
      double x = std::ceil(static_cast<double>(a) / static_cast<double>(b));
      return x >= 18446744073709551615.0 ? kUnknown : static_cast<uint64_t>(x);
    };
    if (from.min == 0) {
      count.max = add(s.max, 1);
      kept.max = s.max;
    } else if (to.max <= from.min) {
      kept.max = s.max;
    } else {
      count.max = quotient(s.max, from.min);
    }
    if (from.max == 0) {
      count.min = add(s.min, 1);
      kept.min = s.min;
    } else if (from.max <= to.min) {
      kept.min = s.min;
    } else {
      count.min = quotient(s.min, from.max);
    }
    return nominal(s.cost(2 * 0.1), count.times(to).plus(kept));
  }

  Estimate join(const Expr* e) {
    Size list = size_or_unknown(e->target);
    Size s{0, 0};
    if (auto element = element_size(e->target)) s = list.times(*element);
    if (e->arg_count > 0) {
      Size separators{list.min > 0 ? list.min - 1 : 0, list.max > 0 ? list.max - 1 : 0};
      s = s.plus(size_or_unknown(e->args[0]).times(separators));
    }
    return nominal(s.cost(0.1), s);
  }

  Estimate string_tenth(const Expr* e, const Overload& o) {
    if (o.id == "string_to_bytes") {
      Size s = size_or_unknown(e->args[0]);
      return nominal(s.cost(0.1), Size{s.min, saturating_multiply(s.max, 4)});
    }
    if (o.id == "bytes_to_string") {
      Size s = size_or_unknown(e->args[0]);
      return nominal(s.cost(0.1), Size{s.min / 4, s.max});
    }
    if (o.id == "strings_quote") {
      Size s = size_or_unknown(e->args[0]);
      return nominal(s.cost(0.1), Size{add(s.min, 2), add(saturating_multiply(s.max, 2), 2)});
    }
    if (o.id == "string_format") return nominal(size_or_unknown(e->target).cost(0.1));
    return nominal(size_or_unknown(e->args[0]).cost(0.1));
  }

  static Estimate flatten(Size list, uint64_t depth) {
    return nominal(add(list.times(Size::fixed(depth)).cost(1), 11), list);
  }

  Estimate compare_urls(const Expr* e) {
    auto a = computed_size(e->args[0]);
    auto b = computed_size(e->args[1]);
    return nominal(a && b ? a->united(*b).cost(0.1) : 1);
  }

  Estimate compare(const Expr* e) {
    const Type* a = e->args[0]->type;
    const Type* b = e->args[1]->type;
    if (e->name == op::kEquals && same_type(a, b)) {
      if (a->kind == TypeKind::kOpaque && (a->name == "net.IP" || a->name == "net.CIDR")) return nominal(1);
      if (a->kind == TypeKind::kObject) {
        if (a->name == "kubernetes.NamedFormat") return nominal(7);
        if (a->name == "kubernetes.URL") return compare_urls(e);
        if (a->name == "kubernetes.Quantity" || a->name == "kubernetes.Semver") return nominal(1);
      }
    }
    uint64_t smaller = std::min(size_or_unknown(e->args[0]).max, size_or_unknown(e->args[1]).max);
    return nominal(scaled_cost(smaller, 0.1));
  }

  const Environment::Rep& env_;
  std::vector<NodeFacts> facts_;
  std::vector<LocalFacts> locals_;
};

}  // namespace

uint64_t estimate_cost(const Expr* root, const Environment::Rep& environment, uint32_t node_count) {
  return Coster(environment, node_count).cost(root);
}

}  // namespace dra::cel
