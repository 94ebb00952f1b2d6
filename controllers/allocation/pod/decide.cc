#include "controllers/allocation/pod/decide.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "controllers/allocation/pod/allocation_writes.h"
#include "controllers/allocation/pod/candidates.h"
#include "controllers/allocation/pod/conflicts.h"
#include "controllers/allocation/pod/kept_from.h"
#include "controllers/allocation/pod/near.h"
#include "controllers/allocation/pod/node_takes.h"
#include "controllers/allocation/pod/not_found.h"
#include "controllers/allocation/pod/pairs.h"
#include "controllers/allocation/pod/prepare.h"
#include "controllers/allocation/pod/rails_report.h"
#include "controllers/allocation/pod/report.h"
#include "controllers/allocation/pod/take_kept.h"
#include "controllers/allocation/pod/take_over.h"
#include "controllers/allocation/pod/topology.h"
#include "controllers/allocation/pod/withdraw.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/rails.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// An event on the class whose annotation names an unknown strategy, whichever pod asks for the class.
void warn_of_strategy(const PodContext& context, const std::string& device_class, ReconcileResult& out) {
  const api::DeviceClass* known = context.view.device_class(device_class);
  if (known == nullptr) return;
  const auto text = known->metadata.annotations.find(std::string(allocator::kStrategyAnnotation));
  if (text == known->metadata.annotations.end()) return;
  complain_of(context, ref_of(Kind::kClass, known->metadata),
              {"UnknownStrategy",
               "annotation " + std::string(allocator::kStrategyAnnotation) + ": " + quote(text->second) +
                   " is not a strategy and is ignored; use first-fit, best-fit, pack or spread",
               text->second},
              out);
}

// What follows from a search that ended; `unless` if nothing was found.
void act_on_search(const PodContext& context, const NotFound& unless, ReconcileResult& out) {
  const allocator::FoundNodes& found = unless.found;
  if (!found.class_of_unknown_strategy.empty()) warn_of_strategy(context, found.class_of_unknown_strategy, out);
  switch (found.outcome) {
    case allocator::Outcome::kFeasible:
      if (context.role != Role::kExplain) write_decision(context, unless.request, found.decisions.front(), out);
      return;
    case allocator::Outcome::kInfeasible:
      // A sibling allocated before may be in the way: it is freed first.
      if (withdraw_or_leave(context, out) || take_kept(context, unless.request, unless.order, out)) return;
      return report_no_devices(context, unless, out);
    case allocator::Outcome::kBudgetSpent:
      // Even the largest budget does not decide it on these nodes; on others it may be easy.
      if (found.budget >= context.tools.allocator.options().max_step_budget && withdraw_or_leave(context, out)) return;
      return report_undecided(context, found, out);
    case allocator::Outcome::kUnfinished:
      return go_on_later(context, found, out);
    case allocator::Outcome::kError:
      return withdraw_or_leave(context, out) ? void() : report_unusable(context, unless, out);
  }
}

}  // namespace

void decide_claims(const PodContext& context, ReconcileResult& out) {
  const Tools& tools = context.tools;
  const api::Pod& pod = context.pod;
  // Takes no more devices beside a sibling that cannot be used.
  if (const Conflicts conflicts = conflicts_of(context); !conflicts.empty()) return give_way(context, conflicts, out);
  // Before choosing nodes, which takes time as well.
  if (const Duration wait = tools.allocator.must_wait(pod.metadata.ns); wait > Duration::zero()) {
    allocator::FoundNodes later;
    later.ask_again = wait;
    return go_on_later(context, later, out);
  }
  std::optional<std::vector<allocator::PairRule>> pairs = pairs_asked(context, context.state.claims, out);
  if (!pairs) return;
  Candidates candidates = candidate_nodes(context, out);
  const nodes::NodeChoice& choice = candidates.choice;
  if (waits_for_watch(choice, out)) return;
  if (choice.nodes.empty()) return withdraw_or_leave(context, out) ? void() : report_no_node(context, candidates, out);
  allocator::Request request;
  request.weigh_alternatives = true;
  request.facts = choice.facts;
  request.cpu_milli = choice.cpu_milli;
  for (const protocol::ClaimState& claim : context.state.claims)
    if (!claim.allocated()) request.claims.push_back(claim.claim);
  request.preferences = preferences_of_claims(context, out);
  request.pairs = std::move(*pairs);
  request.room = room_for_takes(context);
  const std::vector<allocator::NodeId> order = numbers_of(choice, tools.inventory);
  if (take_over(context, request, order, out)) return;
  const DevicesHeldBack held_back(tools.inventory, avoided_devices(context.view, pod));
  const KeptDevices::Kept kept = kept_devices_of(context, pod.priority);
  const KeptFromDecision kept_from(tools.inventory, kept);
  if (context.role == Role::kGated || context.role == Role::kToBind) {
    const Neighbours near = neighbours_of(context.view, pod, tools.options);
    const std::string& ignored = near.wish.ignored;
    if (!ignored.empty()) complain(context, {"TopologyIgnored", ignored, ignored}, out);
    const PodRails rails = rails_of(context.view, pod);
    if (rails.any && !report_rails(context, rails, out)) return void(withdraw_or_leave(context, out));
    if ((near.any() || !rails.read.rules.empty()) &&
        allocate_near(context, near, rails, request, candidates.obstacles, out))
      return;
  }
  const allocator::FoundNodes found = tools.allocator.find_nodes(request, order, 1);
  act_on_search(context, {request, order, found, candidates.obstacles, kept_devices_clause(kept), ""}, out);
}

std::vector<allocator::Preference> preferences_of_claims(const PodContext& context, ReconcileResult& out) {
  const std::vector<protocol::ClaimState>& states = context.state.claims;
  const auto bears_some = [](const protocol::ClaimState& claim) {
    return claim.claim->metadata.annotations.contains(std::string(allocator::kPreferAnnotation));
  };
  if (std::none_of(states.begin(), states.end(), bears_some)) return {};
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  for (const protocol::ClaimState& claim : states) claims.push_back(claim.claim);
  allocator::Preferences found = allocator::preferences_of(claims);
  std::set<std::string> said;  // one event per claim
  for (const auto& [claim, why] : found.ignored)
    if (said.insert(claim->metadata.uid).second)
      complain_of(context, ref_of(Kind::kClaim, claim->metadata),
                  {"PreferenceIgnored", "annotation " + std::string(allocator::kPreferAnnotation) + ": " + why, why},
                  out);
  return std::move(found.of);
}

}  // namespace dra::allocation
