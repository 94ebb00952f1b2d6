// Choices on few nodes, most of them alike, against all choices tried one by one. DRA_PREEMPT_WORLDS: how many;
// DRA_PREEMPT_SEED: the first.
#include "pkg/preempt/selection.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/base/random.h"
#include "test/support/environment.h"

namespace dra::preempt {
namespace {

struct Case {
  uint32_t needed = 1;
  std::vector<int64_t> allowed;
  std::vector<std::vector<Way>> nodes;
};

class Drawing {
 public:
  explicit Drawing(uint64_t seed) : random_(seed) {}

  Case draw() {
    Case out;
    out.needed = between(1, 6);
    for (uint32_t i = between(0, 4); i > 0; --i) out.allowed.push_back(between(0, 2));
    std::vector<std::vector<Way>> kinds;
    for (uint32_t i = between(1, 2); i > 0; --i) kinds.push_back(ways(out));
    for (uint32_t i = between(1, 5); i > 0; --i) {
      std::vector<Way> node = kinds[random_.below(kinds.size())];
      // Nearly alike.
      if (!node.empty() && random_.below(3) == 0) node.front().cost.sum += between(0, 1);
      if (!node.empty() && random_.below(2) == 0) node.back() = way(out, node.back().set);
      out.nodes.push_back(std::move(node));
    }
    return out;
  }

 private:
  uint32_t between(uint32_t low, uint32_t high) { return low + static_cast<uint32_t>(random_.below(high - low + 1)); }

  std::vector<Way> ways(const Case& of) {
    std::vector<Way> out;
    for (uint32_t set = between(0, 3); set > 0; --set) out.push_back(way(of, set));
    return out;
  }

  Way way(const Case& of, uint32_t set) {
    const auto number = static_cast<int64_t>(between(1, 3));
    Way out{
        between(1, 3), set, between(0, 3), {random_.below(6) == 0 ? 1 : 0, 10 * number + between(0, 1), number}, {}};
    if (!of.allowed.empty())
      for (uint32_t uses = between(0, 3); uses > 0; --uses)
        out.uses.push_back(static_cast<uint32_t>(random_.below(of.allowed.size())));
    std::sort(out.uses.begin(), out.uses.end());
    return out;
  }

  SeededRandom random_;
};

// What these ways cost together, by node; nothing: they do not do.
std::optional<Cost> cost_of(const Case& of, const std::vector<const Way*>& ways, const Selection::Question& question) {
  Cost cost;
  uint32_t members = 0;
  std::vector<int64_t> used(of.allowed.size(), 0);
  for (const Way* way : ways) {
    if (way == nullptr) continue;
    if (way->rank > question.rank) return std::nullopt;
    members += way->members;
    cost = cost + way->cost;
    for (const uint32_t budget : way->uses) ++used[budget];
  }
  if (members < of.needed) return std::nullopt;
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i] > of.allowed[i] && !question.may_break) return std::nullopt;
    cost.violations += std::max<int64_t>(0, used[i] - of.allowed[i]);
  }
  if (question.violations_only) return Cost{cost.violations, 0, 0};
  return cost;
}

void try_all(const Case& of, std::vector<const Way*>& ways, const Selection::Question& question,
             std::optional<Cost>& least) {
  if (ways.size() == of.nodes.size()) {
    const std::optional<Cost> cost = cost_of(of, ways, question);
    if (cost && (!least || *cost < *least)) least = cost;
    return;
  }
  const std::vector<Way>& node = of.nodes[ways.size()];
  for (size_t i = 0; i <= node.size(); ++i) {
    ways.push_back(i == 0 ? nullptr : &node[i - 1]);
    try_all(of, ways, question, least);
    ways.pop_back();
  }
}

// What is wrong with a choice; "" if nothing is.
std::string fault_of(const Case& of, const Selection::Choice& choice, const Selection::Question& question,
                     const std::optional<Cost>& least) {
  if (!choice.known) return "not known";
  const bool expected = least && (!question.enough || *least <= *question.enough);
  if (choice.cost.has_value() != expected) return expected ? "no choice" : "a choice, where there is none";
  if (!expected) return "";
  if (question.enough ? *choice.cost > *question.enough : *choice.cost != *least) return "not the least cost";
  std::vector<const Way*> ways(of.nodes.size(), nullptr);
  for (const auto& [node, set] : choice.sets)
    for (const Way& way : of.nodes[node])
      if (way.set == set) ways[node] = &way;
  return cost_of(of, ways, question) == choice.cost ? "" : "its ways cost something else";
}

