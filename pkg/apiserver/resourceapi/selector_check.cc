// The one place where validation meets pkg/cel. Until that compiles, only the length is judged.
#include "pkg/apiserver/resourceapi/parts.h"

namespace dra::apiserver {

void check_cel_expression(FieldErrors& out, const FieldPath& path, const std::string& expression) {
  if (expression.size() > kMaxExpressionLength) out.push_back(too_long(path, kMaxExpressionLength));
}

}  // namespace dra::apiserver
