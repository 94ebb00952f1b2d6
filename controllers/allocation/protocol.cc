#include "controllers/allocation/protocol.h"

#include "pkg/api/claim_bounds.h"
#include "pkg/base/strings.h"
#include "pkg/protocol/extended_claim.h"
#include "pkg/protocol/group_claims.h"

#include <algorithm>
#include <functional>

#include "pkg/protocol/keep.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/users.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// The claim exists for the pod's entry, and no other claim does that could be published instead.
bool is_only_claim(const View& view, const api::Pod& pod, const std::string& entry, const std::string& name) {
  bool found = false;
  for (const api::ResourceClaim* claim : view.claims_controlled_by(pod.metadata.uid)) {
    if (!is_made_for(pod, entry, *claim)) continue;
    if (claim->metadata.name != name) return false;
    found = true;
  }
  return found;
}

// `group`: of an entry that is the PodGroup's.
protocol::ClaimState state_of(const View& view, const api::Pod& pod, std::shared_ptr<const api::ResourceClaim> claim,
                              const api::PodGroup* group = nullptr) {
  // By uid: of a PodGroup of the same name that is gone, the reservation is about to go, too.
  const auto serves_group = [&](const api::ResourceClaim& one) {
    return group != nullptr && is_reserved_for(one, group->metadata.uid);
  };
  protocol::ClaimState one;
  one.of_group = group != nullptr;
  one.reserved_for_group = serves_group(*claim);
  one.ours = is_allocated_by_us(*claim);
  one.unsure = !one.ours && protocol::needs_proof(*claim);
  one.proven = is_proven(*claim);
  one.reserved = one.reserved_for_group || is_reserved_for(*claim, pod.metadata.uid);
  one.listed = is_user(*claim, pod.metadata.uid);
  one.left = has_left(*claim, pod.metadata.uid);
  const api::ResourceClaim* streamed = view.streamed_claim(claim->metadata.key());
  one.in_stream = streamed && streamed->metadata.uid == claim->metadata.uid &&
                  streamed->metadata.resource_version == claim->metadata.resource_version;
  one.reserved_in_stream = streamed && (group ? serves_group(*streamed) : is_reserved_for(*streamed, pod.metadata.uid));
  one.claim = std::move(claim);
  return one;
}

bool is_named(const api::Pod& pod, const api::ResourceClaim& claim) {
  const std::vector<std::string> keys = claim_keys_of(pod);
  return std::find(keys.begin(), keys.end(), claim.metadata.key()) != keys.end();
}

// The reservation is gone, and the pod is still on the list of users, or has left and the claim may have to be freed.
bool is_left_listed(const api::Pod& pod, const api::ResourceClaim& claim) {
  if (!claim.status.allocation || is_reserved_for(claim, pod.metadata.uid)) return false;
  return is_user(claim, pod.metadata.uid) || (!has_users(claim) && has_left(claim, pod.metadata.uid));
}

// Our gate as the last one; before an uninstall also among others, which stay.
bool has_our_gate(const api::Pod& pod, const Options& options) {
  return (pod.scheduling_gates.size() == 1 || options.release_gates) && carries_our_gate(pod);
}

// The controller of the pod makes it again; otherwise somebody has to.
std::string how_made_anew(const api::Pod& pod) {
  if (const api::OwnerReference* owner = pod.metadata.controller())
    return "delete the pod, its " + owner->kind + "/" + owner->name + " makes it again";
  return "restart kube-controller-manager, or apply the pod's manifest again after deleting it";
}

// kube-controller-manager 1.36 finds a claim that somebody deleted in its cache for an hour and does not make it anew.
std::string why_absent(const View& view, const api::Pod& pod, const Options& options, const MissingClaim& missing) {
  if (missing.of_group)
    return "kube-controller-manager has not made the claim of PodGroup " + pod.metadata.ns + "/" + pod.pod_group_name +
           " for entry " + missing.entry +
           (missing.name.empty() ? "" : " anew (" + missing.name + " does not exist any more)") +
           ": the events of the PodGroup say why, or its feature gate DRAWorkloadResourceClaims is off";
  if (!missing.name.empty()) {
    const std::string gone = "ResourceClaim " + pod.metadata.ns + "/" + missing.name + " (entry " + missing.entry +
                             ") does not exist any more; ";
    if (options.own_claims)
      return gone + "controller claimtemplate of this manager has not made it anew; its events say why";
    return gone + "kube-controller-manager may take an hour or a restart to make it anew: " + how_made_anew(pod);
  }
  for (const api::ResourceClaim* claim : view.claims_controlled_by(pod.metadata.uid))
    if (is_made_for(pod, missing.entry, *claim))
      return "ResourceClaim " + claim->metadata.key() + " was made for entry " + missing.entry +
             ", but the pod's status does not name it: the resourceclaim-controller that made it seems to be off";
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(ordinary_absence(missing)).count();
  const std::string never =
      "nobody has made a ResourceClaim for entry " + missing.entry + " for " + std::to_string(seconds) + " s: ";
  if (options.own_claims) return never + "events FailedResourceClaimCreation of the pod say why";
  return never +
         "unless events FailedResourceClaimCreation of the pod say why, kube-controller-manager's "
         "resourceclaim-controller seems to be off; switch it on, or run this manager with --claim-templates=own";
}

