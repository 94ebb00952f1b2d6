#include "controllers/preemption/preemption.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "controllers/preemption/turn.h"
#include "pkg/base/strings.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/moves.h"
#include "pkg/protocol/writes.h"
#include "pkg/reconcile/reasons.h"

namespace dra::preemption {

using namespace protocol;
using namespace reconcile;

namespace {

constexpr std::string_view kDisruptionReason = condition_reason(kDisruptionTarget, "PreemptionByScheduler");

// How long until a pod is asked about again: one that nobody's leaving helps, one that waits for what is on its way,
// and one whose promise is being carried out.
constexpr Duration kAskAgain = std::chrono::seconds(30);
constexpr Duration kLookAgain = std::chrono::seconds(1);
constexpr Duration kNextStep = std::chrono::milliseconds(100);
constexpr size_t kNamedNodes = 8;

// The controller allocation said so: it fits on no node as things are.
bool fits_nowhere(const api::Pod& pod) {
  return std::any_of(pod.conditions.begin(), pod.conditions.end(), [](const api::Condition& one) {
    return one.type == "PodScheduled" && one.status == "False" && one.reason == "Unschedulable";
  });
}

bool is_marked(const api::Pod& pod) {
  return std::any_of(pod.conditions.begin(), pod.conditions.end(), [](const api::Condition& one) {
    return one.type == kDisruptionTarget && one.status == "True" && one.reason == kDisruptionReason;
  });
}

void advise(const View& view, const api::Pod& pod, const std::string& note, ReconcileResult& out) {
  emit_once(view, out, {ref_of(pod), false, "PreemptionAdvised", "Preempting", note, note});
}

// The owner chooses again once the answer is seen.
void end_promise(const View& view, const api::Pod& pod, const std::string& why, ReconcileResult& out) {
  emit_once(view, out,
            {ref_of(pod), false, "PromiseEnded", "Preempting", "the place that it was promised: " + why, ""});
  out.add(write_promise_removed(pod));
  out.requeue_in(kNextStep);
}

// Whom the places of a group's promise wait for.
bool somebody_waits(const View& view, const api::Pod& holder) {
  const std::optional<Result<Promise>> promise = promise_of(holder);
  if (!promise || !*promise || !(*promise)->of_group() || holder.metadata.deleting()) return false;
  return std::any_of((*promise)->places.begin(), (*promise)->places.end(), [&](const Promise::Place& place) {
    const api::Pod* pod = view.pod(place.pod.key);
    return pod != nullptr && pod->metadata.uid == place.pod.uid && pod->node_name.empty() && !pod->done();
  });
}

// Another pod acts for its group: the one that has the promise, or else the first by priority, from below, and uid.
bool leaves_it_to_another(const View& view, const api::Pod& pod, const Options& options) {
  const Membership membership = membership_of(view, pod);
  if (membership.state != Membership::State::kMember) return false;
  const std::string group = membership.group.key();
  if (!is_too_large(view, group))
    for (const api::Pod* member : view.pods_of_group(group))
      if (member != &pod && has_promise(*member) && !member->done() && is_ours(*member, options)) return true;
  const std::vector<const api::Pod*> waiting = waiting_members(view, group, options);
  return std::any_of(waiting.begin(), waiting.end(), [&](const api::Pod* member) {
    return std::tie(member->priority, member->metadata.uid) < std::tie(pod.priority, pod.metadata.uid);
  });
}

// "node a", or "nodes a, b".
std::string places_text(const preempt::Answer& answer) {
  std::set<std::string> nodes;
  for (const auto& [pod, node] : answer.placements) nodes.insert(node);
  return (nodes.size() == 1 ? "node " : "nodes ") + join_some({nodes.begin(), nodes.end()}, kNamedNodes);
}

// The pod's name, or for readers of another namespace its uid alone, as kube-scheduler does.
std::string name_for(const api::Pod& reader, const api::Pod& pod) {
  return "pod " + (reader.metadata.ns == pod.metadata.ns ? pod.metadata.key() : pod.metadata.uid);
}

}  // namespace

ReconcileResult PreemptionReconciler::reconcile(const Key& key, const View& view, reconcile::State& handed) const {
  State& state = static_cast<State&>(handed);
  ReconcileResult out;
  const api::Pod* pod = key.kind == Kind::kPod ? view.pod(key.object) : nullptr;
  if (pod == nullptr || !is_ours(*pod, options_) || pod->done()) return out;
  const bool promised = has_promise(*pod);
  if (promised && options_.moves_are_made)
    if (const Result<Promise> promise = *promise_of(*pod); promise && promise->has_moves()) return out;
  if (!pod->node_name.empty() && !(promised && somebody_waits(view, *pod))) {
    if (promised) out.add(write_promise_removed(*pod));
    return out;
  }
  if (!promised && (!fits_nowhere(*pod) || pod->never_preempts || !pod->scheduling_gates.empty())) return out;
  if (view.is_being_bound(pod->metadata.uid)) return out.requeue_in(kLookAgain);
  if (!promised && leaves_it_to_another(view, *pod, options_)) return out.requeue_in(kAskAgain);
  const auto label = engines_.nodes.namespace_label(pod->metadata.ns, std::string(kPreemptionAnnotation));
  if (!label || !view.budgets()) return out.requeue_in(kLookAgain);
  if (*label != "true") {
    if (promised)
      end_promise(view, *pod,
                  "namespace " + pod->metadata.ns + " has not (any more) the label " +
                      std::string(kPreemptionAnnotation) + "=true, which an administrator sets",
                  out);
    return out;
  }
  WallTime& next = promised ? state.next_look : state.next_question;
  if (!in_turn(view, next, out)) return out;
  const Clock* clock = engines_.allocator.options().slice.clock;
  const MonoTime began = clock ? clock->mono_now() : MonoTime{};
  promised ? go_on(view, *pod, out) : choose(view, *pod, out);
  const Duration took = clock ? std::chrono::duration_cast<Duration>(clock->mono_now() - began) : Duration::zero();
  next = turn_after(view, took);
  return out;
}

void PreemptionReconciler::choose(const View& view, const api::Pod& pod, ReconcileResult& out) const {
  LiveWorld live(view, engines_, options_);
  if (const LiveWorld::Refusal refusal = live.ask_for(pod); !refusal.why.empty()) {
    if (!refusal.ordinary) advise(view, pod, "nobody is evicted for it: " + refusal.why, out);
    out.requeue_in(refusal.ordinary ? kLookAgain : kAskAgain);
    return;
  }
  const preempt::Answer answer = live.answer();
  out.requeue_in(kAskAgain);
  if (answer.verdict == preempt::Verdict::kUndecided) {
    return advise(view, pod,
                  "whether pods of lower priority could make room was not decided within the limits of the search, so "
                  "nobody is evicted; kubectl dra whatif preempt searches longer",
                  out);
  }
  if (answer.verdict != preempt::Verdict::kEvict) return;
  const std::string who = live.shown(answer.pods);
  if (const std::string why = live.why_others_could_take(answer); !why.empty())
    return advise(view, pod, "it would fit if these went: " + who + ". Nobody is evicted: " + why, out);
  const LiveWorld::Count count = live.promises(pod.metadata.ns);
  if (count.all >= kMostPromises || 2 * count.of_namespace >= kMostPromises)
    return advise(view, pod,
                  "it would fit if these went: " + who + ". It waits: " + std::to_string(count.all) +
                      " promises stand already, " + std::to_string(count.of_namespace) +
                      " of them of its namespace, and " + std::to_string(kMostPromises) + " and " +
                      std::to_string(kMostPromises / 2) + " are the most",
                  out);
  Write write = write_promise(view, pod, live.promise_of(answer));
  if (write.body.size() > kMaxPromiseBytes)
    return advise(view, pod, "it would fit if these went: " + who + ". Nobody is evicted: the promise is too long",
                  out);
  out.add(std::move(write));
  out.requeue_in(kNextStep);
}

void PreemptionReconciler::go_on(const View& view, const api::Pod& pod, ReconcileResult& out) const {
  const Result<Promise> promise = *promise_of(pod);
  if (!promise) return end_promise(view, pod, promise.error().message(), out);
  // T2: judged as the stream has it, at its own write.
  const api::Pod* streamed = view.streamed_pod(pod.metadata.key());
  if (options_.prove && (streamed == nullptr || streamed->metadata.resource_version != pod.metadata.resource_version))
    return void(out.requeue_in(kNextStep));
  LiveWorld live(view, engines_, options_);
  if (const LiveWorld::Refusal refusal = live.ask_for(pod); !refusal.why.empty()) {
    if (refusal.ordinary && !refusal.too_few) return void(out.requeue_in(kLookAgain));
    return end_promise(view, pod, refusal.why, out);
  }
  if (promise->has_moves()) return end_promise(view, pod, "others move for it, and --defragment=on is not set", out);
  if (live.is_second() || promise->of_group() != live.of_group())
    return end_promise(view, pod,
                       live.is_second() ? "another member of its group has the group's promise"
                                        : "it is not what a member of its group is promised",
                       out);
  const preempt::Answer answer = live.answer();
  out.requeue_in(kLookAgain);
  using preempt::Verdict;
  if (answer.verdict == Verdict::kFits) return;  // the controller allocation places it, with nobody's leaving
  if (!answer.own_stands && answer.verdict != Verdict::kUndecided)
    return end_promise(view, pod,
                       "it is not possible any more, or a promise of higher priority, or an older one, has it", out);
  if (answer.verdict == Verdict::kNever) return end_promise(view, pod, "the pod does not fit, whoever goes", out);
  if (answer.verdict != Verdict::kEvict) return;  // it waits, or nothing is known: nobody goes
  if (!answer.fixed) return end_promise(view, pod, "others would be a better choice, and nobody has gone yet", out);
  if (const std::string why = live.why_others_could_take(answer); !why.empty()) return end_promise(view, pod, why, out);
  if (options_.prove && !promise->proven) {
    if (live.has_rival()) return;
    Promise proven = *promise;
    proven.proven = true;
    out.add(write_promise(view, pod, std::move(proven)));
    out.requeue_in(kNextStep);
    return;
  }
  evict(view, pod, live, answer, out);
}

// T4: one at a time; the next run looks at everything again.
void PreemptionReconciler::evict(const View& view, const api::Pod& pod, const LiveWorld& live,
                                 const preempt::Answer& answer, ReconcileResult& out) const {
  const api::Pod& victim = live.pod(answer.pods.front());
  const std::string place = places_text(answer);
  const std::string rank = "; of all that would do, those who go are the fewest that budgets do not allow (" +
                           std::to_string(answer.harm.violations) + "), and of the lowest priority";
  emit_once(view, out,
            {ref_of(pod), false, "Preempting", "Preempting",
             "on " + place + (live.of_group() ? " its group takes" : " it takes") + " the place of " +
                 live.shown(answer.pods) + rank,
             victim.metadata.uid});
  emit_once(view, out,
            {ref_of(victim), false, "Preempted", "Preempting",
             "deleted so that " + name_for(victim, pod) + " (priority " + std::to_string(pod.priority) +
                 (live.of_group() ? ") and its group get their places on " : ") gets its place on ") + place + rank,
             pod.metadata.uid});
  if (!is_marked(victim))
    out.add(write_disruption_target(view, victim, kDisruptionReason,
                                    "preempting to accommodate a higher priority pod: dra-controller-manager"));
  Write deletion = write_delete(Kind::kPod, victim.metadata, "preempt");
  // Bound to the instance: its version changes with the condition, and by kubelet at any time.
  deletion.resource_version.clear();
  deletion.on_success.push_back({Metric::Type::kCounter, "dra_preemption_victims_total", {}, 1});
  out.add(std::move(deletion));
  out.requeue_in(kNextStep);
}

void PreemptionEvents::changed(const Change& change, const View& view, reconcile::State&, EnqueueRequests& out) const {
  const auto* pod = std::get_if<Changed<api::Pod>>(&change);
  if (pod == nullptr) return;
  if (pod->after == nullptr) {
    // The promise of its group went with it.
    const auto group = has_promise(*pod->before) ? group_of(*pod->before) : std::nullopt;
    if (group)
      for (const api::Pod* member : waiting_members(view, group->key(), options_))
        out.add(pod_key(member->metadata.key()));
    return;
  }
  if (!is_ours(*pod->after, options_)) return;
  if (has_promise(*pod->after) || (pod->after->node_name.empty() && fits_nowhere(*pod->after)))
    out.add(pod_key(pod->after->metadata.key()));
}

Parts parts(const Options& options, const Engines& engines) {
  return {.name = "preemption",
          .reconciler = std::make_unique<PreemptionReconciler>(options, engines),
          .events = std::make_unique<PreemptionEvents>(options),
          .state = std::make_unique<State>()};
}

}  // namespace dra::preemption
