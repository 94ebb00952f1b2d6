#include "pkg/cel/cel.h"

#include "pkg/base/utf8.h"
#include "pkg/cel/check/checker.h"
#include "pkg/cel/check/cost_estimate.h"
#include "pkg/cel/check/environment_rep.h"
#include "pkg/cel/eval/lower.h"
#include "pkg/cel/eval/program_rep.h"
#include "pkg/cel/syntax/parser.h"

namespace dra::cel {
namespace {

CompileResult refused(CompileError error) {
  CompileResult result;
  result.error = std::move(error);
  return result;
}

bool mentions_quantity(const std::string& message) {
  return message.find("kubernetes.Quantity") != std::string::npos;
}

// "driver, attributes, capacity, allowMultipleAllocations": those that this release has.
std::string fields_of_device(const Environment::Rep& env) {
  std::string list;
  for (const char* field : {"driver", "attributes", "capacity", "allowMultipleAllocations"})
    if (env.device_field(field) != nullptr) list += (list.empty() ? "" : ", ") + std::string(field);
  return list;
}

// What to write instead of the commonest mistakes.
std::string hint_for(const Issue& issue, const Environment::Rep& env) {
  if (issue.category == CompileCategory::kNoMatchingOverload) {
    bool ordering = false;
    for (std::string_view name : {"'_<_'", "'_<=_'", "'_>_'", "'_>=_'"}) {
      ordering = ordering || issue.message.find(name) != std::string::npos;
    }
    if (ordering &&
        (mentions_quantity(issue.message) || issue.message.find("kubernetes.Semver") != std::string::npos)) {
      return "quantities and versions have no ordering operators: write a.compareTo(b) >= 0, a.isGreaterThan(b) or "
             "a.isLessThan(b)";
    }
    if (issue.message.find("applied to 'kubernetes.Quantity.()'") != std::string::npos &&
        issue.message.find("'sign'") != std::string::npos) {
      return "sign is a global function: sign(q)";
    }
  }
  if (issue.category == CompileCategory::kComprehensionRange && issue.message.find("'any'") != std::string::npos &&
      env.options.release == Release::k136) {
    return "attributes cannot be iterated unless the feature gate DRAListTypeAttributes is on";
  }
  if (issue.category == CompileCategory::kUnresolved && mentions_quantity(issue.message)) {
    return "a capacity is the quantity itself: leave out .value";
  }
  if (env.device && issue.category == CompileCategory::kUndefinedField)
    return "the fields of device are " + fields_of_device(env);
  if (env.device && issue.message.starts_with("undeclared reference"))
    return "a selector has one variable, device, with the fields " + fields_of_device(env) +
           "; texts are written in quotes";
  return {};
}

CompileResult refused(const Issues& issues, std::string_view source, const Environment::Rep& env) {
  std::vector<Issue> sorted = issues.sorted();
  CompileError error;
  error.category = sorted.front().category;
  error.message = "compilation failed: " + Issues::render(sorted, source);
  Position p = position_of(source, sorted.front().offset);
  error.line = p.line;
  error.column = p.column;
  error.hint = hint_for(sorted.front(), env);
  return refused(std::move(error));
}

// A scalar that an attribute can be, or one whose kind shows at run time.
bool is_attribute(const Type* type) {
  return type->kind == TypeKind::kBool || type->kind == TypeKind::kInt || type->kind == TypeKind::kString ||
         type->is_dyn() || (type->kind == TypeKind::kObject && type->name == "kubernetes.Semver");
}
// Also where the gate of lists is off: stored expressions may be lists.
bool is_list_of_attributes(const Type* type) {
  return type->kind == TypeKind::kList && is_attribute(type->param(0));
}

// bool, or the type of attributes (k8s.io/dynamic-resource-allocation/cel CompileCELExpression).
bool output_allowed(const Type* type, const Environment::Rep& env) {
  if (env.options.derived_attributes) return is_attribute(type) || is_list_of_attributes(type);
  if (type->kind == TypeKind::kBool) return true;
  if (env.options.release == Release::k137) return type->kind == env.attribute_type->kind;
  return type->kind == TypeKind::kAny || (type->kind == TypeKind::kDyn && env.options.list_attributes);
}

}  // namespace

std::string_view verdict_name(ApiVerdict verdict) {
  switch (verdict) {
    case ApiVerdict::kAccepted:
      return "accepted";
    case ApiVerdict::kInvalid:
      return "invalid";
    case ApiVerdict::kInternalError:
      return "internal_error";
    case ApiVerdict::kTooComplex:
      return "too_complex";
    case ApiVerdict::kTooLong:
      return "too_long";
  }
  return "";
}

CompileResult compile(std::string_view expression, const Environment& environment) {
  const Environment::Rep& env = environment.rep();
  auto program = std::make_unique<Program::Rep>();
  program->environment = environment.shared();
  program->expression = is_valid_utf8(expression) ? std::string(expression) : valid_utf8(expression);
  std::string_view source = program->expression;
  // Typical selectors fit.
  alignas(std::max_align_t) char buffer[16 * 1024];
  Arena arena(buffer, sizeof(buffer));
  AstBuilder ast(arena);
  Issues issues;
  lib::RegexPool patterns;
  ParseOptions options;
  options.escaped_identifiers = env.options.release == Release::k137;
  Expr* root = parse(source, options, ast, issues);
  if (issues.empty()) check(root, env, ast, issues);
  if (issues.empty()) validate(root, env, patterns, issues);
  if (!issues.empty()) return refused(issues, source, env);
  if (env.device && !output_allowed(root->type, env)) {
    CompileError error;
    error.category = CompileCategory::kOutputType;
    const bool derived = env.options.derived_attributes;
    error.message = (derived ? "must evaluate to a primitive scalar (string, integer, boolean, semver) or a list of "
                               "these scalars, not "
                             : "must evaluate to bool or the unknown type, not ") +
                    runtime_text(root->type);
    if (!derived)
      error.hint = "the expression is of type " + runtime_text(root->type) +
                   ", and a selector is true or false: compare it, as in device.driver == \"example.com\"";
    return refused(std::move(error));
  }
  if (auto failed = lower(root, env, ast.node_count(), patterns, *program)) {
    CompileError error;
    error.category = failed->category;
    error.message = std::move(failed->message);
    return refused(std::move(error));
  }
  // The specification's tests spell types as type() does at run time ("null_type").
  program->type = env.device ? checker_text(root->type) : runtime_text(root->type);
  if (env.device) program->reads = find_reads(root, ast.node_count());
  CompileResult result;
  result.type = program->type;
  result.estimated_cost = estimate_cost(root, env, ast.node_count());
  result.program = std::make_shared<const Program>(std::move(program));
  return result;
}

ApiVerdict api_verdict(std::string_view expression, const CompileResult& result) {
  if (expression.size() > kMaxExpressionBytes) return ApiVerdict::kTooLong;
  if (!result.ok()) {
    return result.error->category == CompileCategory::kProgram ? ApiVerdict::kInternalError : ApiVerdict::kInvalid;
  }
  return result.estimated_cost > kMaxCost ? ApiVerdict::kTooComplex : ApiVerdict::kAccepted;
}

}  // namespace dra::cel