void judge_absence(const View& view, const api::Pod& pod, const Options& options, PodState& state) {
  const std::optional<View::Noted> seen = view.note(pod.metadata.uid, kMissingNote);
  if (!seen || seen->text != state.missing->id() || seen->age < ordinary_absence(*state.missing)) return;
  state.ordinary_wait = false;
  state.waits_for = why_absent(view, pod, options, *state.missing);
}

}  // namespace

Duration ordinary_absence(const MissingClaim& missing) {
  return missing.name.empty() ? std::chrono::seconds(30) : std::chrono::seconds(10);
}

bool carries_our_gate(const api::Pod& pod) {
  const auto& gates = pod.scheduling_gates;
  return std::find(gates.begin(), gates.end(), kAllocationGate) != gates.end();
}

bool is_ours_to_bind(const api::Pod& pod, const Options& options) {
  return std::find(options.scheduler_names.begin(), options.scheduler_names.end(), pod.scheduler_name) !=
         options.scheduler_names.end();
}

Role role_of(const api::Pod& pod, const Options& options) {
  if (pod.terminal() || pod.metadata.deleting()) return Role::kNone;
  if (!pod.node_name.empty())
    return options.mode == Mode::kBind && !pod.resource_claims.empty() ? Role::kBoundBare : Role::kNone;
  if (options.mode == Mode::kObserve)
    return pod.resource_claims.empty() && !carries_our_gate(pod) ? Role::kNone : Role::kExplain;
  if (has_our_gate(pod, options)) return Role::kGated;
  if (options.mode == Mode::kBind && pod.scheduling_gates.empty() && is_ours_to_bind(pod, options))
    return Role::kToBind;
  return Role::kNone;
}

bool PodState::all_allocated() const {
  return std::all_of(claims.begin(), claims.end(), [](const protocol::ClaimState& c) { return c.allocated(); });
}

bool PodState::all_settled() const {
  return std::all_of(claims.begin(), claims.end(), [](const protocol::ClaimState& c) { return c.settled(); });
}

