// Selection: on which nodes a group of equal pods takes whose place. Of each node at most one of its ways is chosen, so
// that enough members find a place, at the least cost, with budgets that pods of many nodes are under.
//
// Exact, or it says that the answer is not known. Most budgets cannot be exceeded, whatever is chosen, and are left
// out. Without the others the least cost is a sum over the nodes by dynamic programming: a bound. One pass that keeps
// the others in mind often finds a choice of that very cost. Else the nodes are taken one by one with every amount to
// which their budgets may have come so far, and a budget is forgotten after its last node.
//
// Good for: budgets with few nodes each, or few budgets. Not for: many budgets that all cover the same many nodes and
// all bind.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace dra::preempt {

// As Harm, without the highest priority and the start.
struct Cost {
  int64_t violations = 0;
  int64_t sum = 0;  // of (priority + 2^31)
  int64_t number = 0;
  auto operator<=>(const Cost&) const = default;
  Cost operator+(const Cost& other) const {
    return {violations + other.violations, sum + other.sum, number + other.number};
  }
};

// A way to host so many members on a node.
struct Way {
  uint32_t members = 0;
  uint32_t set = 0;   // who goes, for the caller
  uint32_t rank = 0;  // the largest of those who go; a limit is one, too
  Cost cost;
  std::vector<uint32_t> uses;  // budgets, sorted; one as often as pods under it go
};

// Sorts the ways, and leaves out those that are never better than another one.
void keep_best(std::vector<Way>& ways);

class Selection {
 public:
  static constexpr uint64_t kMostWork = 3'000'000;  // up to 800 ns each

  // `allowed`: by budget, how often it may be used; not negative. `spent`: the search must end. `most_work`: so many
  // states of nodes and budgets are looked at, in all questions together.
  Selection(uint32_t needed, std::vector<int64_t> allowed, std::function<bool()> spent, uint64_t most_work = kMostWork);

  // Of the next node.
  void add(std::vector<Way> ways) { nodes_.push_back(std::move(ways)); }

  struct Question {
    uint32_t rank = UINT32_MAX;    // no way of a higher one
    bool may_break = false;        // budgets: each use too many costs a violation
    bool violations_only = false;  // nothing else has a cost
    std::optional<Cost> enough;    // any choice of at most this cost is as good
  };
  struct Choice {
    // With a cost: it is the least, or no more than enough. Without: there is no choice, or all cost more than enough.
    bool known = false;
    std::optional<Cost> cost;                         // not known: of some choice
    std::vector<std::pair<uint32_t, uint32_t>> sets;  // node, by the order of add(), and Way::set
  };
  Choice choose(const Question& question) const;

 private:
  const uint32_t needed_;
  const std::vector<int64_t> allowed_;
  const std::function<bool()> spent_;
  std::vector<std::vector<Way>> nodes_;
  mutable uint64_t work_left_;
};

}  // namespace dra::preempt
