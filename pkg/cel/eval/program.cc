// Evaluation of programs.
#include "pkg/cel/check/environment_rep.h"
#include "pkg/cel/eval/program_rep.h"

namespace dra::cel {
namespace {

constexpr size_t kInlineLocals = 16;
constexpr size_t kInlineBytes = 2048;

// Space for locals: on the stack for ordinary expressions.
struct Locals {
  Locals(uint32_t count, Arena& arena, EvalContext& c) {
    c.locals = count <= kInlineLocals ? reinterpret_cast<Value*>(values) : arena.array<Value>(count);
    c.lazy = count <= kInlineLocals ? nodes : arena.array<const Node*>(count);
  }
  // Every local is written before it is read: not initialised, as most expressions have none.
  alignas(Value) char values[kInlineLocals * sizeof(Value)];
  const Node* nodes[kInlineLocals];
};

void set_limits(EvalContext& c, const EvalLimits& limits) {
  c.cost_limit = limits.cost;
  c.memory_limit = limits.memory;
  c.interrupt = limits.interrupt;
}

std::string hint_for(const ErrorRep& error, const DeviceFacts& facts) {
  if (error.category == RuntimeCategory::kNoSuchKey && (error.attribute || error.capacity)) {
    std::string name(error.subject);
    std::string map = std::string(error.attribute ? "device.attributes" : "device.capacity") + "[\"" +
                      std::string(error.domain) + "\"]";
    return std::string(error.attribute ? "attribute" : "capacity") + " \"" + name + "\" in domain \"" +
           std::string(error.domain) + "\" is not published by this device of driver \"" +
           std::string(facts.driver.str()) + "\": guard it with \"" + name + "\" in " + map + " or use " + map + ".?" +
           name + ".orValue(...)";
  }
  if (error.category == RuntimeCategory::kNoSuchKey) {
    return "guard the selection with has() or use .? followed by orValue()";
  }
  if (error.category == RuntimeCategory::kCostLimit) {
    return "the selector takes too many steps on this device: test attributes directly instead of looping";
  }
  if (error.category == RuntimeCategory::kSizeLimit) {
    return "the selector makes or goes through texts or lists that are too large: test attributes directly";
  }
  return {};
}

void report_error(const ErrorRep& error, const DeviceFacts& facts, EvalResult& out) {
  out.error = error.category;
  out.message = error.message;
  out.hint = hint_for(error, facts);
}

std::string not_bool_message(const Value& v) {
  std::string type(type_name(v));
  std::string why;
  switch (v.kind) {
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
      why = "unsupported type conversion from '" + type + "' to bool";
      break;
    case Kind::kString:
    case Kind::kBytes:
      why = "unsupported native conversion from " + type + " to 'bool'";
      break;
    case Kind::kList:
    case Kind::kMap:
      why = "type conversion error from " + type + " to 'bool'";
      break;
    default:
      why = "type conversion error from '" + type.substr(type.rfind('.') + 1) + "' to 'bool'";
  }
  return "CEL result of type " + type + " could not be converted to bool: " + why;
}

}  // namespace

Program::Program(std::unique_ptr<const Rep> rep) : rep_(std::move(rep)) {}
Program::~Program() = default;

const Reads& Program::reads() const {
  return rep_->reads;
}
const std::string& Program::expression() const {
  return rep_->expression;
}
const std::string& Program::type() const {
  return rep_->type;
}

EvalResult Program::evaluate(const DeviceInput& device, const EvalLimits& limits) const {
  EvalResult out;
  std::string_view spoiled = device.spoiled(rep_->environment->list_attributes());
  if (!spoiled.empty()) {
    out.error = RuntimeCategory::kAttributeValue;
    out.message = spoiled;
    out.hint = "the driver published a value that no selector can be evaluated with; correct its ResourceSlice";
    return out;
  }
  alignas(std::max_align_t) char buffer[kInlineBytes];
  Arena arena(buffer, sizeof(buffer));
  EvalContext c(arena);
  Locals locals(rep_->locals, arena, c);
  set_limits(c, limits);
  c.device = &device.rep().device;
  c.facts = &device.rep().facts;
  Value v = rep_->root->eval(c);
  out.cost = c.aborted != nullptr ? c.cost_at_abort : c.cost;
  out.work = c.work;
  if (c.aborted != nullptr) {
    report_error(*c.aborted, *c.facts, out);
  } else if (v.kind == Kind::kBool) {
    out.value = v.b;
  } else if (v.is_error()) {
    report_error(*v.error, *c.facts, out);
  } else {
    out.error = RuntimeCategory::kNotBool;
    out.message = not_bool_message(v);
  }
  return out;
}

Value Program::evaluate_value(const DeviceInput& device, Arena& arena, EvalResult& out,
                              const EvalLimits& limits) const {
  const std::string_view spoiled = device.spoiled(rep_->environment->list_attributes());
  if (!spoiled.empty()) {
    out.error = RuntimeCategory::kAttributeValue;
    out.message = spoiled;
    return Value::null();
  }
  EvalContext c(arena);
  Locals locals(rep_->locals, arena, c);
  set_limits(c, limits);
  c.device = &device.rep().device;
  c.facts = &device.rep().facts;
  const Value v = rep_->root->eval(c);
  out.cost = c.aborted != nullptr ? c.cost_at_abort : c.cost;
  out.work = c.work;
  if (c.aborted != nullptr) {
    report_error(*c.aborted, *c.facts, out);
  } else if (v.is_error()) {
    report_error(*v.error, *c.facts, out);
  }
  return v;
}

Value Program::evaluate_value(const std::vector<Binding>& bindings, Arena& arena, const EvalLimits& limits,
                              uint64_t* cost) const {
  const Environment::Rep& env = *rep_->environment;
  EvalContext c(arena);
  Locals locals(rep_->locals, arena, c);
  set_limits(c, limits);
  static const DeviceInput kNoDevice;
  c.device = &kNoDevice.rep().device;
  c.facts = &kNoDevice.rep().facts;
  const Value** variables = arena.array<const Value*>(env.variable_names.size());
  for (const Binding& b : bindings) {
    const auto* variable = env.find_variable(b.name);
    if (variable != nullptr && variable->index < env.variable_names.size()) variables[variable->index] = &b.value;
  }
  c.variables = variables;
  Value v = rep_->root->eval(c);
  if (cost != nullptr) *cost = c.cost;
  return c.aborted != nullptr ? Value::of_error(c.aborted) : v;
}

}  // namespace dra::cel
