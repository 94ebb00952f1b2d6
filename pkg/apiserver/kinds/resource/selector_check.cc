// The only place where validation calls pkg/cel.
#include "pkg/apiserver/kinds/resource/parts.h"
#include "pkg/cel/cel.h"

namespace dra::apiserver {

void check_cel_expression(FieldErrors& out, const FieldPath& path, const std::string& expression) {
  if (expression.size() > kMaxExpressionLength) {
    out.push_back(too_long(path, kMaxExpressionLength));  // overlong expressions are not even compiled
    return;
  }
  static const cel::Environment environment([] {
    cel::EnvironmentOptions options;
    options.new_expressions = true;
    return options;
  }());
  const cel::CompileResult result = cel::compile(expression, environment);
  switch (cel::api_verdict(expression, result)) {
    case cel::ApiVerdict::kAccepted:
      return;
    case cel::ApiVerdict::kTooLong:
      out.push_back(too_long(path, kMaxExpressionLength));
      return;
    case cel::ApiVerdict::kTooComplex:
      out.push_back(forbidden(path, "too complex, exceeds cost limit"));
      return;
    case cel::ApiVerdict::kInvalid:
      out.push_back(invalid(path, expression, result.error ? result.error->message : "compilation failed"));
      return;
    case cel::ApiVerdict::kInternalError:
      out.push_back(internal_error(path, result.error ? result.error->message : "compilation failed"));
      return;
  }
}

}  // namespace dra::apiserver
