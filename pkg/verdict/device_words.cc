#include "pkg/verdict/device_words.h"

#include <algorithm>
#include <cstdio>

#include "pkg/verdict/words.h"

namespace dra::verdict {

namespace {

constexpr size_t kMaxText = 160;
constexpr size_t kMaxName = 120;
constexpr size_t kMaxBlocked = 320;
constexpr size_t kMaxRefusal = 600;  // names the flag to set at its end

std::string with(const std::string& words, const std::string& text) {
  return text.empty() ? words : words + " (" + clean(text, kMaxText) + ")";
}

std::string free_words(const RequestVerdict& request, bool several_nodes) {
  if (request.most_there) return "usable";  // too_few_there_words() says the rest
  if (request.most_on_one_node)
    return "usable, but at most " + std::to_string(*request.most_on_one_node) + " on one node";
  if (request.possible) return several_nodes ? "usable, but not together on one node" : "usable, but not together";
  return "usable";
}

// "container-0-request-1": the generated name in the claim for extended resources, which no user wrote.
bool is_of_an_extended_resource(const std::string& request) {
  int container = 0, number = 0, end = 0;
  const int read = std::sscanf(request.c_str(), "container-%4d-request-%4d%n", &container, &number, &end);
  return read == 2 && static_cast<size_t>(end) == request.size();
}

}  // namespace

std::string wanted_words(const RequestVerdict& request) {
  const std::string& what = is_of_an_extended_resource(request.request) ? request.device_class : request.request;
  return (request.wanted == 0 ? std::string("all ") : std::to_string(request.wanted) + " x ") + what;
}

std::string problem_words(const RequestVerdict& request, const DeviceGroup& group, bool several_nodes) {
  switch (group.problem) {
    case DeviceProblem::kFree:
      return free_words(request, several_nodes);
    case DeviceProblem::kFreeElsewhere:
      return "free on nodes that the pod cannot use";
    case DeviceProblem::kHeld:
      return "in use";
    case DeviceProblem::kCut:
      return with("cut into partitions or part of what is in use", group.text);
    case DeviceProblem::kCounter:
      return with("short of a counter", group.text);
    case DeviceProblem::kCapacity:
      return with("short of capacity", group.text);
    case DeviceProblem::kTaint:
      return with("tainted", group.text);
    case DeviceProblem::kSelector:
      return with("rejected by the request's selector " + clean(group.text, kMaxText), group.values);
    case DeviceProblem::kSelectorFails:
      return with("on which a selector fails", group.text);
    case DeviceProblem::kConstraint:
      return "without a common value of " + clean(group.text, kMaxText);
    case DeviceProblem::kPoolIncomplete:
      return with("in a pool that is being updated", group.text);
    case DeviceProblem::kPoolInvalid:
      return with("in a pool that is published wrongly", group.text);
    case DeviceProblem::kUnknownField:
      return "refused" + (group.text.empty() ? std::string() : " (" + clean(group.text, kMaxRefusal) + ")");
    case DeviceProblem::kFeature:
      return "that need feature gate " + clean(group.text, kMaxText);
    case DeviceProblem::kLimit:
      return with("usable, but beyond the limit", group.text);
    case DeviceProblem::kNotShared:
      return "shared by others" + (group.text.empty() ? std::string() : " (" + clean(group.text, kMaxRefusal) + ")");
    case DeviceProblem::kSameSilicon:
      return with("the same hardware as what is in use", group.text);
    case DeviceProblem::kPlugin:
      return with("served by a device plugin", group.text);
    case DeviceProblem::kSetAside:
      return clean(group.text, kMaxText);
  }
  return "";
}

std::string holder_words(const DeviceGroup& group, size_t most) {
  std::string text;
  size_t named = 0;
  for (const Holder& holder : group.holders) {
    if (holder.claim.empty() || named == most) continue;
    ++named;
    text += (text.empty() ? "claim " : ", ") + clean(holder.claim, kMaxName);
    if (!holder.kept.empty())
      text += " (" + clean(holder.kept, kMaxName) + ")";
    else if (!holder.pods.empty())
      text += " (pod " + clean(holder.pods.front(), kMaxName) +
              (holder.pods.size() > 1 ? " and " + std::to_string(holder.pods.size() - 1) + " more" : "") + ")";
  }
  const size_t others = group.holders.size() - named + group.more_holders;
  if (text.empty()) return text;
  if (group.holders_sampled)
    text += " and others";
  else if (others > 0)
    text += " and " + std::to_string(others) + " more";
  return text;
}

std::string blocked_words(const Verdict& verdict, const RequestVerdict& request) {
  if (request.nodes_blocked == 0) return "";
  const std::string where = verdict.passed <= 1                      ? "on the node"
                            : request.nodes_blocked < verdict.passed ? "on " + counted(request.nodes_blocked, "node")
                                                                     : "on every node";
  return where + ", all devices need each pool there complete and valid, and " + clean(request.blocked_by, kMaxBlocked);
}

std::string too_few_there_words(const Verdict& verdict, const RequestVerdict& request) {
  // If no node takes the pod anyway, the number of devices on one of them does not help the reader.
  if (verdict.passed == 0 || !request.most_there) return "";
  const bool picky = std::any_of(request.groups.begin(), request.groups.end(), [](const DeviceGroup& group) {
    return group.problem == DeviceProblem::kSelector || group.problem == DeviceProblem::kSelectorFails;
  });
  return std::string(no_node_ever(verdict, request) ? "no node has" : "no node that takes the pod has") +
         " more than " + grouped(*request.most_there) + " of the " + counted(request.selected(), "device") +
         " of class " + clean(request.device_class, kMaxName) + (picky ? " that it selects" : "");
}

std::string without_class_words(const Verdict& verdict) {
  uint32_t nodes = 0;
  for (const NodeGroup& group : verdict.node_groups) nodes += group.without_class;
  if (nodes == 0 || verdict.requests.empty()) return "";
  const std::string& first = verdict.requests.front().device_class;
  const bool one = std::all_of(verdict.requests.begin(), verdict.requests.end(),
                               [&](const RequestVerdict& request) { return request.device_class == first; });
  return counted(nodes, "node") + " without a device of " +
         (one ? "class " + clean(first, kMaxName) : std::string("the classes"));
}

std::string unselected_words(const RequestVerdict& request) {
  if (!request.groups.empty()) return "";
  if (request.asked == 0) return "there are no devices";
  std::string text = "class " + request.device_class + " selects none of the " + counted(request.examined, "device");
  return request.nearest_miss.empty() ? text : text + ": " + request.nearest_miss;
}

}  // namespace dra::verdict
