// text(): the verdict for a user at a terminal.
#include <algorithm>

#include "pkg/verdict/device_words.h"
#include "pkg/verdict/verdict.h"
#include "pkg/verdict/words.h"

namespace dra::verdict {

namespace {

// Lines of at most `width` bytes, broken at blanks; continuation lines are indented by two more.
class Page {
 public:
  explicit Page(size_t width) : width_(width == 0 ? std::string_view::npos : std::max<size_t>(width, 20)) {}

  void line(size_t indent, const std::string& content) {
    std::string_view rest = content;
    for (bool first = true; first || !rest.empty(); first = false) {
      const size_t margin = indent + (first ? 0 : 2);
      std::string_view part = rest;
      if (margin + rest.size() > width_) {
        const size_t blank = rest.rfind(' ', width_ - margin);
        const size_t later = blank == std::string_view::npos || blank == 0 ? rest.find(' ', 1) : blank;
        part = rest.substr(0, later);
      }
      text_ += std::string(margin, ' ') + std::string(part) + "\n";
      rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    }
  }
  std::string take() { return std::move(text_); }

 private:
  const size_t width_;
  std::string text_;
};

std::string names_of(const std::vector<std::string>& names, size_t all, size_t most) {
  std::string text;
  const size_t shown = std::min({names.size(), most, all});
  for (size_t i = 0; i < shown; ++i) text += (text.empty() ? "" : ", ") + names[i];
  if (all > shown && !text.empty()) text += " and " + std::to_string(all - shown) + " more";
  return text;
}

std::string headline(const Verdict& verdict) {
  if (verdict.answer == Answer::kFits) return "Fits" + (verdict.node.empty() ? "." : " on node " + verdict.node + ".");
  if (verdict.main == Verdict::Main::kRefused) return "Does not fit: " + verdict.refused;
  std::string text =
      verdict.answer == Answer::kUndecided ? "Undecided within the budget of the search: " : "Does not fit: ";
  if (verdict.nodes == 0) return text + "there are no nodes.";
  if (verdict.main == Verdict::Main::kNodes) {
    for (const NodeGroup& group : verdict.node_groups)
      if (group.problem != NodeProblem::kDevices)
        return text +
               (group.with_devices == 1  ? "the node that has the devices is out: "
                : group.with_devices > 1 ? "the nodes that have the devices are out: "
                                         : "no node takes the pod: ") +
               group.text + ".";
    return text + "no node takes the pod.";
  }
  if (verdict.main == Verdict::Main::kTogether) return text + "each request fits by itself, but not all together.";
  if (verdict.requests.empty()) return text + "no devices.";
  const RequestVerdict& request = verdict.requests[verdict.main_request];
  const std::string few = too_few_there_words(verdict, request);
  if (!few.empty() && never_fits(verdict, request) && blocked_words(verdict, request).empty())
    return "Does not fit, and never will: " + few + " (wanted: " + wanted_words(request) + ").";
  text += "no node has " + wanted_words(request);
  if (const std::string none = unselected_words(request); !none.empty()) return text + "; " + none + ".";
  if (const std::string blocked = blocked_words(verdict, request); !blocked.empty()) return text + ": " + blocked + ".";
  if (!few.empty()) return text + ": " + few + ".";
  const DeviceGroup& group = request.groups.front();
  return text + ": " + counted(group.devices, "device") + " " + problem_words(request, group, verdict.passed > 1) + ".";
}

void write_nodes(const Verdict& verdict, const TextOptions& options, Page& page) {
  page.line(0, "Nodes (" + grouped(verdict.nodes) + "):");
  for (const NodeGroup& group : verdict.node_groups) {
    const bool passes = group.problem == NodeProblem::kDevices;
    std::string line = grouped(group.nodes) + "  " + (passes ? "would do, but for the devices" : group.text);
    if (group.with_devices > 0)
      line += group.with_devices == group.nodes
                  ? " - has the devices"
                  : " - " + grouped(group.with_devices) + (group.with_devices == 1 ? " has" : " have") + " the devices";
    if (const std::string names = names_of(group.names, named_nodes_of(group), options.wide ? kMaxNames : 3);
        !names.empty())
      line += " (" + names + ")";
    page.line(2, line);
  }
}

void write_request(const Verdict& verdict, const RequestVerdict& request, const TextOptions& options, Page& page) {
  page.line(0, "Devices for " + wanted_words(request) + " (claim " + clean(request.claim, 128) +
                   (request.entry.empty() ? "" : ", pod claim " + request.entry) + ", class " + request.device_class +
                   "):");
  if (!request.invalid.empty()) return page.line(2, request.invalid);
  if (const std::string none = unselected_words(request); !none.empty()) return page.line(2, none);
  if (const std::string blocked = blocked_words(verdict, request); !blocked.empty()) page.line(2, blocked);
  if (const std::string few = too_few_there_words(verdict, request); !few.empty())
    page.line(2, few + ", in use or not");
  for (const DeviceGroup& group : request.groups) {
    std::string line = grouped(group.devices) + "  " + problem_words(request, group, verdict.passed > 1);
    if (const std::string who = holder_words(group, options.wide ? kMaxNames : 3); !who.empty()) line += " by " + who;
    if (options.wide && !group.names.empty()) line += " [" + names_of(group.names, group.devices, kMaxNames) + "]";
    page.line(2, line);
  }
  if (request.not_selected > 0)
    page.line(2, "(" + grouped(request.not_selected) + " of " + grouped(request.examined) +
                     " devices are not of this class)");
  if (request.examined < request.asked)
    page.line(2, "(" + grouped(request.examined) + " of " + grouped(request.asked) + " devices examined)");
}

}  // namespace

std::string text(const Verdict& verdict, const TextOptions& options) {
  Page page(options.width);
  page.line(0, headline(verdict));
  for (const api::AllocationResult& result : verdict.results)
    for (const api::DeviceRequestAllocationResult& device : result.results)
      page.line(
          2, clean(device.request, 128) + ": " + clean(device.driver + "/" + device.pool + "/" + device.device, 256));
  if (verdict.answer == Answer::kFits || verdict.main == Verdict::Main::kRefused) return page.take();
  if (!verdict.node_groups.empty()) write_nodes(verdict, options, page);
  for (const RequestVerdict& request : verdict.requests) write_request(verdict, request, options, page);
  for (const std::string& pairs : verdict.short_of_pairs) page.line(0, "Pairs: " + pairs);
  if (verdict.more_short_of_pairs > 0)
    page.line(0, "Pairs: " + counted(verdict.more_short_of_pairs, "node") + " more with too few");
  if (!verdict.together.empty() && verdict.short_of_pairs.empty()) page.line(0, "Together: " + verdict.together);
  return page.take();
}

}  // namespace dra::verdict
