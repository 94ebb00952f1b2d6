// doctor: is this cluster ready for dynamic resource allocation, and is anything stuck or allocated twice? Pure over a
// State.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

enum class Health : uint8_t {
  kFine,
  kUnknown,  // there is no way to find out here, and nothing speaks against it
  kWarning,
  kIll,
};

struct Diagnosis {
  std::string check;  // "served versions", "stuck claims"; the closed set of docs/kubectl-dra.md
  Health health = Health::kFine;
  std::string finding;
  std::string to_do;  // the remedy, as a command if there is one
};

// One diagnosis for a check that finds nothing, else one per finding, at most kMaxFindingsOfCheck for each check.
inline constexpr size_t kMaxFindingsOfCheck = 20;
std::vector<Diagnosis> diagnose(const State& state);

// Status: kNo if something is wrong, kUnknown if nothing is but something could not be seen.
Answer doctor_answer(const std::vector<Diagnosis>& found, const Objects& objects);

}  // namespace dra::inspect