PodState derive_state(const View& view, const api::Pod& pod, const Options& options,
                      const std::vector<ExtendedResource>& extended) {
  PodState state;
  const auto wait = [&state](std::string why, bool ordinary) {
    if (!state.waits_for.empty()) return;
    state.waits_for = std::move(why);
    state.ordinary_wait = ordinary;
  };
  const auto note_missing = [&](const std::string& entry, const std::string& name, bool of_group) {
    if (!state.missing && pod.node_name.empty()) state.missing = MissingClaim{entry, name, of_group};
  };
  for (const api::PodResourceClaim& entry : pod.resource_claims) {
    const bool of_group = is_entry_of_group(view, pod, entry);
    const api::PodGroup* group = of_group ? pod_group_of(view, pod) : nullptr;
    if (of_group) {
      // kube-scheduler serves the pods that are not ours, and nothing is wrong with them.
      const Role role = role_of(pod, options);
      if (role == Role::kBoundBare) continue;
      if (options.own_claims && entry.resource_claim_template_name) {
        wait(why_entry_of_group_waits(pod, entry), role == Role::kExplain);
        continue;
      }
      if (group == nullptr) {
        wait("PodGroup " + pod.metadata.ns + "/" + pod.pod_group_name + ", whose claim entry \"" + entry.name +
                 "\" is, does not exist: make it, or delete the pod",
             view.groups_known(GroupApi::kCore).state == GroupsKnown::State::kListing);
        continue;
      }
    }
    ResolvedClaim resolved = resolve_claim(pod, entry);
    if (resolved.state == ResolvedClaim::State::kNotNeeded) continue;
    if (resolved.state == ResolvedClaim::State::kNotCreated) {
      state.unpublished = true;
      resolved = resolve_created_claim(pod, entry);
      if (of_group || !options.own_claims || !is_only_claim(view, pod, entry.name, resolved.name)) {
        wait("the claim for entry \"" + entry.name + "\" is not created yet", true);
        note_missing(entry.name, "", of_group);
        continue;
      }
    }
    if (resolved.state == ResolvedClaim::State::kUnsupported) {
      wait("entry \"" + entry.name + "\" names neither a claim nor a template that this version knows", false);
      continue;
    }
    std::shared_ptr<const api::ResourceClaim> claim = view.shared_claim(pod.metadata.ns + "/" + resolved.name);
    if (!claim) {
      wait("ResourceClaim " + pod.metadata.ns + "/" + resolved.name + " (used by pod claim \"" + entry.name +
               "\") does not exist",
           resolved.must_check_owner);
      if (resolved.must_check_owner) note_missing(entry.name, resolved.name, of_group);
      continue;
    }
    if (of_group && resolved.must_check_owner && !is_made_for(*group, *claim)) {
      // kube-controller-manager makes another one for the PodGroup of now.
      wait("claim \"" + resolved.name + "\" of entry \"" + entry.name + "\" was not created for PodGroup " +
               group->metadata.key() + " (uid " + group->metadata.uid + ")",
           true);
      continue;
    }
    if (!of_group && resolved.must_check_owner && !is_for_pod(pod, *claim)) {
      wait("claim \"" + resolved.name + "\" of entry \"" + entry.name + "\" was not created for this pod", false);
      continue;
    }
    if (claim->metadata.deleting()) {
      // Of a bound pod only its owner gets the event: it has what it uses.
      wait("claim \"" + resolved.name + "\" of entry \"" + entry.name + "\" is being deleted", !pod.node_name.empty());
      continue;
    }
    // Ours could not be added to a list that is not kept, nor a mark.
    if (!claim->status.allocation && claim->finalizer_bytes_dropped > 0) {
      wait("claim \"" + resolved.name + "\" of entry \"" + entry.name + "\" has " +
               std::to_string(claim->finalizer_bytes_dropped >> 10) + " KiB of finalizers, and at most " +
               std::to_string(api::kMaxFinalizerBytes >> 10) + " KiB are checked: remove some",
           false);
      continue;
    }
    // It may say that others cannot use the devices.
    if (const api::UnknownField* field = field_that_keeps_out(
            *claim, group && is_reserved_for(*claim, group->metadata.uid) ? group->metadata.uid : pod.metadata.uid,
            view.ignored_fields())) {
      wait("claim \"" + resolved.name + "\" of entry \"" + entry.name + "\": " + api::why_refused(*field), false);
      continue;
    }
    if (std::any_of(state.claims.begin(), state.claims.end(), [&](const protocol::ClaimState& known) {
          return known.claim->metadata.uid == claim->metadata.uid;
        }))
      continue;
    state.claims.push_back(state_of(view, pod, std::move(claim), group));
  }
  if (state.missing && state.ordinary_wait) judge_absence(view, pod, options, state);
  // Only a claim that was planned here, or one that is allocated: nobody else can make the former or write the latter.
  if (options.mode == Mode::kBind && !extended.empty()) {
    auto claim = view.shared_claim(pod.metadata.ns + "/" + extended_claim_name(pod));
    if (claim && !claim->metadata.deleting() && is_extended_claim_of(pod, *claim) &&
        is_as_planned(pod, extended, *claim)) {
      state.extended = claim;
      state.claims.push_back(state_of(view, pod, std::move(claim)));
    }
  }
  // Rare: most reservations are of claims found above.
  std::vector<const api::ResourceClaim*> others = view.claims_reserved_for(pod.metadata.uid);
  for (const std::string& key : claim_keys_of(pod))
    if (const api::ResourceClaim* claim = view.claim(key); claim && is_left_listed(pod, *claim))
      others.push_back(claim);
  for (const api::ResourceClaim* claim : view.claims_controlled_by(pod.metadata.uid))
    if (is_left_listed(pod, *claim)) others.push_back(claim);
  for (const api::ResourceClaim* claim : others) {
    const auto is_it = [&](const protocol::ClaimState& known) {
      return known.claim->metadata.uid == claim->metadata.uid;
    };
    if (claim->metadata.ns != pod.metadata.ns || std::any_of(state.claims.begin(), state.claims.end(), is_it) ||
        std::any_of(state.abandoned.begin(), state.abandoned.end(), is_it))
      continue;
    // A claim that the pod merely does not name yet is not abandoned.
    if (!claim->metadata.deleting() && (state.unpublished || is_named(pod, *claim))) continue;
    if (auto shared = view.shared_claim(claim->metadata.key()))
      state.abandoned.push_back(state_of(view, pod, std::move(shared)));
  }
  return state;
}

