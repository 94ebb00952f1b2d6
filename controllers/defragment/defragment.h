// defragment: which pods would have to move so that a pod that waits fits (--defragment=advice), and moves them (on).
// What moves are, and how they are carried out, is in docs/design/preemption.md.
//
// Keys are waiting pods, and pods with a plan. A pod that fits nowhere, and whose DeviceClasses allow it, is asked
// about: one question on the reactor's thread within the limits of preemption::Options, then ten times as long for
// others. Advice is valid for the state that it was made in, and is said again when it is another one. A plan is a
// promise (pkg/protocol/promise.h) with moves: it is proven, judged anew before each eviction, and ends when the pod is
// bound and the next pods of those that moved have their places (carry_out.cc).
//
// All must outlive the parts. One thread owns it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controllers/defragment/pace.h"
#include "controllers/preemption/options.h"
#include "controllers/preemption/world.h"
#include "pkg/protocol/moves.h"
#include "pkg/reconcile/parts.h"

namespace dra::defragment {

struct Options {
  preemption::Options search;  // of moves
  protocol::Defragment flag = protocol::Defragment::kOff;
  // --preemption runs, too: promises without moves, and those that cannot be read, are its own.
  bool preempts = false;
  uint32_t moves_per_hour = 20;  // in all, and of a namespace without an annotation
};

struct State : reconcile::State {
  // The next question comes no earlier. Lost: it comes at once.
  WallTime next_question{};
  // Of a pod with a plan, which is asked about more often.
  WallTime next_look{};
  // What was moved, or advised. What was moved comes back after a restart (kMovesOfTheHour); of what was advised more
  // than the limits may be said in the hour of a restart.
  Pace pace, advised;
};

class DefragmentReconciler : public reconcile::Reconciler {
 public:
  DefragmentReconciler(Options options, const preemption::Engines& engines)
      : options_(std::move(options)), engines_(engines) {}
  reconcile::ReconcileResult reconcile(const reconcile::Key& key, const reconcile::View& view,
                                       reconcile::State& state) const override;

 private:
  // The least of what the flag and the classes of its claims say; kOff also for a pod without claims.
  protocol::Defragment mode_for(const reconcile::View& view, const api::Pod& pod) const;
  void ask(const reconcile::View& view, const api::Pod& pod, protocol::Defragment mode, State& state,
           reconcile::ReconcileResult& out) const;
  MovesPerHour limits() const;
  // Why the moves are not made now, as a clause; empty: they are, and `order` says who goes first.
  std::string why_not_made(const reconcile::View& view, const api::Pod& pod, State& state, preemption::LiveWorld& live,
                           const preempt::Answer& answer, std::vector<uint32_t>& order) const;
  // carry_out.cc
  void write_plan(const reconcile::View& view, const api::Pod& pod, const preemption::LiveWorld& live,
                  preempt::Answer answer, std::vector<uint32_t> order, reconcile::ReconcileResult& out) const;
  void go_on(const reconcile::View& view, const api::Pod& pod, State& state, reconcile::ReconcileResult& out) const;
  // What became of those who were to move.
  struct Settled {
    size_t begun = 0;            // of them: left, or terminate
    size_t taken = 0, lost = 0;  // places that are settled now
    size_t kept = 0;             // that are still kept
  };
  void carry_out(const reconcile::View& view, const api::Pod& pod, const protocol::Promise& plan,
                 const Settled& settled, State& state, reconcile::ReconcileResult& out) const;
  void move_one(const reconcile::View& view, const api::Pod& pod, const protocol::Promise& plan,
                preemption::LiveWorld& live, const preempt::Answer& answer, State& state,
                reconcile::ReconcileResult& out) const;
  Settled settle_moves(const reconcile::View& view, const api::Pod& pod, protocol::Promise& plan,
                       reconcile::ReconcileResult& out) const;
  void write_settled(const reconcile::View& view, const api::Pod& pod, protocol::Promise plan, size_t lost,
                     reconcile::ReconcileResult& out) const;
  void end_when_placed(const reconcile::View& view, const api::Pod& pod, const Settled& settled, const std::string& why,
                       reconcile::ReconcileResult& out) const;
  void end_plan(const reconcile::View& view, const api::Pod& pod, const std::string& why, const Settled& settled,
                reconcile::ReconcileResult& out) const;
  void advise(const reconcile::View& view, const api::Pod& pod, State& state, const preemption::LiveWorld& live,
              const preempt::Answer& answer, reconcile::ReconcileResult& out) const;

  const Options options_;
  const preemption::Engines engines_;
};

// A pod that moves, for the limits an hour; the texts are for whoever reads `asking`.
Move move_of(const api::Pod& pod, const api::Pod& asking);

class DefragmentEvents : public reconcile::EventHandler {
 public:
  explicit DefragmentEvents(Options options) : options_(std::move(options)) {}
  void changed(const reconcile::Change& change, const reconcile::View& view, reconcile::State& state,
               reconcile::EnqueueRequests& out) const override;

 private:
  const Options options_;
};

reconcile::Parts parts(const Options& options, const preemption::Engines& engines);

}  // namespace dra::defragment
