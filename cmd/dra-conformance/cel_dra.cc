// cel_dra.json: device selectors with upstream's verdicts.
#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "cmd/dra-conformance/cel_devices.h"
#include "cmd/dra-conformance/cel_run.h"

namespace dra::conformance {

namespace {

using Json = nlohmann::json;

// Numbers above 2^53 are written as strings.
uint64_t cost_of(const Json& cost) {
  return cost.is_string() ? std::stoull(cost.get<std::string>()) : cost.get<uint64_t>();
}

// Categories whose texts do not come from the parser generator.
bool has_stable_text(const std::string& category) {
  static constexpr std::array<std::string_view, 4> kOwn = {"syntax", "panic", "invalid_literal", "reserved_identifier"};
  return std::find(kOwn.begin(), kOwn.end(), category) == kOwn.end();
}

struct Evaluated {
  cel::CompileResult compiled;
  cel::EvalResult evaluated;
  cel::ApiVerdict verdict = cel::ApiVerdict::kInvalid;
  int64_t nanos = 0;
};

class DraSuite : public CelSuite {
 public:
  DraSuite(const Json& file, const CelOptions& options)
      : vectors_(file["vectors"]), options_(options), environment_(options.environment) {
    for (const auto& [name, device] : file["devices"].items()) devices_.emplace(name, make_device(device));
    cel::EnvironmentOptions created = options.environment;
    created.new_expressions = true;
    api_environment_ = cel::Environment(created);
  }

  size_t size() const override { return vectors_.size(); }
  std::string id(size_t index) const override { return vectors_[index]["id"]; }

  nlohmann::ordered_json answer(size_t index) override {
    const Evaluated o = run(vectors_[index]);
    nlohmann::ordered_json line;
    line["id"] = id(index);
    line["compile"] = o.compiled.ok() ? "ok" : category(o);
    if (o.compiled.ok()) {
      line["type"] = o.compiled.type;
      line["estCost"] = o.compiled.estimated_cost;
      if (o.evaluated.ok())
        line["value"] = o.evaluated.value;
      else
        line["runtimeError"] = cel::category_name(o.evaluated.error);
      line["cost"] = o.evaluated.cost;
    }
    line["api"] = cel::verdict_name(o.verdict);
    line["nanos"] = o.nanos;
    return line;
  }

  Judgement judge(size_t index) override {
    const Json& vector = vectors_[index];
    const Json& expected = expectation(vector);
    const Evaluated o = run(vector);
    Judgement verdict;
    if (expected["compile"] == "ok")
      judge_success(expected, o, verdict);
    else
      judge_refusal(expected, o, verdict);
    judge_api(vector, o, verdict);
    return verdict;
  }

 private:
  static std::string category(const Evaluated& o) {
    return std::string(cel::category_name(o.compiled.error->category));
  }

  Evaluated run(const Json& vector) {
    Evaluated o;
    const std::string expression = vector["expr"];
    o.compiled = cel::compile(expression, environment_);
    const auto created = cel::compile(expression, api_environment_);
    o.verdict = cel::api_verdict(expression, created);
    if (!o.compiled.ok()) return o;
    const cel::DeviceInput& device = devices_.at(vector["device"].get<std::string>());
    std::array<int64_t, 5> times{};
    for (int64_t& time : times) {
      const auto start = std::chrono::steady_clock::now();
      o.evaluated = o.compiled.program->evaluate(device);
      time = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    }
    std::sort(times.begin(), times.end());
    o.nanos = times[times.size() / 2];
    return o;
  }

  // The block of the file with the expectations for this environment; the file omits blocks equal to v136.
  const Json& expectation(const Json& vector) const {
    const cel::EnvironmentOptions& env = options_.environment;
    const char* const name = env.release == cel::Release::k137 ? "v137"
                             : env.list_attributes             ? "lists136"
                             : env.new_expressions             ? "new136"
                                                               : "v136";
    return vector.contains(name) ? vector[name] : vector["v136"];
  }

