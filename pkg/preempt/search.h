// Search: the least set of pods without which the pending pods fit.
//
// Sets are tried in the order of their harm, which never falls when a pod joins. Where a set does not suffice, it is
// grown to a largest one that still does not: a set that suffices has a pod outside of it, so only sets with one of
// these pods are tried next (the hitting-set tree of R. Reiter, A Theory of Diagnosis from First Principles, 1987). The
// same conflict serves every later set that misses it without another question.
//
// Nodes are taken in the order of a bound on what can be had there (bounds.h), until it is no better than what was
// found.
//
// Not good for: many pending pods over many nodes, each of which could be cleared alone. Conflicts are long there, and
// the budget ends first; equal pods are tried by counting before (counted.h). A single pending pod is asked about node
// by node, each with the pods that matter to that node.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "pkg/preempt/bounds.h"
#include "pkg/preempt/candidates.h"
#include "pkg/preempt/counted.h"
#include "pkg/preempt/fit.h"
#include "pkg/preempt/harm.h"
#include "pkg/preempt/preempt.h"
#include "pkg/preempt/stage.h"

namespace dra::preempt {

class Search {
 public:
  // `promises`: those that bind the pending pods.
  Search(World& world, Stage& stage, Fit& fit, const Candidates& candidates, Kind kind, std::vector<uint32_t> promises,
         const Options& options);

  struct Outcome {
    bool decided = false;
    std::optional<std::vector<uint32_t>> pods;  // nothing and decided: no set suffices
    Harm harm;
    Found found;
  };
  Outcome run();
  Harm harm_of(std::span<const uint32_t> pods) const;

 private:
  struct Conflict {
    std::vector<uint32_t> base;     // counts for sets that contain these
    std::vector<uint32_t> outside;  // one of these must go, too
  };
  struct Area {
    std::optional<inventory::NodeId> node;  // of the pending pod
    std::vector<uint32_t> pods;             // that matter, cheapest first
    size_t at = 0;                          // the node's place in the bounds
    Harm bound;                             // no set is better
  };

  std::vector<Area> areas();
  std::vector<Area> areas_by_bound(std::vector<Area> areas);
  bool matters_everywhere() const;
  bool try_counting();
  // What of the area may still be part of a better set.
  std::optional<Area> worth_it(const Area& whole);
  void run_area(const Area& area);
  bool spent() const;
  bool late() const;
  Fits test(const std::vector<uint32_t>& gone, const std::vector<uint32_t>& moved, bool loosely, Found* found);
  const Conflict* known_conflict(const std::vector<uint32_t>& pods) const;
  Fits makes_room(const std::vector<uint32_t>& pods, Found* found);
  bool try_set(const Area& area, const std::vector<uint32_t>& pods, std::vector<uint32_t>& next);
  std::vector<uint32_t> learn(const Area& area, const std::vector<uint32_t>& pods, const std::vector<uint32_t>& base);
  void grow(std::vector<uint32_t>& insufficient, const std::vector<uint32_t>& base, const std::vector<uint32_t>& more);
  void grow_by_halves(std::vector<uint32_t>& insufficient, const std::vector<uint32_t>& base,
                      const std::vector<uint32_t>& more);
  bool may_be_better(const std::vector<uint32_t>& pods) const;
  void find_some_set(const Area& area);
  void spare(std::vector<uint32_t>& pods, const std::vector<uint32_t>& some, uint64_t& tests);

  static constexpr uint64_t kMostTestsAfterwards = 1'000;

  World& world_;
  Stage& stage_;
  Fit& fit_;
  const Candidates& candidates_;
  const Kind kind_;
  const std::vector<uint32_t> promises_;
  const Options& options_;
  const Harms harms_;
  std::optional<Bounds> bounds_;  // of a single pending pod
  MonoTime began_{};
  std::optional<inventory::NodeId> node_;
  std::vector<Conflict> conflicts_;
  std::vector<std::vector<uint32_t>> roomy_;  // sets that make room for the pending pods
  bool shares_claims_ = false;                // else what is asked loosely is asked exactly
  Outcome best_;
  bool unsure_ = false;  // a question was not answered
};

}  // namespace dra::preempt
