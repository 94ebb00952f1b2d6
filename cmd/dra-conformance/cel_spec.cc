// cel_spec.json: the CEL specification's own tests, with the outcome of each in the DRA environment.
#include <nlohmann/json.hpp>

#include "cmd/dra-conformance/cel_run.h"

namespace dra::conformance {

namespace {

using Json = nlohmann::json;

cel::Environment environment_of(const Json& test, const CelOptions& options) {
  std::vector<cel::VariableDecl> variables;
  std::vector<cel::FunctionDecl> functions;
  const Json declarations = test.value("typeEnv", Json::array());
  for (const Json& entry : declarations) {
    if (!entry.contains("function")) {
      variables.push_back({entry["name"], entry["type"]});
      continue;
    }
    for (const Json& overload : entry["function"])
      functions.push_back({entry["name"], overload["id"], overload.value("member", false),
                           overload["params"].get<std::vector<std::string>>(), overload["result"]});
  }
  return cel::Environment::generic(options.environment, test.value("container", ""), variables, functions);
}

// The outcome of one test.
struct SpecOutcome {
  cel::CompileResult compiled;
  bool failed = false;
  nlohmann::ordered_json value;  // tagged, when evaluated
  std::string error;             // category and text
};

std::string short_name(const std::string& id) {
  return id.size() > 60 ? id.substr(0, 57) + "..." : id;
}

class SpecSuite : public CelSuite {
 public:
  SpecSuite(const Json& file, const CelOptions& options) : tests_(file["tests"]), options_(options) {}

  size_t size() const override { return tests_.size(); }
  std::string id(size_t index) const override {
    const Json& test = tests_[index];
    return std::to_string(test["n"].get<int64_t>()) + " " + test["file"].get<std::string>() + "/" +
           test["section"].get<std::string>() + "/" + short_name(test["id"]);
  }

  nlohmann::ordered_json answer(size_t index) override {
    const Json& test = tests_[index];
    const SpecOutcome o = run(test);
    nlohmann::ordered_json line;
    line["n"] = test["n"].get<int64_t>();
    line["compile"] = o.compiled.ok() ? "ok" : std::string(cel::category_name(o.compiled.error->category));
    if (!o.compiled.ok()) return line;
    line["type"] = o.compiled.type;
    if (o.failed)
      line["runtimeError"] = o.error.substr(0, o.error.find(' '));
    else if (!o.value.is_null())
      line["value"] = o.value;
    return line;
  }

  Judgement judge(size_t index) override {
    const Json& test = tests_[index];
    const SpecOutcome o = run(test);
    Judgement verdict;
    const bool as_specified = test["dra"].is_string();
    const Json& expected = as_specified ? test : test["dra"];
    const std::string stage = as_specified ? "" : expected["stage"].get<std::string>();
    const std::string got = !o.compiled.ok() ? "does not compile: " + o.compiled.error->message
                            : o.failed       ? "fails: " + o.error
                                             : "gives " + o.value.dump();
    if (as_specified && test.contains("type"))
      verdict.expect(o.compiled.ok() && o.compiled.type == test["type"],
                     "type " + o.compiled.type + ", want " + test["type"].get<std::string>() + " (" + got + ")");
    if (stage == "parse" || stage == "check" || stage == "program")
      verdict.expect(!o.compiled.ok(), got + ", want a compile error: " + expected["error"].get<std::string>());
    else if (expected.contains("error"))
      verdict.expect(!o.compiled.ok() || o.failed, got + ", want an error: " + expected["error"].get<std::string>());
    else if (expected.contains("value"))
      verdict.expect(o.compiled.ok() && !o.failed && same_tagged(Json(o.value), expected["value"]),
                     got + ", want " + expected["value"].dump());
    return verdict;
  }

 private:
  SpecOutcome run(const Json& test) const {
    SpecOutcome o;
    const cel::Environment environment = environment_of(test, options_);
    o.compiled = cel::compile(test["expr"].get<std::string>(), environment);
    if (!o.compiled.ok() || test.value("checkOnly", false)) return o;
    cel::Arena arena;
    std::vector<cel::Binding> bindings;
    const Json values = test.value("bindings", Json::object());
    for (const auto& [name, value] : values.items()) bindings.push_back({name, value_from_tagged(value, arena)});
    const cel::Value value = o.compiled.program->evaluate_value(bindings, arena);
    o.failed = value.is_error();
    if (o.failed)
      o.error = std::string(cel::category_name(value.error->category)) + " " + std::string(value.error->message);
    else
      o.value = tagged_value(value);
    return o;
  }

  const Json& tests_;
  CelOptions options_;
};

}  // namespace

std::unique_ptr<CelSuite> make_spec_suite(const Json& file, const CelOptions& options) {
  return std::make_unique<SpecSuite>(file, options);
}

}  // namespace dra::conformance
