#include "pkg/cel/value/types.h"

#include <algorithm>
#include <array>

namespace dra::cel {
namespace {

constexpr size_t kSimpleKinds = static_cast<size_t>(TypeKind::kError) + 1;

struct NamedType {
  std::string_view name;
  TypeKind kind;
  std::string_view object;  // of kObject and kOpaque
};

// The spelling of types in declarations.
constexpr NamedType kNamedTypes[] = {
    {"bool", TypeKind::kBool, ""},
    {"int", TypeKind::kInt, ""},
    {"uint", TypeKind::kUint, ""},
    {"double", TypeKind::kDouble, ""},
    {"string", TypeKind::kString, ""},
    {"bytes", TypeKind::kBytes, ""},
    {"null", TypeKind::kNull, ""},
    {"null_type", TypeKind::kNull, ""},
    {"duration", TypeKind::kDuration, ""},
    {"google.protobuf.Duration", TypeKind::kDuration, ""},
    {"timestamp", TypeKind::kTimestamp, ""},
    {"google.protobuf.Timestamp", TypeKind::kTimestamp, ""},
    {"any", TypeKind::kAny, ""},
    {"google.protobuf.Any", TypeKind::kAny, ""},
    {"dyn", TypeKind::kDyn, ""},
    {"Quantity", TypeKind::kObject, "kubernetes.Quantity"},
    {"Semver", TypeKind::kObject, "kubernetes.Semver"},
    {"URL", TypeKind::kObject, "kubernetes.URL"},
    {"Format", TypeKind::kObject, "kubernetes.NamedFormat"},
    {"Device", TypeKind::kObject, "kubernetes.DRADevice"},
    {"IP", TypeKind::kOpaque, "net.IP"},
    {"CIDR", TypeKind::kOpaque, "net.CIDR"},
    {"net.IP", TypeKind::kOpaque, "net.IP"},
    {"net.CIDR", TypeKind::kOpaque, "net.CIDR"},
    {"Authorizer", TypeKind::kObject, "kubernetes.authorization.Authorizer"},
    {"PathCheck", TypeKind::kObject, "kubernetes.authorization.PathCheck"},
    {"GroupCheck", TypeKind::kObject, "kubernetes.authorization.GroupCheck"},
    {"ResourceCheck", TypeKind::kObject, "kubernetes.authorization.ResourceCheck"},
    {"Decision", TypeKind::kObject, "kubernetes.authorization.Decision"},
};

const Type* with_params(Arena& arena, TypeKind kind, std::string_view name, const std::vector<const Type*>& params) {
  auto** copy = static_cast<const Type**>(arena.allocate(sizeof(const Type*) * (params.size() + 1), alignof(Type*)));
  uint64_t size = 1;
  for (size_t i = 0; i < params.size(); ++i) {
    copy[i] = params[i];
    size += params[i]->size;
  }
  Type type;
  type.size = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
  type.kind = kind;
  type.name = arena.copy(name);
  type.params = copy;
  type.param_count = static_cast<uint8_t>(params.size());
  return arena.make<Type>(type);
}

std::string param_list(const Type* type, std::string (*text)(const Type*)) {
  std::string out = "(";
  for (size_t i = 0; i < type->param_count; ++i) {
    if (i > 0) out += ", ";
    out += text(type->param(i));
  }
  return out + ")";
}

// A parser of type spellings; depth is bounded because declarations are short and ours.
class TypeParser {
 public:
  TypeParser(Arena& arena, std::string_view text, std::vector<std::string>& names)
      : arena_(arena), text_(text), names_(names) {}

  const Type* parse() {
    const Type* type = one(0);
    skip_blanks();
    return at_ == text_.size() ? type : nullptr;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  const Type* one(int depth) {
    if (depth > 32) return nullptr;
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '<') {
      size_t close = text_.find('>', at_);
      if (close == std::string_view::npos) return nullptr;
      std::string name(text_.substr(at_ + 1, close - at_ - 1));
      at_ = close + 1;
      return parameter(name);
    }
    size_t start = at_;
    while (at_ < text_.size() && text_[at_] != '(' && text_[at_] != ')' && text_[at_] != ',') ++at_;
    std::string_view name = text_.substr(start, at_ - start);
    std::vector<const Type*> params;
    if (at_ < text_.size() && text_[at_] == '(') {
      do {
        ++at_;
        const Type* param = one(depth + 1);
        if (param == nullptr) return nullptr;
        params.push_back(param);
        skip_blanks();
      } while (at_ < text_.size() && text_[at_] == ',');
      if (at_ == text_.size() || text_[at_] != ')') return nullptr;
      ++at_;
    }
    return named(name, params);
  }

  const Type* parameter(const std::string& name) {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return make_variable(arena_, static_cast<uint32_t>(i));
    }
    names_.push_back(name);
    return make_variable(arena_, static_cast<uint32_t>(names_.size() - 1));
  }

