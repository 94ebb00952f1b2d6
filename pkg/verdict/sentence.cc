// sentence(): one sentence for events and conditions, and kind(): what makes it news.
#include <algorithm>

#include "pkg/verdict/device_words.h"
#include "pkg/verdict/verdict.h"
#include "pkg/verdict/words.h"

namespace dra::verdict {

namespace {

constexpr size_t kMaxGroups = 4;  // of nodes, and of a request's devices
constexpr size_t kMaxRequests = 4;
constexpr size_t kMaxNodeNames = 3;

// The names are those of the nodes that stand last before them: with the devices, if only some have these.
std::string node_words(const NodeGroup& group) {
  const uint32_t named = named_nodes_of(group);
  std::string names;
  for (size_t i = 0; i < group.names.size() && i < std::min<size_t>(kMaxNodeNames, named); ++i)
    names += (names.empty() ? "" : ", ") + clean(group.names[i], 64);
  if (named > kMaxNodeNames && !names.empty()) names += ", ...";
  std::string text = group.nodes == 1 && !names.empty() ? names : counted(group.nodes, "node");
  if (group.with_devices > 0) {
    text += group.with_devices < group.nodes ? " (" + grouped(group.with_devices) + " with the devices"
            : group.nodes == 1               ? " (has the devices"
                                             : " (all with the devices";
    text += group.nodes > 1 && !names.empty() ? ": " + names + ")" : ")";
  } else if (group.nodes > 1 && !names.empty()) {
    text += " (" + names + ")";
  }
  return text + ": " + group.text;
}

// All nodes except those that pass.
std::string refused_nodes(const Verdict& verdict) {
  std::string text;
  size_t shown = 0;
  uint32_t others = 0;
  for (const NodeGroup& group : verdict.node_groups) {
    if (group.problem == NodeProblem::kDevices || group.nodes == 0) continue;
    if (shown++ >= kMaxGroups)
      others += group.nodes;
    else
      text += (text.empty() ? "" : "; ") + node_words(group);
  }
  return others > 0 ? text + "; " + counted(others, "node") + " for other reasons" : text;
}

std::string counted_out(const RequestVerdict& request, const Verdict& verdict, bool name_holders) {
  if (std::string none = unselected_words(request); !none.empty()) return none;
  std::string text = blocked_words(verdict, request);
  if (const std::string few = too_few_there_words(verdict, request); !few.empty())
    text += (text.empty() ? "" : ", ") + std::string(never_fits(verdict, request) ? "never fits, as " : "") + few;
  uint32_t others = 0;
  size_t shown = 0;
  for (const DeviceGroup& group : request.groups) {
    if (shown >= kMaxGroups) {
      others += group.devices;
      continue;
    }
    text += text.empty() ? counted(group.devices, "device") : ", " + grouped(group.devices);
    text += " " + problem_words(request, group, verdict.passed > 1);
    if (const std::string who = holder_words(group, kNamedInSentence); name_holders && !who.empty())
      text += " by " + who;
    ++shown;
  }
  return others > 0 ? text + ", " + grouped(others) + " for other reasons" : text;
}

bool is_chosen(const RequestVerdict& request, const SentenceOptions& options) {
  return options.claim.empty() || request.claim == options.claim;
}

// "2 x gpu: 14 devices in use; 1 x nic: ..."; if some requests are impossible alone, only those.
std::string devices(const Verdict& verdict, const SentenceOptions& options) {
  std::vector<const RequestVerdict*> chosen;
  bool several_claims = false, any_impossible = false;
  for (const RequestVerdict& request : verdict.requests) {
    several_claims = several_claims || request.claim != verdict.requests.front().claim;
    if (!is_chosen(request, options)) continue;
    chosen.push_back(&request);
    any_impossible = any_impossible || !request.possible;
  }
  if (any_impossible && verdict.main != Verdict::Main::kTogether)
    std::erase_if(chosen, [](const RequestVerdict* request) { return request->possible; });
  // The verdict's main request comes first.
  std::stable_sort(chosen.begin(), chosen.end(), [&](const RequestVerdict* a, const RequestVerdict* b) {
    const RequestVerdict* first = &verdict.requests[verdict.main_request];
    return a == first && b != first;
  });
  std::string text;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (i == kMaxRequests) {
      text += "; " + counted(chosen.size() - i, "request") + " more";
      break;
    }
    const RequestVerdict& request = *chosen[i];
    text += (i == 0 ? "" : "; ") + wanted_words(request);
    if (several_claims) {
      const size_t slash = request.claim.find('/');
      text += " (claim " + clean(request.claim.substr(slash == std::string::npos ? 0 : slash + 1), 64) + ")";
    }
    text += ": " + counted_out(request, verdict, options.name_holders);
  }
  return text;
}

std::string unexamined(const Verdict& verdict) {
  const RequestVerdict* least = nullptr;
  for (const RequestVerdict& request : verdict.requests)
    if (request.examined < request.asked && (least == nullptr || request.examined < least->examined)) least = &request;
  return least == nullptr ? "" : "; " + grouped(least->examined) + " of " + grouped(least->asked) + " devices examined";
}

// The node with the most groups; how many others have too few.
std::string pairs_words(const Verdict& verdict) {
  if (verdict.short_of_pairs.empty()) return "";
  const size_t others = verdict.short_of_pairs.size() - 1 + verdict.more_short_of_pairs;
  return verdict.short_of_pairs.front() +
         (others > 0 ? ", and " + grouped(static_cast<uint32_t>(others)) + " more such" : "");
}

std::string cut(std::string text, const std::string& tail) {
  const size_t room = kMaxSentence - std::min(tail.size(), kMaxSentence / 4);
  return clean(text, room) + tail.substr(0, kMaxSentence / 4);
}

}  // namespace

