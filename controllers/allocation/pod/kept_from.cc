#include "controllers/allocation/pod/kept_from.h"

#include <optional>
#include <string_view>

#include "controllers/allocation/kept/kept_claims.h"
#include "controllers/allocation/kept/kept_nodes.h"
#include "controllers/allocation/kept/promised_devices.h"
#include "pkg/protocol/groups.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

std::map<std::string, std::vector<std::string>> leave_kept_nodes(const PodContext& context, nodes::NodeChoice& choice,
                                                                 ReconcileResult& out) {
  std::map<std::string, std::vector<std::string>> kept;
  KeptNodes& nodes = context.tools.kept;
  if (nodes.empty() || choice.nodes.empty()) return kept;
  nodes.tidy(context.view, context.tools.options);
  const std::optional<GroupRef> group = group_of(context.pod);
  const std::string own = group ? group->key() : "";
  if (context.tools.kept_devices.keeps_for(own)) return kept;  // its group already runs there
  const size_t dropped = choice.drop_nodes([&](std::string_view node) {
    const KeptNodes::One* one = nodes.keeps(node, context.pod, own);
    if (one != nullptr) kept[one->shown].emplace_back(node);
    return one != nullptr;
  });
  if (dropped == 0) return kept;
  // Nothing unparks the pod when the nodes are no longer kept.
  out.requeue_in(std::chrono::seconds(30));
  if (choice.nodes.empty())
    choice.why_none = "the nodes that would take the pod are kept" + kept_nodes_clause({.kept_nodes = kept});
  return kept;
}

std::string kept_nodes_clause(const Obstacles& obstacles) {
  constexpr size_t kShown = 3;
  if (obstacles.kept_nodes.empty()) return "";
  std::string text;
  size_t shown = 0;
  for (const auto& [group, nodes] : obstacles.kept_nodes) {
    if (shown++ == kShown) {
      text += " and " + std::to_string(obstacles.kept_nodes.size() - kShown) + " more";
      break;
    }
    text += (text.empty() ? " for " : ", for ") + group + " (" + std::to_string(nodes.size()) +
            (nodes.size() == 1 ? " node)" : " nodes)");
  }
  return text + std::string(verdict::kWhyKept);
}

void refuse_kept_nodes(const Obstacles& obstacles, verdict::NodeFindings& findings) {
  for (const auto& [group, nodes] : obstacles.kept_nodes)
    verdict::refuse_nodes(findings, verdict::NodeProblem::kKept, "kept for " + group + std::string(verdict::kWhyKept),
                          nodes);
}

KeptDevices::Kept kept_devices_of(const PodContext& context, int64_t priority) {
  const KeptDevices& devices = context.tools.kept_devices;
  KeptDevices::Kept kept;
  if (!devices.empty()) {
    const std::optional<GroupRef> group = group_of(context.pod);
    kept = devices.kept_from(priority, group ? group->key() : "", context.view.now(), context.tools.inventory);
  }
  if (!context.tools.promised.empty())
    kept.promised = context.tools.promised.promised_from(priority, context.pod, context.tools.inventory);
  if (context.tools.kept_claims.holds()) {
    const api::AllocationResult held = context.tools.kept_claims.held_from(priority, context.pod.metadata.uid,
                                                                           context.view.now(), context.tools.inventory);
    auto& all = kept.promised.results;
    all.insert(all.end(), held.results.begin(), held.results.end());
  }
  return kept;
}

std::string kept_devices_clause(const KeptDevices::Kept& kept) {
  std::string promised;
  if (const size_t some = kept.promised.results.size(); some > 0)
    promised = "; " + (some == 1 ? "1 device is" : std::to_string(some) + " devices are") +
               " promised to pods that take the place of others, or that move, of no lower priority than this one";
  if (kept.shown.empty()) return promised;
  const size_t count = kept.devices.results.size();
  return promised + "; " + (count == 1 ? "1 device is" : std::to_string(count) + " devices are") + " kept for " +
         kept.shown + ", until its member that ended comes again";
}

}  // namespace dra::allocation
