#include "pkg/cel/eval/eval_context.h"

#include <algorithm>

#include "pkg/base/utf8.h"
#include "pkg/cel/eval/eval_nodes.h"

namespace dra::cel {

void EvalContext::over_cost() {
  if (aborted == nullptr) abort(RuntimeCategory::kCostLimit, "operation cancelled: actual cost limit exceeded");
}

namespace {

// No message shows more of a text than this.
constexpr size_t kMaxMessage = 4096;

// From here on finding out how many code points a text has is work.
constexpr uint32_t kLongText = 256;

}  // namespace

bool EvalContext::over_size() {
  if (aborted == nullptr) {
    abort(RuntimeCategory::kSizeLimit, "operation cancelled: a value grows beyond the size this evaluator allows");
  }
  return false;
}

bool EvalContext::reserve_any(size_t bytes) {
  if (aborted != nullptr) return false;
  const size_t used = arena.used();
  if (used > memory_limit || bytes > memory_limit - used) return over_size();
  return spend(bytes / 32);
}

bool EvalContext::over_work() {
  if (arena.used() > memory_limit) return over_size();
  if (aborted == nullptr) {
    abort(RuntimeCategory::kSizeLimit, "operation cancelled: it takes more work than this evaluator allows");
  }
  return false;
}

lib::Budget EvalContext::budget() const {
  const size_t used = arena.used();
  const size_t memory = used >= memory_limit ? 0 : memory_limit - used;
  return {std::min(kMaxTextBytes, memory), work >= kMaxWork ? 0 : kMaxWork - work};
}

void EvalContext::settle(const lib::Budget& left) {
  work = std::max(work, kMaxWork - std::min(kMaxWork, left.steps));
}

uint64_t EvalContext::size_slow(const Value& v) {
  const bool counted = v.kind == Kind::kString && v.flag != 1 && v.length > kLongText;
  if (counted && !spend(v.length / 4)) return v.length;
  return cost_size(v);
}

Value EvalContext::string(std::string_view text) {
  return reserve_text(text.size()) ? Value::of_string(arena.copy(text)) : Value::of_error(aborted);
}

bool EvalContext::tick() {
  if (aborted != nullptr) return false;
  if (arena.used() > memory_limit) return over_size();
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
  return fail(category, arena.copy(utf8_prefix(message, kMaxMessage)), arena.copy(utf8_prefix(subject, kMaxMessage)));
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