std::string sentence(const Verdict& verdict, const SentenceOptions& options) {
  if (verdict.main == Verdict::Main::kRefused) return clean(verdict.refused, kMaxSentence);
  const std::string tail = unexamined(verdict);
  const std::string nodes = refused_nodes(verdict);
  const std::string wanted = devices(verdict, options);
  const std::string who =
      options.only_node.empty() ? "no node can provide " : "node " + clean(options.only_node, 128) + " cannot provide ";
  if (verdict.nodes == 0 && options.only_node.empty()) return cut("0/0 nodes are available: there are no nodes", tail);
  if (verdict.main == Verdict::Main::kNodes) {
    std::string text = "0/" + std::to_string(verdict.nodes) + " nodes are available: " + nodes;
    if (verdict.passed > 0) text += "; " + counted(verdict.passed, "node") + " without the devices";
    return cut(wanted.empty() ? text : text + "; devices for " + wanted, tail);
  }
  // If no request was examined, there was no time for one.
  std::string text = who + (wanted.empty() ? "the devices that the claims ask for" : wanted);
  if (verdict.main == Verdict::Main::kTogether) text = who + "all requests together: " + wanted;
  const std::string pairs = pairs_words(verdict);
  if (!pairs.empty())
    text = verdict.main == Verdict::Main::kTogether ? pairs + "; " + wanted : text + "; " + pairs;
  else if (!verdict.together.empty() && verdict.passed <= 1)
    text += "; " + verdict.together;
  if (!nodes.empty())
    text += "; " + std::to_string(verdict.nodes - verdict.passed) + "/" + std::to_string(verdict.nodes) +
            " nodes are unavailable: " + nodes;
  return cut(text, tail);
}

std::string kind(const Verdict& verdict) {
  std::string text = std::to_string(static_cast<int>(verdict.main));
  if (verdict.main == Verdict::Main::kRefused) return text + verdict.refused;
  std::vector<std::string> parts;
  for (const NodeGroup& group : verdict.node_groups)
    parts.push_back(std::string(node_problem_name(group.problem)) + (group.with_devices > 0 ? "!" : ""));
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  for (const std::string& part : parts) text += "," + part;
  for (const RequestVerdict& request : verdict.requests) {
    text += ";" + request.claim + "/" + request.request + ":" + request.nearest_miss;
    std::vector<std::string_view> problems;
    for (const DeviceGroup& group : request.groups) problems.push_back(device_problem_name(group.problem));
    std::sort(problems.begin(), problems.end());
    problems.erase(std::unique(problems.begin(), problems.end()), problems.end());
    for (const std::string_view problem : problems) text += "," + std::string(problem);
    if (request.most_there) text += ",few";
    if (request.nodes_blocked > 0) text += ",blocked";
  }
  if (!verdict.short_of_pairs.empty()) text += ";pairs";
  return text;
}

}  // namespace dra::verdict
