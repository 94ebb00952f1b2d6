// Type variables and their bindings (cel-go checker/types.go, mapping.go). Internal to pkg/cel.
#pragma once

#include <vector>

#include "pkg/cel/check/overloads.h"
#include "pkg/cel/value/types.h"

namespace dra::cel {

class TypeInference {
 public:
  explicit TypeInference(Arena& arena) : arena_(arena) {}

  const Type* fresh();

  // Whether a value of type `from` can be used as `to`; on success records what that binds the variables to.
  bool assignable(const Type* from, const Type* to);
  // The result type of a call of this overload, or null when the arguments do not fit.
  const Type* match(const Overload& overload, const std::vector<const Type*>& args);
  // The type with variables replaced; free ones become dyn if wanted.
  const Type* substitute(const Type* type, bool free_to_dyn);
  const Type* more_general(const Type* a, const Type* b);

  // True when the work bound was reached: types can grow exponentially with the length of an expression. Every answer
  // given since is meaningless.
  bool exhausted() const { return work_ > kMaxWork; }
  void give_up() { work_ = kMaxWork + 1; }
  static constexpr uint32_t kMaxTypeSize = 5000;

 private:
  static constexpr uint64_t kMaxWork = 2'000'000;

  struct Change {
    uint32_t variable;
    const Type* previous;
  };

  bool spend();
  const Type* bound(const Type* variable) const { return bindings_[variable->variable]; }
  void bind(const Type* variable, const Type* to);
  void undo(size_t mark);
  bool internal(const Type* from, const Type* to);
  bool internal_params(const Type* from, const Type* to);
  bool substitution_valid(const Type* type, const Type* variable, bool& had_binding);
  bool not_referenced(const Type* variable, const Type* within);
  bool equal_or_less_specific(const Type* a, const Type* b);
  const Type* instantiate(const Type* type, uint32_t first_variable);
  const Type* rebuild(const Type* type, const std::vector<const Type*>& params);

  Arena& arena_;
  std::vector<const Type*> variables_;
  std::vector<const Type*> bindings_;
  std::vector<Change> trail_;
  uint64_t work_ = 0;
};

}  // namespace dra::cel
