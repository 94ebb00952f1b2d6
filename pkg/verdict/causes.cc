#include "pkg/verdict/causes.h"

#include <algorithm>

#include "pkg/verdict/device_words.h"
#include "pkg/verdict/words.h"

namespace dra::verdict {
namespace {

Cause cause_of(const NodeGroup& group) {
  const bool passes = group.problem == NodeProblem::kDevices;
  Cause cause{"Node" + std::string(node_problem_name(group.problem)),
              counted(group.nodes, "node") + ": " + (passes ? "would do, but for the devices" : group.text)};
  cause.nodes = group.nodes;
  cause.nodes_with_devices = group.with_devices;
  cause.node_names = group.names;
  return cause;
}

Cause of_request(const RequestVerdict& request, std::string code, std::string text) {
  Cause cause{std::move(code), std::move(text)};
  cause.claim = clean(request.claim, 320);
  cause.request = clean(request.request, 128);
  cause.device_class = clean(request.device_class, 253);
  return cause;
}

void add_causes(std::vector<Cause>& causes, const Verdict& verdict, const RequestVerdict& request) {
  if (!request.invalid.empty()) {
    causes.push_back(of_request(request, "RequestInvalid", request.invalid));
    return;
  }
  if (std::string none = unselected_words(request); !none.empty()) {
    causes.push_back(of_request(request, request.asked == 0 ? "NoDevices" : "ClassSelectsNone", std::move(none)));
    return;
  }
  if (std::string blocked = blocked_words(verdict, request); !blocked.empty()) {
    causes.push_back(of_request(request, "PoolBlocksAll", std::move(blocked)));
    causes.back().nodes = request.nodes_blocked;
  }
  if (std::string few = too_few_there_words(verdict, request); !few.empty()) {
    causes.push_back(of_request(request, never_fits(verdict, request) ? "NeverFits" : "TooFewThere", std::move(few)));
    causes.back().devices = *request.most_there;
  }
  for (const DeviceGroup& group : request.groups) {
    std::string text = counted(group.devices, "device") + " " + problem_words(request, group, verdict.passed > 1);
    if (const std::string who = holder_words(group, kNamedInSentence); !who.empty()) text += " by " + who;
    causes.push_back(of_request(request, "Device" + std::string(device_problem_name(group.problem)), std::move(text)));
    causes.back().devices = group.devices;
    causes.back().device_names = group.names;
    causes.back().holders = group.holders;
  }
}

void add_node_causes(std::vector<Cause>& causes, const Verdict& verdict) {
  for (const NodeGroup& group : verdict.node_groups)
    if (group.nodes > 0) causes.push_back(cause_of(group));
}

}  // namespace

std::vector<Cause> causes_of(const Verdict& verdict) {
  std::vector<Cause> causes;
  if (verdict.answer == Answer::kFits) return causes;
  if (verdict.main == Verdict::Main::kRefused) return {{"Refused", clean(verdict.refused, kMaxSentence)}};
  if (verdict.nodes == 0) causes.push_back({"NoNodes", "there are no nodes"});
  if (verdict.main == Verdict::Main::kUndecided)
    causes.push_back({"Undecided", "the search ended at its budget before it found or refuted a place"});
  const bool nodes_first = verdict.main == Verdict::Main::kNodes;
  if (nodes_first) add_node_causes(causes, verdict);
  for (const std::string& pairs : verdict.short_of_pairs) causes.push_back({"PairsShort", pairs});
  if (verdict.main == Verdict::Main::kTogether)
    causes.push_back({"NotTogether", verdict.together.empty()
                                         ? "each request fits by itself, but not all together"
                                         : "each request fits by itself, but not all together: " + verdict.together});
  for (size_t i = 0; i < verdict.requests.size(); ++i) {
    const size_t at = i == 0 ? verdict.main_request : i <= verdict.main_request ? i - 1 : i;
    add_causes(causes, verdict, verdict.requests[at]);
  }
  if (!nodes_first) add_node_causes(causes, verdict);
  return causes;
}

std::vector<std::string> cause_codes() {
  std::vector<std::string> codes{"Refused",     "NoNodes",        "Undecided",       "NotTogether",
                                 "PairsShort",  "RequestInvalid", "NoDevices",       "NeverFits",
                                 "TooFewThere", "PoolBlocksAll",  "ClassSelectsNone"};
  for (int i = 0; i <= static_cast<int>(NodeProblem::kKept); ++i)
    codes.push_back("Node" + std::string(node_problem_name(static_cast<NodeProblem>(i))));
  for (int i = 0; i <= static_cast<int>(DeviceProblem::kSetAside); ++i)
    codes.push_back("Device" + std::string(device_problem_name(static_cast<DeviceProblem>(i))));
  std::sort(codes.begin(), codes.end());
  return codes;
}

std::string_view change_kind_name(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kTolerateNodeTaint:
      return "TolerateNodeTaint";
    case ChangeKind::kTolerateDeviceTaint:
      return "TolerateDeviceTaint";
    case ChangeKind::kLessCpu:
      return "LessResource";
    case ChangeKind::kDropSelector:
      return "DropSelector";
    case ChangeKind::kRelease:
      return "Release";
    case ChangeKind::kAddNode:
      return "AddNode";
    case ChangeKind::kFewerDevices:
      return "FewerDevices";
    case ChangeKind::kUncordon:
      return "Uncordon";
  }
  return "Unknown";
}

std::vector<std::string> change_kind_names() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(ChangeKind::kUncordon); ++i)
    names.emplace_back(change_kind_name(static_cast<ChangeKind>(i)));
  return names;
}

}  // namespace dra::verdict
