#include "pkg/cel/check/type_inference.h"

namespace dra::cel {
namespace {

bool is_nullable(const Type* type) {
  switch (type->kind) {
    case TypeKind::kNull:
    case TypeKind::kAny:
    case TypeKind::kDuration:
    case TypeKind::kTimestamp:
    case TypeKind::kObject:
    case TypeKind::kOpaque:
      return true;
    default:
      return false;
  }
}

bool has_variables(const Type* type) {
  if (type->kind == TypeKind::kParam) return true;
  for (size_t i = 0; i < type->param_count; ++i) {
    if (has_variables(type->param(i))) return true;
  }
  return false;
}

}  // namespace

bool TypeInference::spend() {
  return ++work_ <= kMaxWork;
}

const Type* TypeInference::fresh() {
  const Type* v = make_variable(arena_, static_cast<uint32_t>(bindings_.size()));
  bindings_.push_back(nullptr);
  variables_.push_back(v);
  return v;
}

void TypeInference::bind(const Type* variable, const Type* to) {
  trail_.push_back({variable->variable, bindings_[variable->variable]});
  bindings_[variable->variable] = to;
}

void TypeInference::undo(size_t mark) {
  while (trail_.size() > mark) {
    bindings_[trail_.back().variable] = trail_.back().previous;
    trail_.pop_back();
  }
}

bool TypeInference::assignable(const Type* from, const Type* to) {
  size_t mark = trail_.size();
  if (internal(from, to)) return true;
  undo(mark);
  return false;
}

const Type* TypeInference::match(const Overload& overload, const std::vector<const Type*>& args) {
  size_t mark = trail_.size();
  auto first = static_cast<uint32_t>(bindings_.size());
  for (uint32_t i = 0; i < overload.type_params; ++i) fresh();
  for (size_t i = 0; i < args.size(); ++i) {
    const Type* param = overload.type_params == 0 ? overload.params[i] : instantiate(overload.params[i], first);
    if (!internal(args[i], param)) {
      undo(mark);
      return nullptr;
    }
  }
  if (overload.type_params == 0) return overload.result;
  return substitute(instantiate(overload.result, first), false);
}

const Type* TypeInference::rebuild(const Type* type, const std::vector<const Type*>& params) {
  for (const Type* p : params) {
    if (p->size > kMaxTypeSize) {
      give_up();
      return simple_type(TypeKind::kDyn);
    }
  }
  switch (type->kind) {
    case TypeKind::kList:
      return make_list(arena_, params[0]);
    case TypeKind::kMap:
      return make_map_type(arena_, params[0], params[1]);
    case TypeKind::kType:
      return make_type_type(arena_, params[0]);
    default:
      return make_opaque(arena_, type->name, params);
  }
}

const Type* TypeInference::instantiate(const Type* type, uint32_t first_variable) {
  if (type->kind == TypeKind::kParam) return variables_[first_variable + type->variable];
  if (type->param_count == 0 || !has_variables(type)) return type;
  std::vector<const Type*> params;
  for (size_t i = 0; i < type->param_count; ++i) params.push_back(instantiate(type->param(i), first_variable));
  return rebuild(type, params);
}

const Type* TypeInference::substitute(const Type* type, bool free_to_dyn) {
  if (!spend()) return simple_type(TypeKind::kDyn);
  if (type->kind == TypeKind::kParam) {
    if (const Type* to = bound(type)) return substitute(to, free_to_dyn);
    return free_to_dyn ? simple_type(TypeKind::kDyn) : type;
  }
  if (type->param_count == 0) return type;
  std::vector<const Type*> params;
  bool changed = false;
  for (size_t i = 0; i < type->param_count; ++i) {
    params.push_back(substitute(type->param(i), free_to_dyn));
    changed = changed || params.back() != type->param(i);
  }
  return changed ? rebuild(type, params) : type;
}

bool TypeInference::internal_params(const Type* from, const Type* to) {
  if (from->param_count != to->param_count) return false;
  for (size_t i = 0; i < from->param_count; ++i) {
    if (!internal(from->param(i), to->param(i))) return false;
  }
  return true;
}

bool TypeInference::internal(const Type* from, const Type* to) {
  if (!spend()) return false;
  if (to->kind == TypeKind::kParam) {
    bool had_binding = false;
    if (substitution_valid(from, to, had_binding)) return true;
    if (had_binding) return false;
  }
  if (from->kind == TypeKind::kParam) {
    bool had_binding = false;
    return substitution_valid(to, from, had_binding);
  }
  if (from->is_dyn_or_error() || to->is_dyn_or_error()) return true;
  if (from->kind == TypeKind::kNull) return is_nullable(to);
  if (to->kind == TypeKind::kNull) return is_nullable(from);
  if (from->kind != to->kind) return false;
  switch (from->kind) {
    case TypeKind::kType:
      return true;
    case TypeKind::kObject:
      return from->name == to->name;
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap:
      return from->name == to->name && internal_params(from, to);
    default:
      return true;
  }
}

bool TypeInference::substitution_valid(const Type* type, const Type* variable, bool& had_binding) {
  had_binding = true;
  if (type->kind == TypeKind::kParam && same_type(type, variable)) return true;
  if (const Type* to = bound(variable)) {
    if (type->kind == to->kind && same_type(type, to)) return true;
    if (!internal(type, to)) return false;
    const Type* general = more_general(type, to);
    if (not_referenced(variable, general)) bind(variable, general);
    return true;
  }
  had_binding = false;
  if (!not_referenced(variable, type)) return false;
  bind(variable, type);
  return true;
}

bool TypeInference::not_referenced(const Type* variable, const Type* within) {
  if (!spend()) return false;
  if (within->kind == TypeKind::kParam) {
    if (same_type(variable, within)) return false;
    const Type* to = bound(within);
    return to == nullptr || not_referenced(variable, to);
  }
  for (size_t i = 0; i < within->param_count; ++i) {
    if (!not_referenced(variable, within->param(i))) return false;
  }
  return true;
}

const Type* TypeInference::more_general(const Type* a, const Type* b) {
  return equal_or_less_specific(a, b) ? a : b;
}

bool TypeInference::equal_or_less_specific(const Type* a, const Type* b) {
  if (!spend()) return false;
  if (a->is_dyn() || a->kind == TypeKind::kParam) return true;
  if (b->is_dyn() || b->kind == TypeKind::kParam) return false;
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap:
      if (a->name != b->name || a->param_count != b->param_count) return false;
      for (size_t i = 0; i < a->param_count; ++i) {
        if (!equal_or_less_specific(a->param(i), b->param(i))) return false;
      }
      return true;
    case TypeKind::kType:
      return true;
    default:
      return same_type(a, b);
  }
}

}  // namespace dra::cel
