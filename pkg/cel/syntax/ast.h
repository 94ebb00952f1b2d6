// The syntax tree of one expression. Nodes live in the arena of one compilation; the checker writes its findings into
// them. A node may have two parents (optMap evaluates its receiver twice): passes must visit shared nodes once.
#pragma once

#include <cstdint>
#include <string_view>

#include "pkg/cel/lib/arena.h"
#include "pkg/cel/value/types.h"
#include "pkg/cel/value/value.h"

namespace dra::cel {

// Names of the operator functions (cel-go common/operators).
namespace op {
inline constexpr std::string_view kConditional = "_?_:_";
inline constexpr std::string_view kAnd = "_&&_";
inline constexpr std::string_view kOr = "_||_";
inline constexpr std::string_view kNot = "!_";
inline constexpr std::string_view kEquals = "_==_";
inline constexpr std::string_view kNotEquals = "_!=_";
inline constexpr std::string_view kLess = "_<_";
inline constexpr std::string_view kLessEquals = "_<=_";
inline constexpr std::string_view kGreater = "_>_";
inline constexpr std::string_view kGreaterEquals = "_>=_";
inline constexpr std::string_view kAdd = "_+_";
inline constexpr std::string_view kSubtract = "_-_";
inline constexpr std::string_view kMultiply = "_*_";
inline constexpr std::string_view kDivide = "_/_";
inline constexpr std::string_view kModulo = "_%_";
inline constexpr std::string_view kNegate = "-_";
inline constexpr std::string_view kIndex = "_[_]";
inline constexpr std::string_view kOptIndex = "_[?_]";
inline constexpr std::string_view kOptSelect = "_?._";
inline constexpr std::string_view kIn = "@in";
inline constexpr std::string_view kNotStrictlyFalse = "@not_strictly_false";
inline constexpr std::string_view kMapInsert = "cel.@mapInsert";
inline constexpr std::string_view kSortByKeys = "@sortByAssociatedKeys";
}  // namespace op

// The hidden accumulator of macros. '@' is not a token, so no expression can name it.
inline constexpr std::string_view kAccumulator = "@result";
inline constexpr std::string_view kUnusedVariable = "#unused";

enum class ExprKind : uint8_t { kBad, kConst, kIdent, kSelect, kCall, kList, kMap, kMessage, kComprehension };

struct Overload;

struct Expr;

struct Comprehension {
  std::string_view iter_var;
  std::string_view iter_var2;  // empty: one-variable form
  std::string_view accu_var;
  Expr* range = nullptr;
  Expr* init = nullptr;
  Expr* condition = nullptr;
  Expr* step = nullptr;
  Expr* result = nullptr;

  // cel.bind and its like: no iteration, only a name for a value.
  bool is_bind() const;
};

struct Expr {
  ExprKind kind = ExprKind::kBad;
  bool test_only = false;       // kSelect: has(e.f)
  bool leading_dot = false;     // kIdent: .x
  bool in_format_args = false;  // below a call of format()
  uint16_t parse_depth = 0;     // levels below that count against the recursion limit
  int32_t offset = 0;           // bytes into the source, where errors are shown
  uint32_t id = 0;              // dense, from 0
  Value constant;               // kConst
  std::string_view name;        // kIdent, kSelect (the field), kCall (the function), kMessage (the type)
  Expr* target = nullptr;       // kSelect: operand; kCall: receiver or null
  Expr** args = nullptr;        // kCall, kList; kMap: key, value, key, value ...; kMessage: values
  uint8_t* optional = nullptr;  // kList and kMessage per element, kMap per entry: written with '?'; null: none is
  uint32_t arg_count = 0;
  Comprehension* fold = nullptr;
  std::string_view* fields = nullptr;  // kMessage: names, one for each of args
  int32_t* field_offsets = nullptr;    // kMessage: where errors about them are shown

  // Written by the checker.
  const Type* type = nullptr;
  std::string_view variable;             // kIdent, kSelect: the variable or type name it denotes, or empty
  bool is_type_name = false;             // `variable` is a type ("int")
  const Overload** overloads = nullptr;  // kCall: all that match
  uint32_t overload_count = 0;

  uint32_t entry_count() const { return arg_count / 2; }
  bool is_call(std::string_view function) const { return kind == ExprKind::kCall && name == function; }
  bool is_optional_at(size_t i) const { return optional != nullptr && optional[i] != 0; }
};

inline bool Comprehension::is_bind() const {
  return iter_var == kUnusedVariable && range->kind == ExprKind::kList && range->arg_count == 0 &&
         condition->kind == ExprKind::kConst && condition->constant.kind == Kind::kBool && !condition->constant.b;
}

// Makes nodes with dense ids.
class AstBuilder {
 public:
  explicit AstBuilder(Arena& arena) : arena_(arena) {}
  Arena& arena() { return arena_; }
  uint32_t node_count() const { return next_id_; }

  Expr* node(ExprKind kind, int32_t offset);
  Expr* constant(int32_t offset, Value value);
  Expr* ident(int32_t offset, std::string_view name);
  Expr* select(int32_t offset, Expr* operand, std::string_view field, bool test_only = false);
  Expr* call(int32_t offset, std::string_view function, std::initializer_list<Expr*> args, Expr* target = nullptr);
  Expr* call(int32_t offset, std::string_view function, Expr* const* args, size_t count, Expr* target = nullptr);
  Expr* list(int32_t offset, std::initializer_list<Expr*> elements = {});
  Expr* map(int32_t offset);
  Expr* fold(int32_t offset, const Comprehension& fold);

 private:
  Expr** copy(Expr* const* items, size_t count);

  Arena& arena_;
  uint32_t next_id_ = 0;
};

// "a.b.c" when the expression is a plain chain of names, else empty. Allocated in the arena.
std::string_view qualified_name(const Expr* e, Arena& arena);

}  // namespace dra::cel
