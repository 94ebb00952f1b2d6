// Plans: moves that are carried out. A plan is a promise with moves in the status of the pod that waits
// (docs/design/preemption.md, "Moves that are carried out", M1 to M6).
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "controllers/defragment/defragment.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/writes.h"
#include "pkg/reconcile/reasons.h"

namespace dra::defragment {

using namespace protocol;
using namespace reconcile;

namespace {

constexpr Duration kLookAtPlan = std::chrono::seconds(1);
constexpr Duration kNextMove = std::chrono::milliseconds(100);
// Places are kept for next pods no longer than this after the pod is bound, or after the last of those that moved left;
// and no longer than the shorter time while there is no next pod at all: controllers make it in seconds, or not any
// more.
constexpr Duration kPlacesLast = std::chrono::minutes(10), kNextPodComes = std::chrono::minutes(1);
// About the pod with the plan: whether some that moved are still terminating.
constexpr std::string_view kMovedPodsNote = "moved-pods", kTheyLeave = "leave", kTheyLeft = "left";

// What became of those who were to move.
struct Progress {
  size_t begun = 0;      // that left, or terminate
  bool leaving = false;  // some terminate
  struct Kept {
    size_t move;            // its place in the plan
    std::string taken_by;   // uid of a next pod that has a node
    bool expected = false;  // a next pod waits for it
  };
  std::vector<Kept> kept;  // of those that left
};

const api::Pod* same(const View& view, const Instance& instance) {
  const api::Pod* pod = view.pod(instance.key);
  return pod != nullptr && pod->metadata.uid == instance.uid ? pod : nullptr;
}

bool was_made_since(const api::Pod& pod, Timestamp since) {
  Timestamp made;
  return parse_rfc3339(pod.metadata.creation_timestamp, made) && made >= since;
}

Timestamp since_of(const Promise& plan) {
  Timestamp since;
  parse_rfc3339(plan.since, since);
  return since;
}

// The next pods are those of the controller that were made since the plan: any of them may take the place, also one
// that has ended since.
Progress progress_of(const View& view, const Promise& plan) {
  Progress progress;
  std::map<std::string, std::vector<size_t>> kept;  // by owner_key(): places in progress.kept, for those still to come
  std::set<std::string_view> known;                 // uids: those that moved, and the next pods that are settled
  for (size_t i = 0; i < plan.moves.size(); ++i) {
    const Promise::Move& move = plan.moves[i];
    known.insert(move.pod.uid);
    known.insert(move.next);
    if (!has_left(move, view.pod(move.pod.key))) continue;
    ++progress.begun;
    if (move.settled()) continue;
    progress.leaving = progress.leaving || same(view, move.pod) != nullptr;
    kept[owner_key(move)].push_back(progress.kept.size());
    progress.kept.push_back({i, "", false});
  }
  if (kept.empty()) return progress;
  const Timestamp since = since_of(plan);
  const auto assign = [&](bool placed) {
    for (const auto& pod : view.all_pods()) {
      if (pod->node_name.empty() == placed || known.contains(pod->metadata.uid)) continue;
      if (!placed && (pod->done() || pod->metadata.deleting())) continue;
      const auto places = kept.find(owner_key(*pod));
      if (places == kept.end() || places->second.empty() || !was_made_since(*pod, since)) continue;
      Progress::Kept& one = progress.kept[places->second.back()];
      places->second.pop_back();
      if (placed) one.taken_by = pod->metadata.uid;
      one.expected = !placed;
    }
  };
  assign(true);
  assign(false);
  return progress;
}

// Bound, or else planned.
Timestamp bound_since(const api::Pod& pod, const Promise& plan) {
  Timestamp since = since_of(plan);
  for (const api::Condition& condition : pod.conditions)
    if (condition.type == "PodScheduled" && condition.status == "True")
      parse_rfc3339(condition.last_transition_time, since);
  return since;
}

void count_lost(size_t places, Write& write) {
  if (places > 0)
    write.on_success.push_back(
        {Metric::Type::kCounter, "dra_defragment_places_lost_total", {}, static_cast<double>(places)});
}

std::string moves_text(size_t number) {
  return std::to_string(number) + (number == 1 ? " pod" : " pods");
}

}  // namespace

std::string DefragmentReconciler::why_not_made(const View& view, const api::Pod& pod, State& state,
                                               preemption::LiveWorld& live, const preempt::Answer& answer,
                                               std::vector<uint32_t>& order) const {
  if (std::string why = live.why_others_could_take(answer); !why.empty()) return why;
  const preemption::LiveWorld::Count count = live.promises(pod.metadata.ns);
  if (count.all >= kMostPromises || 2 * count.of_namespace >= kMostPromises)
    return std::to_string(count.all) + " promises stand already, " + std::to_string(count.of_namespace) +
           " of them of its namespace, and " + std::to_string(kMostPromises) + " and " +
           std::to_string(kMostPromises / 2) + " are the most";
  std::vector<Move> moves;
  for (const uint32_t number : answer.pods) moves.push_back(move_of(live.pod(number), pod));
  // What other plans will move counts as well.
  for (const uint32_t number : live.planned_moves()) moves.push_back(move_of(live.pod(number), pod));
  if (std::string why = state.pace.why_not(moves, limits(), view.now()); !why.empty()) return why;
  order = live.order_of(answer);
  if (order.empty())
    return "in every order one of them would have to leave before its new place is free; move them by hand";
  return "";
}

// M1.
void DefragmentReconciler::write_plan(const View& view, const api::Pod& pod, const preemption::LiveWorld& live,
                                      preempt::Answer answer, std::vector<uint32_t> order, ReconcileResult& out) const {
  answer.pods = std::move(order);
  Write write = write_promise(view, pod, live.promise_of(answer));
  if (write.body.size() > kMaxPromiseBytes)
    return emit_once(view, out,
                     {ref_of(pod), false, "MovesHeldBack", "Defragmenting",
                      "it would fit if others moved: " + live.shown_moves(answer) +
                          ". Nobody is moved: the plan is too "
                          "long",
                      ""});
  write.on_success.push_back({Metric::Type::kCounter, "dra_defragment_plans_total", {}, 1});
  out.add(std::move(write));
  out.requeue_in(kNextMove);
}

void DefragmentReconciler::go_on(const View& view, const api::Pod& pod, State& state, ReconcileResult& out) const {
  Result<Promise> plan = *promise_of(pod);
  out.requeue_in(kLookAtPlan);
  if (!plan || !plan->has_moves() || options_.flag != Defragment::kOn) {
    out.add(write_promise_removed(pod));
    return;
  }
  // Whoever left counts, also after a restart: since the plan was written, whatever the record says of that.
  const Duration age = std::max<Duration>(Timestamp(view.now()) - since_of(*plan), Duration::zero());
  if (age < std::chrono::hours(1))
    for (const Promise::Move& move : plan->moves)
      if (same(view, move.pod) == nullptr)
        state.pace.add({{move.pod.uid, move.ns(), move.controller, "", "", 0}},
                       view.now() - std::chrono::duration_cast<WallTime::duration>(age));
  const Settled settled = settle_moves(view, pod, *plan, out);
  const bool has_place = !pod.node_name.empty() || pod.done();
  if (has_place && settled.kept == 0) return end_plan(view, pod, "", settled, out);
  if (settled.taken + settled.lost > 0) return write_settled(view, pod, std::move(*plan), settled.lost, out);
  if (has_place) return;
  // M2: judged as the stream has it, at its own write.
  const api::Pod* streamed = view.streamed_pod(pod.metadata.key());
  if (streamed == nullptr || streamed->metadata.resource_version != pod.metadata.resource_version)
    return void(out.requeue_in(kNextMove));
  carry_out(view, pod, *plan, settled, state, out);
}

void DefragmentReconciler::carry_out(const View& view, const api::Pod& pod, const Promise& plan, const Settled& settled,
                                     State& state, ReconcileResult& out) const {
  using preempt::Verdict;
  preemption::LiveWorld live(view, engines_, options_.search);
  if (const preemption::LiveWorld::Refusal refusal = live.ask_for(pod); !refusal.why.empty())
    return refusal.ordinary ? void() : end_when_placed(view, pod, settled, refusal.why, out);
  if (mode_for(view, pod) != Defragment::kOn)
    return end_when_placed(view, pod, settled, "a DeviceClass of it allows no moves any more", out);
  const preempt::Answer answer = live.answer();
  if (answer.verdict == Verdict::kFits) {
    // The controller allocation places it; the planned places of others are free for it unless somebody went for them.
    if (settled.begun == 0) end_when_placed(view, pod, settled, "it fits without moves", out);
    return;
  }
  if (answer.verdict == Verdict::kUndecided) return;  // nobody goes
  if (!answer.own_stands)
    return end_when_placed(view, pod, settled,
                           "it is not possible any more, or a promise that precedes it has a place of it", out);
  if (answer.verdict == Verdict::kNever)
    return end_when_placed(view, pod, settled, "the pod does not fit, whoever moves", out);
  if (answer.verdict != Verdict::kEvict) return;  // it waits for those who left
  if (!answer.fixed)
    return end_when_placed(view, pod, settled, "fewer or other moves do, and nobody has moved yet", out);
  if (const std::string why = live.why_others_could_take(answer); !why.empty())
    return end_when_placed(view, pod, settled, why, out);
  if (!plan.proven) {
    if (live.has_rival()) return;
    Promise proven = plan;
    proven.proven = true;
    out.add(write_promise(view, pod, std::move(proven)));
    out.requeue_in(kNextMove);
    return;
  }
  move_one(view, pod, plan, live, answer, state, out);
}

// M3: one at a time, in the order of the plan; the next run looks at everything again.
void DefragmentReconciler::move_one(const View& view, const api::Pod& pod, const Promise& plan,
                                    preemption::LiveWorld& live, const preempt::Answer& answer, State& state,
                                    ReconcileResult& out) const {
  // A budget has closed: it may open again, and those who left keep their places meanwhile.
  if (answer.harm.violations > 0)
    return emit_once(view, out,
                     {ref_of(pod), false, "MovesHeldBack", "Defragmenting",
                      "its place is planned, and these have still to move: " + live.shown_moves(answer) +
                          ". Their PodDisruptionBudgets do not allow that now; they are looked at every second",
                      "budgets"});
  std::vector<uint32_t> left;
  for (const Promise::Move& move : plan.moves)
    if (const auto number = live.number_of(move.pod);
        number && std::find(answer.pods.begin(), answer.pods.end(), *number) != answer.pods.end())
      left.push_back(*number);
  const std::vector<uint32_t> free = live.with_a_free_place(answer, left);
  if (free.empty()) return;
  const api::Pod& next = live.pod(free.front());
  const std::string to = answer.placements.at(next.metadata.key());
  emit_once(
      view, out,
      {ref_of(pod), false, "Moving", "Defragmenting",
       "so that it fits on node " + answer.placements.at(pod.metadata.key()) + ", " + moves_text(plan.moves.size()) +
           (plan.moves.size() == 1 ? " moves: " : " move: ") + live.shown_moves(answer),
       next.metadata.uid});
  const bool same_namespace = pod.metadata.ns == next.metadata.ns;
  state.pace.add({move_of(next, pod)}, view.now());
  out.add(Note{std::string(kMovesOfTheHour), std::string(kMovesOfTheHour), state.pace.text(kMaxMovesText)});
  Write write = write_eviction(next, "move");
  write.success_event = Event{ref_of(next),
                              false,
                              "Moved",
                              "Defragmenting",
                              "evicted so that pod " + (same_namespace ? pod.metadata.key() : pod.metadata.uid) +
                                  " fits; for the next pod of its controller a place on node " + to + " is kept",
                              pod.metadata.uid};
  write.on_success.push_back({Metric::Type::kCounter, "dra_defragment_moves_total", {}, 1});
  out.add(std::move(write));
  out.requeue_in(kNextMove);
}

// M5, one by one: whose next pod has its place, and whose does not come in time. Changes the plan.
DefragmentReconciler::Settled DefragmentReconciler::settle_moves(const View& view, const api::Pod& pod, Promise& plan,
                                                                 ReconcileResult& out) const {
  const Progress progress = progress_of(view, plan);
  const std::string_view now = progress.leaving ? kTheyLeave : progress.kept.empty() ? "" : kTheyLeft;
  const std::optional<View::Noted> noted = view.note(pod.metadata.uid, kMovedPodsNote);
  const bool changed = now != (noted ? std::string_view(noted->text) : "");
  if (changed) out.add(Note{pod.metadata.uid, std::string(kMovedPodsNote), std::string(now)});
  // How long all of them have been gone; after a restart it begins anew.
  const Duration gone = now == kTheyLeft && !changed ? noted->age : Duration::zero();
  const Duration bound = pod.node_name.empty() ? Duration::zero() : Timestamp(view.now()) - bound_since(pod, plan);
  // A clock that was set back does not keep them for longer.
  const bool late = now == kTheyLeft && (bound >= kPlacesLast || bound <= -kPlacesLast);
  Settled settled;
  settled.begun = progress.begun;
  for (const Progress::Kept& one : progress.kept) {
    Promise::Move& move = plan.moves[one.move];
    if (!one.taken_by.empty()) {
      settle(plan, move, one.taken_by);
      ++settled.taken;
    } else if (late || gone >= (one.expected ? kPlacesLast : kNextPodComes)) {
      settle(plan, move, std::string(kNoNextPod));
      ++settled.lost;
    } else {
      ++settled.kept;
    }
  }
  return settled;
}

void DefragmentReconciler::write_settled(const View& view, const api::Pod& pod, Promise plan, size_t lost,
                                         ReconcileResult& out) const {
  Write write = write_promise(view, pod, std::move(plan));
  write.purpose = "settle-moves";
  count_lost(lost, write);
  out.add(std::move(write));
  out.requeue_in(kNextMove);
}

// The pod waits, and its plan does not stand: it ends when nothing is kept for those who left for it.
void DefragmentReconciler::end_when_placed(const View& view, const api::Pod& pod, const Settled& settled,
                                           const std::string& why, ReconcileResult& out) const {
  if (settled.kept == 0) end_plan(view, pod, why, settled, out);
}

// `why`: empty: the pod has its place.
void DefragmentReconciler::end_plan(const View& view, const api::Pod& pod, const std::string& why,
                                    const Settled& settled, ReconcileResult& out) const {
  Write write = write_promise_removed(pod);
  if (!why.empty())
    emit_once(view, out,
              {ref_of(pod), false, "MovesEnded", "Defragmenting", "the plan of moves for it ended: " + why, ""});
  else if (settled.begun > 0)
    write.on_success.push_back({Metric::Type::kCounter, "dra_defragment_placed_total", {}, 1});
  count_lost(settled.lost, write);
  out.add(std::move(write));
}

}  // namespace dra::defragment
