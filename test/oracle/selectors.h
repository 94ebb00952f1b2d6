// The oracle's part of CEL: a few expression forms, evaluated by hand, so that its verdicts do not depend on the
// expression engine of the code it judges.
#pragma once

#include <functional>
#include <string>

#include "pkg/api/resource.h"

namespace dra::oracle {

enum class Truth { kFalse, kTrue, kError, kUnknownForm };

// The value of one selector for one device.
using SelectorJudge =
    std::function<Truth(const std::string& expression, const std::string& driver, const api::Device& device)>;

// Terms joined by " && ", each one of
//   true | false | device.driver == "D" | device.allowMultipleAllocations == true|false
//   ATTR == LITERAL | ATTR > INT | ATTR < INT | ATTR % INT == INT | ATTR in ["a", 1] | ATTR (a bool)
//   "id" in device.attributes["D"] | !device.attributes["D"].?id.orValue(false)
//   ATTR.isGreaterThan(semver("x.y.z")) | device.capacity["D"].id.compareTo(quantity("Q")) >= 0
// where ATTR is device.attributes["D"].id and LITERAL a string, an int or a bool. A missing attribute or one of another
// type is an error; && is true, false or error as CEL has it (false wins).
Truth judge_selector(const std::string& expression, const std::string& driver, const api::Device& device);

}  // namespace dra::oracle
