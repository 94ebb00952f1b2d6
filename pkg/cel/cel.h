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

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/cel/device.h"
#include "pkg/cel/errors.h"
#include "pkg/cel/value.h"

namespace dra::cel {

// resource.k8s.io validation: longer selectors are refused (field error TooLong) before they are compiled.
inline constexpr size_t kMaxExpressionBytes = 10 * 1024;
// CELSelectorExpressionMaxCost: the estimate above which the API server refuses ("too complex, exceeds cost limit") and
// the run-time cost at which an evaluation is stopped.
inline constexpr uint64_t kMaxCost = 1'000'000;

enum class Release : uint8_t { k136, k137 };

struct EnvironmentOptions {
  Release release = Release::k136;
  // Feature gate DRAListTypeAttributes (alpha, off by default in 1.36 and 1.37).
  bool list_attributes = false;
  // The environment of created and changed selectors instead of that of stored ones. API servers use it for validation
  // of new objects; schedulers never do.
  bool new_expressions = false;
  // Extension of this project, not known to Kubernetes: `quantity >= quantity` and the like compile (and mean
  // compareTo). Off by default, because the API server refuses such selectors.
  bool quantity_operators = false;
};

// A variable or function of a generic environment, for expressions other than device selectors (conformance tests).
// Types are written as the checker prints them: "int", "list(string)", "map(string, dyn)", "tuple(<T>, <U>)"; a name in
// angle brackets is a type parameter.
struct VariableDecl {
  std::string name;
  std::string type;
};
struct FunctionDecl {
  std::string name;
  std::string overload_id;
  bool receiver = false;
  std::vector<std::string> params;
  std::string result;
};

// What an expression is compiled against. Immutable, cheap to copy, safe from many threads.
class Environment {
 public:
  Environment() : Environment(EnvironmentOptions{}) {}
  explicit Environment(const EnvironmentOptions& options);
  // The same functions, but with the caller's variables instead of `device`, and without the rule on the output type.
  // Declared functions can be type-checked, not called.
  static Environment generic(const EnvironmentOptions& options, std::string container,
                             const std::vector<VariableDecl>& variables, const std::vector<FunctionDecl>& functions);

  const EnvironmentOptions& options() const;

  struct Rep;
  const Rep& rep() const { return *rep_; }
  std::shared_ptr<const Rep> shared() const { return rep_; }

 private:
  explicit Environment(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}
  std::shared_ptr<const Rep> rep_;
};

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

// What an expression can read, from its tree: the allocator's caching key. The outcome of an evaluation is a function
// of these (and of whether the device is spoiled).
struct Reads {
  bool driver = false;
  bool allow_multiple_allocations = false;
  // Iterated, indexed by something not constant, compared or tested as a whole: every attribute (capacity) counts.
  bool all_attributes = false;
  bool all_capacities = false;
  // (domain, name), sorted, unique. Complete unless the flag above is set.
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<std::pair<std::string, std::string>> capacities;
};

struct EvalLimits {
  uint64_t cost = kMaxCost;
  // Bytes of temporary values.
  size_t memory = 24u << 20;
  // When set and true, evaluation ends with kInterrupted at the next check (every 100 iterations).
  const std::atomic<bool>* interrupt = nullptr;
};

struct EvalResult {
  RuntimeCategory error = RuntimeCategory::kNone;
  bool value = false;   // meaningful when error is kNone
  uint64_t cost = 0;    // upstream's units, as far as evaluation got; one takes up to about 20 ns
  uint64_t work = 0;    // steps of work beside them, about 5 ns each (README.md)
  std::string message;  // of the error, in upstream's words
  std::string hint;     // what to do about it, or empty

  bool ok() const { return error == RuntimeCategory::kNone; }
};

// The value of a variable of a generic environment.
struct Binding {
  std::string name;
  Value value;
};

// A compiled expression. Immutable; evaluation is safe from many threads and allocates nothing for typical selectors.
class Program {
 public:
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  EvalResult evaluate(const DeviceInput& device, const EvalLimits& limits = {}) const;
  // For generic environments (and any result type). The result lives in `arena`, in the bindings or in this program.
  Value evaluate_value(const std::vector<Binding>& bindings, Arena& arena, const EvalLimits& limits = {},
                       uint64_t* cost = nullptr) const;

  const Reads& reads() const;
  const std::string& expression() const;
  // The checker's type: "bool", "any".
  const std::string& type() const;

  struct Rep;
  explicit Program(std::unique_ptr<const Rep> rep);

 private:
  std::unique_ptr<const Rep> rep_;
};

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
