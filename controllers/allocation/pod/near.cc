#include "controllers/allocation/pod/near.h"

#include <string>
#include <utility>
#include <vector>

#include "controllers/allocation/members/rails.h"
#include "controllers/allocation/pod/allocation_writes.h"
#include "controllers/allocation/pod/group_nodes.h"
#include "controllers/allocation/pod/report.h"
#include "controllers/allocation/pod/withdraw.h"
#include "pkg/gang/gang.h"
#include "pkg/protocol/pod_pairs.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

gang::GangRequest group_of_one(const PodContext& context, const Neighbours& near, const PodRails& rails,
                               int64_t cpu_milli) {
  const api::ObjectMeta& pod = context.pod.metadata;
  gang::GangRequest asked;
  asked.uid = "pod:" + pod.uid;
  asked.name = "pod " + pod.key();
  asked.ns = pod.ns;
  asked.min_count = 1;
  asked.topology = topology_for(near.wish, context.tools.options);
  for (const std::string& node : near.nodes)
    if (context.view.node(node) != nullptr) asked.placed.push_back(context.tools.inventory.node_id(node));
  gang::Member member;
  member.name = pod.key();
  member.uid = pod.uid;
  member.cpu_milli = cpu_milli;
  for (const protocol::ClaimState& claim : context.state.claims) member.claims.push_back(claim.claim);
  member.pairs = pairs_of_pod(context.pod, member.claims).entries;
  asked.members.push_back(std::move(member));
  if (rails.any) asked.rails = rail_rules(rails, context.tools.inventory, asked.members);
  return asked;
}

void write_found(const PodContext& context, const Neighbours& near, const allocator::Request& request,
                 gang::Decision& decision, ReconcileResult& out) {
  allocator::Decision found;
  found.node = decision.members.at(0).node;
  if (!decision.domain.empty()) found.reason = "is in the smallest domain with room, " + decision.domain;
  if (!near.nodes.empty() && !decision.domain.empty()) found.reason = "is near its group, in " + decision.domain;
  found.results.resize(request.claims.size());
  for (gang::ClaimResult& claim : decision.claims)
    for (size_t i = 0; i < request.claims.size(); ++i)
      if (request.claims[i]->metadata.uid == claim.claim->metadata.uid) found.results[i] = std::move(claim.result);
  if (context.role != Role::kExplain) write_decision(context, request, found, out);
}

}  // namespace

namespace {

// What only the domain or the rails ask; empty: a preference, without which the usual code decides and reports.
std::string what_is_required(const Neighbours& near, const gang::GangRequest& asked) {
  std::string text;
  if (!near.wish.required.empty()) text = "in one domain of " + near.wish.required;
  for (const gang::RailRule& rule : asked.rails)
    if (!rule.soft) text += (text.empty() ? "on" : ", on") + (" the same rails of " + rule.attribute);
  return text;
}

}  // namespace

bool allocate_near(const PodContext& context, const Neighbours& near, const PodRails& rails,
                   const allocator::Request& request, Obstacles& obstacles, ReconcileResult& out) {
  const Tools& tools = context.tools;
  const gang::GangRequest asked = group_of_one(context, near, rails, request.cpu_milli);
  const std::vector<SearchedPod> self{{&context, &obstacles, &out}};
  GroupNodes nodes(self, context.view, tools.inventory, tools.nodes);
  const allocator::Allocator::Bill bill(tools.allocator, context.pod.metadata.ns);
  gang::Decision decision = tools.gangs.decide(asked, nodes);
  if (nodes.watch_lags()) return out.requeue_in(std::chrono::seconds(1)), true;
  const std::string required = what_is_required(near, asked);
  switch (decision.outcome) {
    case allocator::Outcome::kFeasible:
      return write_found(context, near, request, decision, out), true;
    case allocator::Outcome::kUnfinished:
      out.requeue_in(decision.ask_again);
      out.goes_on = true;
      return true;
    case allocator::Outcome::kInfeasible:
      // Only a preference was requested, so no node has capacity: the usual code reports why.
      if (required.empty()) return false;
      if (withdraw_or_leave(context, out)) return true;
      park_pod(context, causes_of(context, request), obstacles, out);
      say_waiting(context, {"FailedScheduling", required + ": " + decision.reason, required}, Fit::kNowhere, out);
      count_failure(context, "NoNode", out);
      return true;
    case allocator::Outcome::kBudgetSpent:
      // Without the domain the question is simpler, but it is another one when the domain is required.
      if (required.empty()) return false;
      out.retry = "the search for a place for the pod took more than its budget of steps";
      if (decision.ask_again > Duration::zero()) out.requeue_in(decision.ask_again);
      count_failure(context, "BudgetSpent", out);
      say_waiting(context,
                  {"AllocationUndecided",
                   required + ": neither found nor refuted within the budget of steps: " + decision.reason, required},
                  Fit::kUndecided, out);
      return true;
    case allocator::Outcome::kError:
      // Errors in the claims are reported in the usual words.
      if (rails.read.rules.empty()) return false;
      say_waiting(
          context,
          {"FailedAllocation", decision.error ? decision.error->message() : "the rails cannot be decided", "rails"},
          Fit::kNowhere, out);
      return true;
  }
  return false;
}

}  // namespace dra::allocation
