// Device selectors: the Common Expression Language as Kubernetes configures it for DRA.
//
//   static const Environment env;                                  // 1.36, as the scheduler compiles stored selectors
//   CompileResult r = compile("device.driver == \"x\"", env);
//   if (r.ok()) EvalResult e = r.program->evaluate(device);
//
// Sources of the rules: cel-spec (language), cel-go v0.26 (limits, costs), k8s.io/apiserver/pkg/cel (libraries, costs
// of library functions), k8s.io/dynamic-resource-allocation/cel (variables, output type). pkg/cel/README.md lists what
// is supported and every known deviation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/cel/check/environment.h"
#include "pkg/cel/device/device.h"
#include "pkg/cel/eval/program.h"
#include "pkg/cel/lib/errors.h"
#include "pkg/cel/value/value.h"

namespace dra::cel {

// resource.k8s.io validation: longer selectors are refused (field error TooLong) before they are compiled.
inline constexpr size_t kMaxExpressionBytes = 10 * 1024;
struct CompileError {
  CompileCategory category = CompileCategory::kSyntax;  // of the first issue
  // The whole text an API server shows as the detail of its field error: "compilation failed: ERROR: <input>:1:3: ..."
  // with the source line and a caret, issues joined by newline; "must evaluate to bool or the unknown type, not int";
  // "program instantiation failed: ...".
  std::string message;
  // Of the first issue: line from 1, column from 1 in code points; -1 and 0 where there is no position.
  int line = -1;
  int column = 0;
  // What to write instead, if known ("use .compareTo(...) >= 0"); else empty. Not part of upstream's text.
  std::string hint;
};

// The answer of an API server's validation to a new selector.
enum class ApiVerdict : uint8_t { kAccepted, kInvalid, kInternalError, kTooComplex, kTooLong };
std::string_view verdict_name(ApiVerdict verdict);

struct CompileResult {
  std::shared_ptr<const Program> program;  // null when error is set
  std::optional<CompileError> error;
  std::string type;
  // Upper end of the API server's cost estimate, saturating at 2^64 - 1. 0 when error is set.
  uint64_t estimated_cost = 0;

  bool ok() const { return program != nullptr; }
};

// Takes any bytes. Compiling needs no device and does no I/O; safe from many threads.
CompileResult compile(std::string_view expression, const Environment& environment);

// The API server's answer to this expression in a new or changed object, given compile()'s result in its environment
// (new_expressions on).
ApiVerdict api_verdict(std::string_view expression, const CompileResult& result);

}  // namespace dra::cel