  const Type* named(std::string_view name, const std::vector<const Type*>& params) {
    if (name.empty()) return nullptr;
    if (name == "list" && params.size() == 1) return make_list(arena_, params[0]);
    if (name == "map" && params.size() == 2) return make_map_type(arena_, params[0], params[1]);
    if (name == "type" && params.size() <= 1) {
      return make_type_type(arena_, params.empty() ? simple_type(TypeKind::kDyn) : params[0]);
    }
    if ((name == "optional" || name == "optional_type") && params.size() == 1) return make_optional(arena_, params[0]);
    if (params.empty()) {
      for (const NamedType& t : kNamedTypes) {
        if (t.name != name) continue;
        if (t.kind == TypeKind::kObject) return make_object(arena_, t.object);
        if (t.kind == TypeKind::kOpaque) return make_opaque(arena_, t.object, {});
        return simple_type(t.kind);
      }
    }
    return make_opaque(arena_, name, params);
  }

  Arena& arena_;
  std::string_view text_;
  std::vector<std::string>& names_;
  size_t at_ = 0;
};

}  // namespace

const Type* simple_type(TypeKind kind) {
  static const auto types = [] {
    std::array<Type, kSimpleKinds> all;
    for (size_t i = 0; i < kSimpleKinds; ++i) all[i].kind = static_cast<TypeKind>(i);
    return all;
  }();
  return &types[static_cast<size_t>(kind)];
}

const Type* make_list(Arena& arena, const Type* element) {
  return with_params(arena, TypeKind::kList, "", {element});
}
const Type* make_map_type(Arena& arena, const Type* key, const Type* value) {
  return with_params(arena, TypeKind::kMap, "", {key, value});
}
const Type* make_type_type(Arena& arena, const Type* of) {
  return with_params(arena, TypeKind::kType, "", {of});
}
const Type* make_optional(Arena& arena, const Type* of) {
  return with_params(arena, TypeKind::kOpaque, "optional_type", {of});
}
const Type* make_opaque(Arena& arena, std::string_view name, const std::vector<const Type*>& params) {
  return with_params(arena, TypeKind::kOpaque, name, params);
}
const Type* make_object(Arena& arena, std::string_view name) {
  return with_params(arena, TypeKind::kObject, name, {});
}
const Type* make_variable(Arena& arena, uint32_t number) {
  Type type;
  type.kind = TypeKind::kParam;
  type.variable = number;
  return arena.make<Type>(type);
}

bool same_type(const Type* a, const Type* b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->param_count != b->param_count || a->name != b->name || a->variable != b->variable) {
    return false;
  }
  for (size_t i = 0; i < a->param_count; ++i) {
    if (!same_type(a->param(i), b->param(i))) return false;
  }
  return true;
}

constexpr uint32_t kMaxShownSize = 2000;

std::string checker_text(const Type* type) {
  if (type->size > kMaxShownSize) return "(a type of " + std::to_string(type->size) + " parts)";
  switch (type->kind) {
    case TypeKind::kBool:
      return "bool";
    case TypeKind::kInt:
      return "int";
    case TypeKind::kUint:
      return "uint";
    case TypeKind::kDouble:
      return "double";
    case TypeKind::kString:
      return "string";
    case TypeKind::kBytes:
      return "bytes";
    case TypeKind::kNull:
      return "null";
    case TypeKind::kDuration:
      return "duration";
    case TypeKind::kTimestamp:
      return "timestamp";
    case TypeKind::kAny:
      return "any";
    case TypeKind::kDyn:
      return "dyn";
    case TypeKind::kError:
      return "!error!";
    case TypeKind::kList:
      return "list" + param_list(type, checker_text);
    case TypeKind::kMap:
      return "map" + param_list(type, checker_text);
    case TypeKind::kType:
      return "type" + param_list(type, checker_text);
    case TypeKind::kObject:
      return std::string(type->name);
    case TypeKind::kParam:
      return "_var" + std::to_string(type->variable);
    case TypeKind::kOpaque: {
      std::string out(type->name);
      return type->param_count == 0 ? out : out + param_list(type, checker_text);
    }
  }
  return "";
}

std::string runtime_text(const Type* type) {
  if (type->size > kMaxShownSize) return checker_text(type);
  switch (type->kind) {
    case TypeKind::kNull:
      return "null_type";
    case TypeKind::kDuration:
      return "google.protobuf.Duration";
    case TypeKind::kTimestamp:
      return "google.protobuf.Timestamp";
    case TypeKind::kAny:
      return "google.protobuf.Any";
    case TypeKind::kList:
      return "list" + param_list(type, runtime_text);
    case TypeKind::kMap:
      return "map" + param_list(type, runtime_text);
    case TypeKind::kType:
      return "type" + param_list(type, runtime_text);
    case TypeKind::kOpaque: {
      std::string out(type->name);
      return type->param_count == 0 ? out : out + param_list(type, runtime_text);
    }
    default:
      return checker_text(type);
  }
}

const Type* parse_type(Arena& arena, std::string_view text, std::vector<std::string>& names) {
  return TypeParser(arena, text, names).parse();
}

}  // namespace dra::cel
