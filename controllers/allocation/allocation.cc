#include "controllers/allocation/allocation.h"

#include <memory>
#include <set>
#include <utility>

#include "controllers/allocation/events.h"
#include "controllers/allocation/group/member.h"
#include "controllers/allocation/kept/kept_members.h"
#include "controllers/allocation/pod/not_honoured.h"
#include "controllers/allocation/pod/pinned.h"
#include "controllers/allocation/pod/refused.h"
#include "controllers/allocation/pod/steps.h"
#include "controllers/allocation/state.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

ReconcileResult reconcile_key(const Key& key, const View& view, State& state) {
  const Options& options = state.options;
  if (key.kind != Kind::kPod) return {};
  const api::Pod* pod = view.pod(key.object);
  if (!pod) return {};
  const Role role = role_of(*pod, options);
  if (role == Role::kNone && options.mode == Mode::kGate && is_unschedulable(*pod))
    return reconcile_pinned(view, *pod, options, state.nodes, state.recreations);
  if (is_refused_binding(*pod, options)) return reconcile_refused(view, *pod);
  if (role == Role::kNone) return {};
  const Tools tools{options,        state.inventory,  state.allocator,     state.nodes,
                    state.why_here, state.kept_nodes, state.kept_devices,  state.promised,
                    state.gangs,    state.leaders,    *state.kept_members, state.kept_claims};
  if ((role != Role::kGated && role != Role::kToBind) || options.release_gates)
    return reconcile_alone(view, *pod, tools);
  const Membership membership = membership_of(view, *pod);
  if (membership.state != Membership::State::kAlone) return reconcile_member(view, *pod, tools, membership);
  return reconcile_alone(view, *pod, tools, membership.why);
}

}  // namespace

ReconcileResult AllocationReconciler::reconcile(const Key& key, const View& view, reconcile::State& handed) const {
  State& state = static_cast<State&>(handed);
  std::set<Cause> freed;
  if (!state.kept_devices.empty()) {
    freed = state.kept_devices.drop_expired(view.now());
    freed.merge(state.kept_devices.drop_due(view));
  }
  ReconcileResult outcome = reconcile_key(key, view, state);
  if (const api::Pod* pod = key.kind == Kind::kPod ? view.pod(key.object) : nullptr)
    warn_not_honoured(view, *pod, state.options, outcome);
  outcome.unparks.assign(freed.begin(), freed.end());
  return outcome;
}

Parts parts(Options options, inventory::Inventory& inventory, allocator::Allocator& allocator,
            nodes::NodeChooser& nodes) {
  return {.name = "allocation",
          .reconciler = std::make_unique<AllocationReconciler>(),
          .events = std::make_unique<AllocationEvents>(),
          .state = std::make_unique<State>(std::move(options), inventory, allocator, nodes)};
}

std::vector<std::string> failure_causes() {
  std::vector<std::string> names{"BudgetSpent", "GroupWaits", "LostRace", "NoNode", "NotReadyToBind"};
  for (size_t cause = 0; cause <= static_cast<size_t>(allocator::Cause::kInvalidRequest); ++cause)
    names.emplace_back(allocator::cause_name(static_cast<allocator::Cause>(cause)));
  return names;
}

}  // namespace dra::allocation
