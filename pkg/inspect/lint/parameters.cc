#include "pkg/inspect/lint/parameters.h"

#include <nlohmann/json.hpp>
#include <string>

#include "pkg/parameters/check.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

constexpr const char* kAtPrepare = "the API server takes it, and the driver refuses the claim when the pod starts";

const json* member_of(const json* object, const char* key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto found = object->find(key);
  return found == object->end() ? nullptr : &*found;
}

// `holder`: what has `config`; null: nothing has it.
void lint_configs(const json* holder, const Place& place, FindingList& findings) {
  const json* configs = member_of(holder, "config");
  if (configs == nullptr || !configs->is_array()) return;
  for (size_t i = 0; i < configs->size(); ++i) {
    const json* opaque = member_of(&(*configs)[i], "opaque");
    const json* driver = member_of(opaque, "driver");
    const json* values = member_of(opaque, "parameters");
    if (driver == nullptr || !driver->is_string() || values == nullptr) continue;
    const Place at = place.child("config").index(i).child("opaque").child("parameters");
    for (const parameters::ParameterProblem& problem :
         parameters::check_parameters(driver->get<std::string>(), *values)) {
      Place member = at;
      for (const std::string& key : problem.path) member = member.child(key);
      if (problem.gate.empty())
        findings.error(member, LintCode::kBadParameters, problem.text + "; " + kAtPrepare);
      else
        findings.warn(member, LintCode::kBadParameters, problem.text + "; while it is off " + kAtPrepare);
    }
  }
}

}  // namespace

void lint_parameters(const json& object, const Place& place, FindingList& findings) {
  const json* kind = member_of(&object, "kind");
  const json* spec = member_of(&object, "spec");
  const Place at = place.child("spec");
  if (kind == nullptr || !kind->is_string()) return;
  if (*kind == "DeviceClass") lint_configs(spec, at, findings);
  if (*kind == "ResourceClaim") lint_configs(member_of(spec, "devices"), at.child("devices"), findings);
  if (*kind == "ResourceClaimTemplate")
    lint_configs(member_of(member_of(spec, "spec"), "devices"), at.child("spec").child("devices"), findings);
}

}  // namespace dra::inspect
