// What the parts of `dra-conformance cel` share.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "pkg/cel/cel.h"

namespace dra::conformance {

struct CelOptions {
  cel::EnvironmentOptions environment;
  bool messages = false;                          // also compare error texts where upstream's are stable
  std::map<std::string, std::string> deviations;  // id -> why it is allowed to differ
};

// Collects what is wrong with one case.
class Judgement {
 public:
  void expect(bool ok, const std::string& what) {
    if (!ok) why_ += (why_.empty() ? "" : "; ") + what;
  }
  bool passed() const { return why_.empty(); }
  const std::string& why() const { return why_; }

 private:
  std::string why_;
};

// Each takes the whole file. `emit` gets one line per case (the judging functions: per failure).
class CelSuite {
 public:
  virtual ~CelSuite() = default;
  virtual size_t size() const = 0;
  virtual std::string id(size_t index) const = 0;
  // The answer to one case, as README's format has it.
  virtual nlohmann::ordered_json answer(size_t index) = 0;
  virtual Judgement judge(size_t index) = 0;
};

std::unique_ptr<CelSuite> make_dra_suite(const nlohmann::json& file, const CelOptions& options);
std::unique_ptr<CelSuite> make_spec_suite(const nlohmann::json& file, const CelOptions& options);

// Values as cel_spec.json tags them: {"int": "42"}, {"list": [...]} ...
nlohmann::ordered_json tagged_value(const cel::Value& value);
// The value lives in the arena. Unknown tags give a null.
cel::Value value_from_tagged(const nlohmann::json& tagged, cel::Arena& arena);
bool same_tagged(const nlohmann::json& a, const nlohmann::json& b);

}  // namespace dra::conformance
