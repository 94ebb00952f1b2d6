#include "pkg/cel/eval_context.h"

namespace dra::cel {

void EvalContext::over_cost() {
  if (aborted == nullptr) abort(RuntimeCategory::kCostLimit, "operation cancelled: actual cost limit exceeded");
}

bool EvalContext::reserve(size_t bytes) {
  if (aborted != nullptr) return false;
  if (bytes > kMaxValueBytes || arena.used() + bytes > memory_limit) {
    abort(RuntimeCategory::kSizeLimit, "operation cancelled: a value grows beyond the size this evaluator allows");
    return false;
  }
  return true;
}

bool EvalContext::over_work() {
  if (aborted == nullptr) {
    abort(RuntimeCategory::kSizeLimit, "operation cancelled: it takes more work than this evaluator allows");
  }
  return false;
}

bool EvalContext::tick() {
  if (aborted != nullptr) return false;
  if (arena.used() > memory_limit) return reserve(1);
  if (++iterations % 100 == 0 && interrupt != nullptr && interrupt->load(std::memory_order_relaxed)) {
    abort(RuntimeCategory::kInterrupted, "operation interrupted");
    return false;
  }
  return true;
}

Value EvalContext::fail(RuntimeCategory category, std::string_view message, std::string_view subject) {
  auto* rep = arena.make<ErrorRep>();
  rep->category = category;
  rep->message = message;
  rep->subject = subject;
  return Value::of_error(rep);
}

Value EvalContext::fail_copy(RuntimeCategory category, std::string_view message, std::string_view subject) {
  return fail(category, arena.copy(message), arena.copy(subject));
}

Value EvalContext::abort(RuntimeCategory category, std::string_view message) {
  Value error = fail(category, message);
  if (aborted == nullptr) {
    aborted = error.error;
    cost_at_abort = cost;
  }
  return error;
}

Value EvalContext::no_overload() {
  static constexpr ErrorRep kError{RuntimeCategory::kNoSuchOverload, "no such overload", {}, {}, false, false};
  return Value::of_error(&kError);
}

Value EvalContext::no_overload(std::string_view function) {
  return fail_copy(RuntimeCategory::kNoSuchOverload, "no such overload: " + std::string(function));
}

Value EvalContext::no_operation(std::string_view function, const Value& operand) {
  const bool dispatches =
      operand.kind == Kind::kString || operand.kind == Kind::kDuration || operand.kind == Kind::kTimestamp;
  return dispatches ? no_overload() : no_overload(function);
}

Value EvalContext::no_overload_call(std::string_view function, const Value* args, size_t count) {
  std::string text = "no such overload: " + std::string(function) + "(";
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += type_name(args[i]);
  }
  return fail_copy(RuntimeCategory::kNoSuchOverload, text + ")");
}

}  // namespace dra::cel
