// Opaque parameters of drivers: the API server takes any object, and the driver refuses what it does not know when the
// node prepares the claim, so that the pod never starts. For the drivers whose parameters are in the tables
// (parameter_tables.cc), lint says it before. Pure.
//
// A new driver is one more entry of parameter_tables(); nothing else changes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pkg/inspect/lint/finding.h"

namespace dra::inspect {

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
};

struct DriverParameters {
  std::vector<std::string> drivers;  // as `opaque.driver` names them
  std::string api_version;
  std::vector<ParameterKind> kinds;
  std::string source;  // where the rules come from
};

const std::vector<DriverParameters>& parameter_tables();

// All opaque parameters of a claim, a template or a class of resource.k8s.io/v1.
void lint_parameters(const nlohmann::json& object, const Place& place, FindingList& findings);

}  // namespace dra::inspect
