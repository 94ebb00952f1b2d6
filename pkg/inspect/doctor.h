// doctor: is this cluster fit for dynamic resource allocation, and is anything stuck or handed out twice? Pure over a
// State.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/answer.h"
#include "pkg/inspect/state.h"

namespace dra::inspect {

enum class Health : uint8_t { kFine, kWarning, kIll };

struct Diagnosis {
  std::string check;  // "served versions", "stuck claims"; the closed set of docs/kubectl-dra.md
  Health health = Health::kFine;
  std::string finding;
  std::string to_do;  // what mends it, a command where there is one
};

// One of each check that finds nothing, else one a finding, at most kMaxFindingsOfCheck of each check.
inline constexpr size_t kMaxFindingsOfCheck = 20;
std::vector<Diagnosis> diagnose(const State& state);

// Status: kNo when something is ill, kUnknown when nothing is but something could not be seen.
Answer doctor_answer(const std::vector<Diagnosis>& found, const Objects& objects);

}  // namespace dra::inspect
