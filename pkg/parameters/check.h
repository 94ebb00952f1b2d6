// What a driver would refuse in opaque parameters, when it prepares a claim on a node.
//
//   for (const ParameterProblem& problem : check_parameters_text("gpu.nvidia.com", opaque.parameters_json))
//     if (problem.gate.empty()) complain(problem.text);
//
// At most kMaxProblems problems of at most about 400 bytes each; texts of users in them are cut and quoted. Drivers
// without a table (tables.h) have no problems, nor has what is not JSON, which the API server refuses. Pure.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace dra::parameters {

inline constexpr size_t kMaxProblems = 50;

struct ParameterProblem {
  std::vector<std::string> path;  // of the member: {"sharing", "strategy"}
  std::string text;               // "unknown field \"sharng\"; did you mean \"sharing\"?"
  std::string gate;  // the driver takes it if this feature gate of its is on; empty: it refuses it in any case
};

// "sharing.strategy"; empty for the whole.
std::string path_text(const ParameterProblem& problem);

std::vector<ParameterProblem> check_parameters(const std::string& driver, const nlohmann::json& parameters);
// The same for JSON text.
std::vector<ParameterProblem> check_parameters_text(const std::string& driver, std::string_view json_text);

}  // namespace dra::parameters
