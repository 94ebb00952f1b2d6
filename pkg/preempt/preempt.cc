#include "pkg/preempt/preempt.h"

#include <algorithm>

#include "pkg/preempt/both.h"
#include "pkg/preempt/candidates.h"
#include "pkg/preempt/fit.h"
#include "pkg/preempt/promises.h"
#include "pkg/preempt/search.h"
#include "pkg/preempt/stage.h"

namespace dra::preempt {
namespace {

class Choice {
 public:
  Choice(World& world, Kind kind, const Options& options)
      : world_(world), kind_(kind), options_(options), stage_(world), fit_(world, stage_, options.check_steps) {}

  Answer make() {
    Answer answer = decide();
    answer.checks = fit_.checks();
    answer.own_stands = own_.has_value();
    return answer;
  }

 private:
  Answer decide() {
    const bool missing = std::any_of(world_.pending.begin(), world_.pending.end(),
                                     [this](uint32_t pod) { return world_.pods[pod].group_missing; });
    if (missing) return verdict(Verdict::kWait, {});
    judged_ = judge_promises(world_, stage_, fit_);
    const int64_t priority = priority_of(world_, world_.pending);
    for (uint32_t i = 0; i < judged_.size(); ++i) {
      if (!judged_[i].stands) continue;
      if (is_own(judged_[i])) {
        own_ = own_.value_or(i);
      } else if (kind_ == Kind::kMoves || judged_[i].priority >= priority) {
        binding_.push_back(i);
      }
    }
    Found found;
    const Fits now = fits_in_both(world_, stage_, fit_, {}, {true, {}, binding_}, found);
    if (now == Fits::kUnknown) return verdict(Verdict::kUndecided, {});
    if (now == Fits::kYes) return verdict(Verdict::kFits, std::move(found));
    if (!own_ || world_.promises[*own_].moves != (kind_ == Kind::kMoves)) return choose();
    return go_on_with_own();
  }

  bool is_own(const Judged& judged) const {
    return std::any_of(judged.waiting.begin(), judged.waiting.end(), [this](uint32_t pod) {
      return std::find(world_.pending.begin(), world_.pending.end(), pod) != world_.pending.end();
    });
  }

  static Answer verdict(Verdict verdict, Found found) {
    Answer answer;
    answer.verdict = verdict;
    answer.placements = std::move(found.placements);
    answer.allocations = std::move(found.allocations);
    return answer;
  }

  Answer choose() {
    Found found;
    stage_.arrange({true, {}, binding_});
    const Fits later = fit_.fits({}, &found);
    if (later == Fits::kUnknown) return verdict(Verdict::kUndecided, {});
    if (later == Fits::kYes) return verdict(Verdict::kWait, std::move(found));
    const bool anybody = std::all_of(world_.pending.begin(), world_.pending.end(),
                                     [this](uint32_t pod) { return world_.pods[pod].preempts; });
    const Candidates candidates(world_, kind_, priority_of(world_, world_.pending), anybody || kind_ == Kind::kMoves);
    Search::Outcome outcome = Search(world_, stage_, fit_, candidates, kind_, binding_, options_).run();
    if (outcome.decided && !outcome.pods) return verdict(Verdict::kNever, {});
    Answer answer = verdict(outcome.decided ? Verdict::kEvict : Verdict::kUndecided,
                            outcome.decided ? std::move(outcome.found) : Found{});
    if (outcome.pods) answer.pods = std::move(*outcome.pods);
    answer.harm = outcome.harm;
    return answer;
  }

  // While a promise stands its owner takes no other victims. Before the first of them has begun to go nothing is lost
  // yet: then the promise must still be a best choice.
  Answer go_on_with_own() {
    const Judged& own = judged_[*own_];
    const bool moves = kind_ == Kind::kMoves;
    const Harm harm = moves ? harm_of_moves(world_, own.victims) : harm_of_victims(world_, own.victims);
    if (!own.begun) {
      Answer anew = choose();
      if (anew.verdict == Verdict::kUndecided || anew.verdict == Verdict::kWait) return anew;
      if (anew.verdict == Verdict::kEvict && anew.harm < harm) return anew;
    }
    Found promised;
    std::vector<uint32_t> placed = own.waiting;
    if (moves) placed.insert(placed.end(), own.victims.begin(), own.victims.end());
    for (const uint32_t pod : placed) {
      const std::string name = world_.pods[pod].object->metadata.key();
      promised.placements[name] = world_.promises[*own_].placements.at(name);
      for (const uint32_t claim : world_.pods[pod].claims) {
        const auto& allocations = world_.promises[*own_].allocations;
        const auto allocation = allocations.find(world_.claims[claim]->metadata.key());
        if (allocation != allocations.end() && (moves || !world_.claims[claim]->status.allocation))
          promised.allocations.insert(*allocation);
      }
    }
    if (!own.victims.empty() && !own.rest_of_group) {
      Found elsewhere;
      stage_.arrange({true, {}, binding_});
      if (fit_.fits({}, &elsewhere) == Fits::kYes) return verdict(Verdict::kWait, std::move(elsewhere));
    }
    Answer answer = verdict(own.victims.empty() ? Verdict::kWait : Verdict::kEvict, std::move(promised));
    answer.fixed = true;
    answer.pods = own.victims;
    answer.harm = harm;
    return answer;
  }

  World& world_;
  const Kind kind_;
  const Options& options_;
  Stage stage_;
  Fit fit_;
  std::vector<Judged> judged_;
  std::vector<uint32_t> binding_;
  std::optional<uint32_t> own_;
};

}  // namespace

Answer who_must_go(World& world, const Options& options) {
  return Choice(world, Kind::kVictims, options).make();
}

Answer who_must_move(World& world, const Options& options) {
  return Choice(world, Kind::kMoves, options).make();
}

}  // namespace dra::preempt
