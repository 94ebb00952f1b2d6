#include "pkg/inspect/lint/taint_rules.h"

#include <nlohmann/json.hpp>

#include "pkg/inspect/answer/answer.h"

namespace dra::inspect {

void lint_taint_rule(const nlohmann::json& object, const Place& place, const Known& known, FindingList& findings) {
  for (const HalfTaint& half : known.half_taints_of(object))
    findings.warn(place.child("spec").child("deviceSelector").child("device"), LintCode::kHalfTaint,
                  "taints device " + half.device.text() + ", but not " + counted(half.usable.size(), "device") +
                      " cut from it (" + half.usable.front() +
                      (half.usable.size() > 1 ? " to " + half.usable.back() : "") +
                      "), which can still be allocated: Kubernetes taints only the device that a rule names; " +
                      (half.node.empty() ? "write a rule for each of them"
                                         : "write a rule for each of them, or let kubectl dra taint " + half.node +
                                               "/" + half.device.device + " " + half.taint + " do it"));
}

}  // namespace dra::inspect