bool may_withdraw(const View& view, const protocol::ClaimState& state, const Options& options) {
  if (!state.allocated() || !state.ours || state.proven) return false;
  // Proven, but somebody removed the finalizer: the proof is made again.
  if (bears_mark_of(*state.claim, *state.claim->status.allocation)) return false;
  for (const api::ResourceClaimConsumerReference& consumer : state.claim->status.reserved_for) {
    if (is_keep_reference(consumer)) continue;
    if (!is_pod_reference(consumer)) return false;
    const api::Pod* pod = view.pod(state.claim->metadata.ns + "/" + consumer.name);
    // The lifecycle controller removes consumers that are gone.
    if (!pod || pod->metadata.uid != consumer.uid) return false;
    const Role role = role_of(*pod, options);
    if (role != Role::kGated && role != Role::kToBind) return false;
  }
  return true;
}

namespace {

constexpr size_t kShown = 3;

std::string selected_nodes(const api::NodeSelector& selector) {
  const std::vector<std::string>* names = api::named_nodes(selector);
  return names ? "node " + join_some(*names, kShown) : "the nodes of its node selector";
}

}  // namespace

// A pod that our gate holds, or that is ours to bind, leaves by P8 (`pkg/protocol/leaving.h`); so what still pins one
// is used by others, or not ours. What pins a pod that was ungated or bound is freed only when live GETs have shown
// that its consumers are gone, by uid (P5): kubelet, which reads the claim once, may have prepared its devices.
std::string why_pinned(const api::Pod& pod, const protocol::ClaimState& state) {
  if (!state.allocated() || !state.claim->status.allocation->node_selector) return "";
  std::string why = "it is in use by others";
  std::vector<std::string> consumers;
  for (const api::ResourceClaimConsumerReference& consumer : state.claim->status.reserved_for)
    if (!is_keep_reference(consumer)) consumers.push_back(consumer.name);
  const bool alone = consumers.size() <= 1 && (state.reserved || state.listed);
  if (state.proven && alone) why = "its allocation is proven and may be in use";
  if (!state.ours) why = "others allocated it";
  if (state.unsure) why = "it cannot be told who allocated it";
  const bool kept = is_only_kept(*state.claim);
  if (kept) why = "its devices are " + keep_words(*keep_of(*state.claim));
  std::string what = "delete the pods that it is reserved for (" + join_some(consumers, kShown) + ")";
  if (consumers.empty()) what = "delete the claim";
  if (kept) what = "remove its annotation " + std::string(kKeepAnnotation);
  if (consumers.size() == 1 && state.reserved) what = "delete pod " + pod.metadata.name;
  return "claim \"" + state.claim->metadata.key() + "\" pins this pod to " +
         selected_nodes(*state.claim->status.allocation->node_selector) + " and is not taken back, since " + why +
         "; to free it, " + what;
}

bool single_term(const api::AllocationResult& allocation, api::NodeSelectorTerm& out) {
  if (!allocation.node_selector) return true;
  if (allocation.node_selector->terms.size() != 1) return false;
  const api::NodeSelectorTerm& term = allocation.node_selector->terms.front();
  out.match_expressions.insert(out.match_expressions.end(), term.match_expressions.begin(),
                               term.match_expressions.end());
  out.match_fields.insert(out.match_fields.end(), term.match_fields.begin(), term.match_fields.end());
  return true;
}

std::string devices_of(const std::vector<api::AllocationResult>& allocations) {
  constexpr size_t kMost = 8;
  std::string text;
  size_t devices = 0;
  for (const api::AllocationResult& allocation : allocations)
    for (const api::DeviceRequestAllocationResult& device : allocation.results)
      if (++devices <= kMost)
        text += (text.empty() ? "" : ", ") + device.driver + "/" + device.pool + "/" + device.device;
  return devices > kMost ? text + " and " + std::to_string(devices - kMost) + " more" : text;
}

Duration retreat_delay(const api::Pod& pod, const PodState& state) {
  size_t mix = std::hash<std::string>{}(pod.metadata.uid);
  for (const protocol::ClaimState& claim : state.claims)
    mix = mix * 1099511628211ull + std::hash<std::string>{}(claim.claim->metadata.resource_version);
  mix ^= mix >> 29;
  return std::chrono::milliseconds(20 + mix % 200);
}

}  // namespace dra::allocation
