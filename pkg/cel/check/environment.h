// What an expression is compiled against: a release of Kubernetes and its feature gates.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dra::cel {

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
  // Expressions of derivedAttributes (DRADerivedAttributes, 1.37) instead of selectors: the result is a string, an
  // integer, a boolean, a version, or a list of one of these.
  bool derived_attributes = false;
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

}  // namespace dra::cel
