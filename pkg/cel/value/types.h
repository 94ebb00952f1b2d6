// The static types of the language, as the checker uses them (cel-spec "Gradual Type Checking", cel-go common/types).
//
// Types are immutable. Those without parameters are shared singletons; the others live in the arena of one compilation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/cel/lib/arena.h"

namespace dra::cel {

enum class TypeKind : uint8_t {
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kNull,
  kDuration,
  kTimestamp,
  kAny,
  kDyn,
  kError,
  kList,
  kMap,
  kType,
  kOpaque,  // optional_type(T), net.IP
  kObject,  // kubernetes.DRADevice, kubernetes.Quantity
  kParam,   // a free type variable, or, in a declaration, a named parameter
};

struct Type {
  TypeKind kind = TypeKind::kDyn;
  uint8_t param_count = 0;
  uint32_t variable = 0;  // kParam: its number
  uint32_t size = 1;      // nodes when written out, saturating; shared parts count each time
  std::string_view name;  // kOpaque, kObject
  const Type* const* params = nullptr;

  const Type* param(size_t i) const { return params[i]; }
  bool is_optional() const { return kind == TypeKind::kOpaque && name == "optional_type"; }
  bool is_dyn() const { return kind == TypeKind::kDyn || kind == TypeKind::kAny; }
  bool is_dyn_or_error() const { return is_dyn() || kind == TypeKind::kError; }
};

// The singleton of a kind without parameters.
const Type* simple_type(TypeKind kind);
const Type* make_list(Arena& arena, const Type* element);
const Type* make_map_type(Arena& arena, const Type* key, const Type* value);
const Type* make_type_type(Arena& arena, const Type* of);
const Type* make_optional(Arena& arena, const Type* of);
const Type* make_opaque(Arena& arena, std::string_view name, const std::vector<const Type*>& params);
const Type* make_object(Arena& arena, std::string_view name);
const Type* make_variable(Arena& arena, uint32_t number);

// Same kind, name and parameters (and the same variable).
bool same_type(const Type* a, const Type* b);

// How the checker's messages spell a type: "any", "null", "duration", "list(int)".
std::string checker_text(const Type* type);
// How a Go type prints itself, used by the output type rule: "google.protobuf.Any", "null_type".
std::string runtime_text(const Type* type);

// Reads the spelling of declarations: "map(string, <T>)", "optional(<V>)", "quantity", "timestamp", "tuple(<T>, <U>)".
// Type parameters become kParam types numbered by their order of appearance in `names`. Null for a malformed text.
const Type* parse_type(Arena& arena, std::string_view text, std::vector<std::string>& names);

}  // namespace dra::cel