TEST(Selection, IsTheBestOfAllChoices) {
  const uint64_t worlds = test::number_from("DRA_PREEMPT_WORLDS", 500),
                 first = test::number_from("DRA_PREEMPT_SEED", 1);
  int dearer = 0;  // because of budgets
  for (uint64_t seed = first; seed < first + worlds; ++seed) {
    const Case drawn = Drawing(seed).draw();
    Selection selection(drawn.needed, drawn.allowed, [] { return false; });
    for (std::vector<Way> ways : drawn.nodes) {
      keep_best(ways);
      selection.add(std::move(ways));
    }
    for (const bool may_break : {false, true})
      for (const bool violations_only : {false, true})
        for (const uint32_t rank : {1u, 3u}) {
          Selection::Question question{rank, may_break, violations_only, std::nullopt};
          std::optional<Cost> least;
          std::vector<const Way*> ways;
          try_all(drawn, ways, question, least);
          const auto text = [&] {
            return "DRA_PREEMPT_SEED=" + std::to_string(seed) + ", rank " + std::to_string(rank);
          };
          ASSERT_EQ(fault_of(drawn, selection.choose(question), question, least), "") << text();
          if (!least) continue;
          question.enough = least;
          ASSERT_EQ(fault_of(drawn, selection.choose(question), question, least), "") << text() << ", just enough";
          question.enough->sum += 3;
          ASSERT_EQ(fault_of(drawn, selection.choose(question), question, least), "") << text() << ", enough";
          question.enough = Cost{least->violations, least->sum - 1, least->number};
          ASSERT_EQ(fault_of(drawn, selection.choose(question), question, least), "") << text() << ", too little";
          Case free = drawn;
          free.allowed.assign(drawn.allowed.size(), 100);
          std::optional<Cost> without;
          try_all(free, ways, question, without);
          dearer += without < least ? 1 : 0;
        }
  }
  if (worlds < 500) return;
  EXPECT_GT(dearer, 200);
}

// Each node by itself has a place for nothing but a use of its pair of budgets: which of 40 go decides whether all fit.
TEST(Selection, ManyNodesWithOverlappingBudgets) {
  constexpr uint32_t kBudgets = 60;
  Selection selection(kBudgets / 2, std::vector<int64_t>(kBudgets, 1), [] { return false; });
  // Even nodes alone use every budget once; each odd one stands in the way of two of them.
  for (uint32_t node = 0; node + 1 < kBudgets; ++node)
    selection.add({{1, 1, 0, {0, node % 2 == 0 ? 2 : 1, 1}, {node, node + 1}}});
  Selection::Choice choice = selection.choose({});
  ASSERT_TRUE(choice.known);
  ASSERT_TRUE(choice.cost);
  EXPECT_EQ(choice.cost->sum, kBudgets);
  for (const auto& [node, set] : choice.sets) EXPECT_EQ(node % 2, 0u);
  choice = selection.choose({UINT32_MAX, false, false, Cost{0, kBudgets - 1, INT64_MAX / 8}});
  EXPECT_TRUE(choice.known);
  EXPECT_FALSE(choice.cost);
}

// Budgets that all bind together on many nodes are more than can be seen: then nothing is claimed.
TEST(Selection, SaysThatItDoesNotKnow) {
  SeededRandom random(1);
  Selection selection(
      100, std::vector<int64_t>(60, 10), [] { return false; }, 20'000);
  for (int node = 0; node < 300; ++node) {
    Way way{1, 1, 0, {0, static_cast<int64_t>(random.below(1000)), 1}, {}};
    for (int i = 0; i < 8; ++i) way.uses.push_back(static_cast<uint32_t>(random.below(60)));
    std::sort(way.uses.begin(), way.uses.end());
    selection.add({way});
  }
  EXPECT_FALSE(selection.choose({}).known);
}

}  // namespace
}  // namespace dra::preempt