  void judge_success(const Json& expected, const Evaluated& o, Judgement& verdict) const {
    if (!o.compiled.ok()) {
      verdict.expect(false, "does not compile (" + category(o) + "): " + o.compiled.error->message);
      return;
    }
    const std::string type = expected["type"];
    verdict.expect(o.compiled.type == type, "type " + o.compiled.type + ", want " + type);
    const uint64_t estimate = cost_of(expected["estCost"]);
    verdict.expect(
        o.compiled.estimated_cost == estimate,
        "estimated cost " + std::to_string(o.compiled.estimated_cost) + ", want " + std::to_string(estimate));
    judge_evaluation(expected, o, verdict);
    judge_cost(expected, o, verdict);
  }

  void judge_evaluation(const Json& expected, const Evaluated& o, Judgement& verdict) const {
    const std::string got = o.evaluated.ok()
                                ? (o.evaluated.value ? "true" : "false")
                                : std::string(cel::category_name(o.evaluated.error)) + " (" + o.evaluated.message + ")";
    if (expected.contains("result")) {
      const bool result = expected["result"];
      verdict.expect(o.evaluated.ok() && o.evaluated.value == result,
                     "result " + got + ", want " + (result ? "true" : "false"));
      return;
    }
    const std::string error = expected["runtimeError"];
    verdict.expect(!o.evaluated.ok() && cel::category_name(o.evaluated.error) == error,
                   "result " + got + ", want " + error);
    if (options_.messages && expected.contains("runtimeMessage")) {
      const std::string message = expected["runtimeMessage"];
      verdict.expect(o.evaluated.message == message, "message [" + o.evaluated.message + "], want [" + message + "]");
    }
  }

  static void judge_cost(const Json& expected, const Evaluated& o, Judgement& verdict) {
    const std::string got = "cost " + std::to_string(o.evaluated.cost);
    if (expected.contains("cost")) {
      const uint64_t cost = cost_of(expected["cost"]);
      verdict.expect(o.evaluated.cost == cost, got + ", want " + std::to_string(cost));
    } else if (expected.contains("costRange")) {
      const uint64_t low = cost_of(expected["costRange"][0]);
      const uint64_t high = cost_of(expected["costRange"][1]);
      verdict.expect(o.evaluated.cost >= low && o.evaluated.cost <= high,
                     got + ", want " + std::to_string(low) + " to " + std::to_string(high));
    }
  }

  void judge_refusal(const Json& expected, const Evaluated& o, Judgement& verdict) const {
    const std::string wanted = expected["category"];
    if (o.compiled.ok()) {
      verdict.expect(false, "compiles, want " + wanted);
      return;
    }
    // Where upstream's compiler crashes, any refusal is right.
    verdict.expect(wanted == "panic" || category(o) == wanted, "compile error " + category(o) + ", want " + wanted);
    if (options_.messages && has_stable_text(wanted) && expected.contains("message")) {
      const std::string message = expected["message"];  // cut at 600 characters
      verdict.expect(o.compiled.error->message.substr(0, message.size()) == message,
                     "message [" + o.compiled.error->message + "], want [" + message + "]");
    }
  }

  void judge_api(const Json& vector, const Evaluated& o, Judgement& verdict) const {
    const cel::EnvironmentOptions& env = options_.environment;
    const char* name = env.release == cel::Release::k137 ? "api137" : env.list_attributes ? "api136lists" : "api136";
    if (!vector.contains(name)) name = "api136";
    const std::string wanted = vector[name];
    const std::string got(cel::verdict_name(o.verdict));
    const bool refused = got == "invalid" || got == "internal_error";
    verdict.expect(got == wanted || (wanted == "panic" && refused), "API verdict " + got + ", want " + wanted);
  }

  const Json& vectors_;
  CelOptions options_;
  cel::Environment environment_;
  cel::Environment api_environment_;
  std::unordered_map<std::string, cel::DeviceInput> devices_;
};

}  // namespace

std::unique_ptr<CelSuite> make_dra_suite(const Json& file, const CelOptions& options) {
  return std::make_unique<DraSuite>(file, options);
}

}  // namespace dra::conformance
