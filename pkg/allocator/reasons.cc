#include "pkg/allocator/reasons.h"

#include <algorithm>
#include <map>

#include "pkg/base/utf8.h"

namespace dra::allocator {

std::string_view cause_name(Cause cause) {
  switch (cause) {
    case Cause::kPoolIncomplete:
      return "PoolIncomplete";
    case Cause::kPoolInvalid:
      return "PoolInvalid";
    case Cause::kWrongNode:
      return "WrongNode";
    case Cause::kUnknownField:
      return "UnknownField";
    case Cause::kFeatureDisabled:
      return "FeatureDisabled";
    case Cause::kClassSelector:
      return "ClassSelector";
    case Cause::kRequestSelector:
      return "RequestSelector";
    case Cause::kEvaluationError:
      return "EvaluationError";
    case Cause::kTaint:
      return "Taint";
    case Cause::kCapacityShort:
      return "CapacityShort";
    case Cause::kInUse:
      return "InUse";
    case Cause::kNotShared:
      return "NotShared";
    case Cause::kSameSilicon:
      return "SameSilicon";
    case Cause::kDevicePlugin:
      return "DevicePlugin";
    case Cause::kCounterShort:
      return "CounterShort";
    case Cause::kConstraint:
      return "Constraint";
    case Cause::kLimit:
      return "Limit";
    case Cause::kNodeRefused:
      return "NodeRefused";
    case Cause::kCombination:
      return "Combination";
    case Cause::kClassMissing:
      return "ClassMissing";
    case Cause::kInvalidRequest:
      break;
  }
  return "InvalidRequest";
}

bool each_possible_alone(const Reasons& reasons) {
  std::map<std::string, bool> possible;  // by request; alternatives are "request/alternative"
  for (const RequestReason& reason : reasons.requests) {
    bool& known = possible[reason.claim + "//" + reason.request.substr(0, reason.request.find('/'))];
    known = known || reason.most_on_one_node >= std::max(1u, reason.devices_wanted);
  }
  return std::all_of(possible.begin(), possible.end(), [](const auto& one) { return one.second; });
}

std::string Reasons::summary() const {
  constexpr size_t kMost = 1024;
  std::string text;
  for (const RequestReason& request : requests) {
    if (!text.empty()) text += "; ";
    text += "claim " + request.claim + ", request " + request.request + ": ";
    text += request.devices_wanted == 0 ? "all of " : std::to_string(request.devices_wanted) + " of ";
    text += std::to_string(request.devices_examined) + " devices wanted";
    for (const CauseCount& count : request.counts) {
      text += ", " + std::to_string(count.devices) + " " + std::string(cause_name(count.cause));
      if (count.index >= 0) text += "[" + std::to_string(count.index) + "]";
      if (!count.detail.empty()) text += " (" + std::string(utf8_prefix(count.detail, 96)) + ")";
    }
  }
  if (nodes_examined < nodes_asked)
    text += "; " + std::to_string(nodes_examined) + " of " + std::to_string(nodes_asked) + " nodes examined";
  if (!proof.empty()) text += "; " + proof;
  if (text.size() > kMost) {
    text.resize(utf8_prefix(text, kMost - 3).size());
    text += "...";
  }
  return text;
}

}  // namespace dra::allocator
