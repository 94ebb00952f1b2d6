// What drivers take as opaque parameters, as tables. A new driver is one more entry of parameter_tables() (tables.cc).
// Constant after the first call, which any thread may make.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dra::parameters {

struct ParameterFields;

enum class ParameterType : uint8_t { kText, kNumber, kBool, kQuantity, kQuantities, kObject };

// A value of a text, and the driver's feature gate that it needs; empty: none.
struct ParameterChoice {
  std::string value;
  std::string gate;
};

struct ParameterField {
  std::string name;
  ParameterType type = ParameterType::kText;
  const ParameterFields* fields = nullptr;  // kObject
  bool required = false;
  std::vector<ParameterChoice> choices{};       // kText; empty: any
  int64_t least = INT64_MIN, most = INT64_MAX;  // kNumber
  std::string fallback{};  // kText: what the driver takes if it is missing; empty: it stays missing
  bool made = false;       // kObject: the driver makes an empty one if it is missing
};

struct ParameterFields {
  std::vector<ParameterField> fields;
  // Members that this value of `strategy` excludes: {"MPS", "timeSlicingConfig"}.
  std::vector<std::pair<std::string, std::string>> excluded{};
};

struct ParameterKind {
  std::string kind;
  ParameterFields fields;
  std::string gate{};  // without which the driver takes no parameters of this kind; empty: none
  std::string type{};  // of devices (attribute `type`) that it is for; parameters for all requests pass others by
};

struct DriverParameters {
  std::vector<std::string> drivers;  // as `opaque.driver` names them
  std::string api_version;
  std::vector<ParameterKind> kinds;
  std::string source;  // where the rules come from
};

const std::vector<DriverParameters>& parameter_tables();

// Null: there is no table for the driver.
const DriverParameters* parameters_of(const std::string& driver);

}  // namespace dra::parameters
