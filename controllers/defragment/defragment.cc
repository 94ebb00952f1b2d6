#include "controllers/defragment/defragment.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "controllers/preemption/turn.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/writes.h"
#include "pkg/reconcile/reasons.h"

namespace dra::defragment {

using namespace protocol;
using namespace reconcile;

namespace {

constexpr std::string_view kGate = "dra-controller-manager/allocation";

// How long until a pod is asked about again where moves are made, where they are advised, and one that waits for what
// is on its way. Between two questions others have their turn (controllers/preemption/turn.h).
constexpr Duration kAskSoon = std::chrono::seconds(2);
constexpr Duration kAskAgain = std::chrono::seconds(30);
constexpr Duration kLookAgain = std::chrono::seconds(1);

// The controller allocation said so, of a pod that it binds or holds at the gate: it fits on no node as things are.
bool fits_nowhere(const api::Pod& pod) {
  return std::any_of(pod.conditions.begin(), pod.conditions.end(), [](const api::Condition& one) {
    return (one.type == "PodScheduled" || one.type == "dra-controller-manager/Allocated") && one.status == "False" &&
           one.reason == "Unschedulable";
  });
}

// In bind mode those of our scheduler names, in gate mode those that nothing but our gate holds.
bool waits_for_us(const api::Pod& pod, const Options& options) {
  if (!pod.node_name.empty() || pod.done() || pod.metadata.deleting() || !fits_nowhere(pod)) return false;
  if (!options.search.scheduler_names.empty())
    return preemption::is_ours(pod, options.search) && pod.scheduling_gates.empty();
  return pod.scheduling_gates.size() == 1 && pod.scheduling_gates.front() == kGate;
}

}  // namespace

// Names of other namespaces are not for the pod that asks.
Move move_of(const api::Pod& pod, const api::Pod& asking) {
  const bool same = pod.metadata.ns == asking.metadata.ns;
  const api::OwnerReference& owner = *pod.metadata.controller();
  std::string kind = owner.kind;
  std::transform(kind.begin(), kind.end(), kind.begin(), [](unsigned char c) { return std::tolower(c); });
  Move move{pod.metadata.uid,
            pod.metadata.ns,
            owner.uid,
            same ? kind + "/" + owner.name : "an owner of another namespace",
            same ? "namespace " + pod.metadata.ns : "another namespace",
            kMovesPerHourOfOwner};
  if (const auto said = pod.metadata.annotations.find(kMovesPerHourAnnotation); said != pod.metadata.annotations.end())
    move.allowed_of_owner = read_moves_per_hour(said->second).value_or(0);
  return move;
}

Defragment DefragmentReconciler::mode_for(const View& view, const api::Pod& pod) const {
  const std::vector<std::string> keys = claim_keys_of(pod);
  Defragment mode = keys.empty() ? Defragment::kOff : options_.flag;
  for (const std::string& key : keys)
    if (const api::ResourceClaim* claim = view.claim(key))
      mode = std::min(mode, defragment_for(claim->spec, options_.flag,
                                           [&](const std::string& name) { return view.device_class(name); }));
  return mode;
}

ReconcileResult DefragmentReconciler::reconcile(const Key& key, const View& view, reconcile::State& handed) const {
  State& state = static_cast<State&>(handed);
  ReconcileResult out;
  const api::Pod* pod = key.kind == Kind::kPod ? view.pod(key.object) : nullptr;
  if (pod == nullptr) return out;
  const bool promised = has_promise(*pod);
  if (promised) {
    const Result<Promise> promise = *promise_of(*pod);
    if (options_.preempts && (!promise || !promise->has_moves())) return out;  // the controller preemption's
    if (pod->metadata.deleting() || !preemption::is_ours(*pod, options_.search)) return out;
  } else if (!waits_for_us(*pod, options_)) {
    return out;
  }
  if (const auto noted = view.note(kMovesOfTheHour, kMovesOfTheHour)) state.pace.read(noted->text, view.now());
  const Defragment mode = mode_for(view, *pod);
  if (!promised && mode == Defragment::kOff) return out.requeue_in(kAskAgain);  // a class may be changed
  if (view.is_being_bound(pod->metadata.uid) || !view.budgets() ||
      !engines_.nodes.namespace_annotations(pod->metadata.ns))
    return out.requeue_in(kLookAgain);
  WallTime& next = promised ? state.next_look : state.next_question;
  if (!preemption::in_turn(view, next, out)) return out;
  const Clock* clock = engines_.allocator.options().slice.clock;
  const MonoTime began = clock ? clock->mono_now() : MonoTime{};
  promised ? go_on(view, *pod, state, out) : ask(view, *pod, mode, state, out);
  next = preemption::turn_after(
      view, clock ? std::chrono::duration_cast<Duration>(clock->mono_now() - began) : Duration::zero());
  return out;
}

void DefragmentReconciler::ask(const View& view, const api::Pod& pod, Defragment mode, State& state,
                               ReconcileResult& out) const {
  preemption::LiveWorld live(view, engines_, options_.search);
  const preemption::LiveWorld::Refusal refusal = live.ask_for(pod);
  out.requeue_in(refusal.ordinary ? kLookAgain : mode == Defragment::kOn ? kAskSoon : kAskAgain);
  if (!refusal.why.empty()) {
    if (!refusal.ordinary)
      emit_once(view, out,
                {ref_of(pod), false, "MovesHeldBack", "Defragmenting", "no moves are advised for it: " + refusal.why,
                 refusal.why});
    return;
  }
  // For whoever moved nobody moves: its place is kept.
  if (live.has_kept_place()) return void(out.requeue_in(kLookAgain));
  const preempt::Answer answer = live.answer();
  if (answer.verdict == preempt::Verdict::kUndecided)
    return emit_once(view, out,
                     {ref_of(pod), false, "MovesHeldBack", "Defragmenting",
                      "whether others could move so that it fits was not decided within the limits of the search; "
                      "kubectl dra whatif make-room -f FILE searches longer",
                      ""});
  if (answer.verdict != preempt::Verdict::kEvict) return;
  if (mode != Defragment::kOn) return advise(view, pod, state, live, answer, out);
  std::vector<uint32_t> order;
  const std::string why = why_not_made(view, pod, state, live, answer, order);
  if (why.empty()) return write_plan(view, pod, live, answer, std::move(order), out);
  if (view.last_event(pod.metadata.uid, "MovesHeldBack") != why)
    out.add(Metric{Metric::Type::kCounter, "dra_defragment_held_back_total", {}, 1});
  emit_once(view, out,
            {ref_of(pod), false, "MovesHeldBack", "Defragmenting",
             "it would fit if " + std::to_string(answer.pods.size()) + (answer.pods.size() == 1 ? " pod" : " pods") +
                 " moved: " + live.shown_moves(answer) + ". Nobody is moved: " + why,
             why});
}

MovesPerHour DefragmentReconciler::limits() const {
  return {options_.moves_per_hour, [this](const std::string& ns) {
            const auto known = engines_.nodes.namespace_annotations(ns);
            if (!known) return 0u;
            const auto said = known->find(kMovesPerHourAnnotation);
            return said == known->end() ? options_.moves_per_hour : read_moves_per_hour(said->second).value_or(0);
          }};
}

void DefragmentReconciler::advise(const View& view, const api::Pod& pod, State& state,
                                  const preemption::LiveWorld& live, const preempt::Answer& answer,
                                  ReconcileResult& out) const {
  std::vector<Move> moves;
  std::string signature;
  for (const uint32_t number : answer.pods) {
    const api::Pod& one = live.pod(number);
    moves.push_back(move_of(one, pod));
    const auto place = answer.placements.find(one.metadata.key());
    signature += one.metadata.uid + ">" + (place == answer.placements.end() ? "" : place->second) + " ";
  }
  if (view.last_event(pod.metadata.uid, "MovesAdvised") == signature) return;
  const auto place = answer.placements.find(pod.metadata.key());
  const std::string what =
      "it would fit" + (place == answer.placements.end() ? std::string() : " on node " + place->second) + " if " +
      std::to_string(moves.size()) + (moves.size() == 1 ? " pod" : " pods") + " moved: " + live.shown_moves(answer);
  const auto count = [&out](const char* name, size_t number) {
    out.add(Metric{Metric::Type::kCounter, name, {}, static_cast<double>(number)});
  };
  if (const std::string why = state.advised.why_not(moves, limits(), view.now()); !why.empty()) {
    if (view.last_event(pod.metadata.uid, "MovesHeldBack") == signature) return;
    count("dra_defragment_held_back_total", 1);
    return emit_once(
        view, out,
        {ref_of(pod), false, "MovesHeldBack", "Defragmenting", what + ". They would have to wait: " + why, signature});
  }
  state.advised.add(moves, view.now());
  count("dra_defragment_advised_pods_total", 1);
  count("dra_defragment_advised_moves_total", moves.size());
  out.decided = Decided{false, "", "", what};
  emit_once(view, out,
            {ref_of(pod), false, "MovesAdvised", "Defragmenting",
             what + ". This is advice: nobody moves them, and with fewer moves it is impossible", signature});
}

void DefragmentEvents::changed(const Change& change, const View&, reconcile::State&, EnqueueRequests& out) const {
  const auto* pod = std::get_if<Changed<api::Pod>>(&change);
  if (pod != nullptr && pod->after != nullptr && (has_promise(*pod->after) || waits_for_us(*pod->after, options_)))
    out.add(pod_key(pod->after->metadata.key()));
}

Parts parts(const Options& options, const preemption::Engines& engines) {
  return {.name = "defragment",
          .reconciler = std::make_unique<DefragmentReconciler>(options, engines),
          .events = std::make_unique<DefragmentEvents>(options),
          .state = std::make_unique<State>()};
}

}  // namespace dra::defragment
