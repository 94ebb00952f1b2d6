// Pairs in the allocator against a slow twin, on worlds from seeds with everything else at once (counters, capacity,
// alternatives, mode All, taints). DRA_SEED picks another start, DRA_PAIR_CASES another number of worlds.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "test/allocharness/contest.h"
#include "test/oracle/checker.h"
#include "test/oracle/exhaustive.h"
#include "test/oracle/generator.h"
#include "test/oracle/generator_dice.h"
#include "test/oracle/objective.h"
#include "test/oracle/pairs.h"
#include "test/support/environment.h"

namespace dra::allocharness::pairs_test {
namespace {

using allocator::Outcome;
using allocator::PairRule;

constexpr uint64_t kTwinSteps = 30'000;

struct PairWorld {
  oracle::World world;
  std::vector<PairRule> rules;
};

api::DeviceAttribute some_value(oracle::Dice& dice, int values) {
  const auto one = [&] { return std::string(1, static_cast<char>('a' + dice.between(0, values - 1))); };
  if (dice.chance(70)) return one();
  if (dice.chance(8)) return int64_t{dice.between(0, 1)};
  std::vector<std::string> list{one()};
  for (int more = dice.between(0, 2); more > 0; --more) list.push_back(one());
  return list;
}

// Requests of one rule are distinct. A claim that is allocated already has devices that the world lists as held.
PairRule random_rule(const oracle::World& world, oracle::Dice& dice) {
  PairRule rule;
  rule.attribute = dice.chance(60) ? "pair.example.com/root" : "pair.example.com/numa";
  std::vector<std::pair<uint32_t, uint32_t>> all;
  for (uint32_t c = 0; c < world.claims.size(); ++c)
    for (uint32_t r = 0; r < world.claims[c].spec.requests.size(); ++r) all.emplace_back(c, r);
  const int terms = std::min<int>(dice.between(1, 3), static_cast<int>(all.size()));
  for (int t = 0; t < terms; ++t) {
    const size_t at = dice.below(all.size());
    PairRule::Term& term = rule.terms.emplace_back();
    term.claim = all[at].first;
    term.request = all[at].second;
    term.name = world.claims[term.claim].spec.requests[term.request].name;
    term.number = dice.chance(75) ? 1 : 2;
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
  }
  if (!world.allocated.empty() && dice.chance(10)) {
    PairRule::Term& term = rule.terms.emplace_back();
    term.claim = allocator::kAllocatedClaim;
    term.name = "fixed";
    for (const oracle::DeviceName& name : world.allocated)
      if (term.devices.size() < 2 && dice.chance(70)) term.devices.push_back({name.driver, name.pool, name.device});
    if (term.devices.empty()) rule.terms.pop_back();
  }
  if (rule.terms.size() == 1) rule.terms.front().number = 2;
  for (const PairRule::Term& term : rule.terms)
    rule.text += (rule.text.empty() ? "" : "+") + std::to_string(term.claim) + "/" + term.name + "*" +
                 std::to_string(term.number);
  rule.text += " by " + rule.attribute;
  return rule;
}

PairWorld random_pair_world(uint64_t seed) {
  oracle::Ingredients with;
  with.selector_errors = seed % 4 == 0;
  with.odd_pools = seed % 3 == 0;
  with.max_devices = seed % 2 == 0 ? 8 : 10;
  with.limits = seed % 16 == 0;
  PairWorld out{oracle::random_world(seed, with), {}};
  oracle::Dice dice(seed * 7919 + 1);
  const int values = dice.chance(60) ? 1 : dice.between(2, 3);
  for (api::ResourceSlice& slice : out.world.slices)
    for (api::Device& device : slice.devices) {
      if (dice.chance(96)) device.attributes["pair.example.com/root"] = some_value(dice, values);
      if (dice.chance(92)) device.attributes["pair.example.com/numa"] = int64_t{dice.between(0, 1)};
    }
  for (api::ResourceClaim& claim : out.world.claims)
    for (api::DeviceRequest& request : claim.spec.requests)
      if (request.exactly && request.exactly->allocation_mode != "All" && request.exactly->count == 1 &&
          dice.chance(50))
        request.exactly->count = dice.between(1, 3);
  const int rules = dice.chance(75) ? 1 : dice.between(2, 3);
  for (int i = 0; i < rules; ++i) out.rules.push_back(random_rule(out.world, dice));
  return out;
}

struct TwinVerdict {
  oracle::Answer answer = oracle::Answer::kInfeasible;
  std::string node;
  std::vector<std::string> devices;  // in the order of the search
};

TwinVerdict solve_pairs(const PairWorld& one) {
  TwinVerdict verdict;
  for (const api::Node& node : one.world.nodes) {
    const oracle::Scene scene = oracle::build_scene(one.world, node);
    if (!scene.error.empty()) {
      verdict.answer = oracle::Answer::kError;
      return verdict;
    }
    bool gave_up = false;
    const auto picks = oracle::first_solution(
        scene, kTwinSteps,
        [&](const std::vector<oracle::Pick>& found) { return oracle::broken_pairs(scene, found, one.rules).empty(); },
        gave_up);
    if (gave_up) {
      verdict.answer = oracle::Answer::kTooBig;
      return verdict;
    }
    if (!picks) continue;
    verdict.answer = oracle::Answer::kFeasible;
    verdict.node = node.metadata.name;
    for (const oracle::Pick& pick : *picks)
      verdict.devices.push_back(pick.option->result_name + "=" + scene.devices[pick.device].name.text());
    return verdict;
  }
  return verdict;
}

std::vector<std::string> devices_of(const std::vector<api::AllocationResult>& results) {
  std::vector<std::string> out;
  for (const api::AllocationResult& result : results)
    for (const auto& entry : result.results)
      out.push_back(entry.request + "=" + entry.driver + "/" + entry.pool + "/" + entry.device);
  return out;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += " " + part;
  return out;
}

// The groups that a rule asks wherever it is placed; 0: that depends.
uint64_t asked_of(const oracle::World& world, const PairRule& rule) {
  uint64_t asked = UINT64_MAX;
  for (const PairRule::Term& term : rule.terms) {
    if (term.claim == allocator::kAllocatedClaim) return 0;
    const api::DeviceRequest& request = world.claims[term.claim].spec.requests[term.request];
    if (!request.exactly || request.exactly->allocation_mode == "All" || request.exactly->admin_access) return 0;
    asked = std::min<uint64_t>(asked, static_cast<uint64_t>(request.exactly->count) / term.number);
  }
  return asked;
}

uint64_t least_of(const api::DeviceSubRequest& sub) {
  return sub.allocation_mode == "All" ? 1 : static_cast<uint64_t>(std::max<int64_t>(sub.count, 1));
}

std::string wrong_shorts(const PairWorld& one, Contest& contest, const allocator::Request& request, uint64_t& shorts) {
  const allocator::Reasons reasons = contest.allocator().explain(request, contest.nodes());
  if (reasons.proof.empty()) return "infeasible without a proof";
  // A claim that asks for too many devices, or a rule that can never be met, has a reason of its own.
  bool never = false;
  for (const api::ResourceClaim& claim : one.world.claims) {
    uint64_t least = 0;
    for (const api::DeviceRequest& asked : claim.spec.requests) {
      uint64_t of_request = asked.exactly ? least_of(*asked.exactly) : UINT64_MAX;
      for (const api::DeviceSubRequest& sub : asked.first_available) of_request = std::min(of_request, least_of(sub));
      least += of_request;
    }
    never = never || least > api::kMaxAllocationResults;
  }
  for (const PairRule& rule : one.rules)
    for (const PairRule::Term& term : rule.terms) {
      if (term.claim == allocator::kAllocatedClaim) {
        never = never || term.devices.size() < term.number;
        continue;
      }
      int64_t most = 0;
      const api::DeviceRequest& asked = one.world.claims[term.claim].spec.requests[term.request];
      const auto take = [&](const api::DeviceSubRequest& sub) {
        most = std::max<int64_t>(most, sub.allocation_mode == "All" ? INT32_MAX : std::max<int64_t>(sub.count, 1));
      };
      if (asked.exactly) take(*asked.exactly);
      for (const api::DeviceSubRequest& sub : asked.first_available) take(sub);
      never = never || most < term.number;
    }
  std::vector<std::string> expected, got;
  for (const allocator::PairShort& found : reasons.short_of_pairs)
    got.push_back(contest.inventory().node_name(found.node) + " " + std::to_string(found.entry) + " " +
                  std::to_string(found.has) + "/" + std::to_string(found.asked));
  for (const api::Node& node : one.world.nodes) {
    const oracle::Scene scene = oracle::build_scene(one.world, node);
    for (size_t e = 0; e < one.rules.size() && !never; ++e) {
      const uint64_t asked = asked_of(one.world, one.rules[e]);
      if (asked == 0) continue;
      const uint64_t has = oracle::free_groups(scene, one.rules[e], asked);
      if (has < asked)
        expected.push_back(node.metadata.name + " " + std::to_string(e) + " " + std::to_string(has) + "/" +
                           std::to_string(asked));
    }
  }
  shorts += expected.size();
  return expected == got ? "" : "short: expected" + joined(expected) + ", got" + joined(got);
}

struct Tally {
  uint64_t feasible = 0, refused_by_pairs = 0, shorts = 0, undecided = 0;
};

std::string difference_in(const PairWorld& one, Tally& tally) {
  const TwinVerdict twin = solve_pairs(one);
  for (const allocator::Strategy strategy : {allocator::Strategy::kFirstFit, allocator::Strategy::kBestFit}) {
    const bool first_fit = strategy == allocator::Strategy::kFirstFit;
    allocator::Options options;
    options.strategy = strategy;
    auto contest = Contest::make(one.world, options);
    if (!contest) return contest.error().message();
    allocator::Request request = (*contest)->request();
    request.pairs = one.rules;
    const allocator::FoundNodes found = (*contest)->allocator().find_nodes(request, (*contest)->nodes(), 1);
    const bool feasible = found.outcome == Outcome::kFeasible;
    const std::string said(allocator::outcome_name(found.outcome));
    if (twin.answer == oracle::Answer::kError) return feasible ? "decided although there is an error" : "";
    if (twin.answer == oracle::Answer::kTooBig) {
      tally.undecided += first_fit;
    } else if (found.outcome !=
               (twin.answer == oracle::Answer::kFeasible ? Outcome::kFeasible : Outcome::kInfeasible)) {
      return "the twin says " + (twin.node.empty() ? "infeasible" : twin.node + ":" + joined(twin.devices)) +
             ", the allocator says " + said + (found.error ? " (" + found.error->message() + ")" : "") +
             (feasible ? " on " + (*contest)->inventory().node_name(found.decisions.at(0).node) + ":" +
                             joined(devices_of(found.decisions.at(0).results))
                       : "");
    }
    if (!feasible) {
      if (!first_fit || found.outcome != Outcome::kInfeasible) continue;
      tally.refused_by_pairs += oracle::solve(one.world, kTwinSteps).answer == oracle::Answer::kFeasible;
      if (std::string wrong = wrong_shorts(one, **contest, request, tally.shorts); !wrong.empty()) return wrong;
      continue;
    }
    tally.feasible += first_fit;
    const allocator::Decision& decision = found.decisions.at(0);
    const std::string node = (*contest)->inventory().node_name(decision.node);
    if (first_fit && twin.answer == oracle::Answer::kFeasible &&
        (node != twin.node || devices_of(decision.results) != twin.devices))
      return "expected" + joined(twin.devices) + " on " + twin.node + ", got" + joined(devices_of(decision.results)) +
             " on " + node;
    if (std::string broken = oracle::broken_rule(one.world, node, decision.results); !broken.empty()) return broken;
    for (const api::Node& of : one.world.nodes) {
      if (of.metadata.name != node) continue;
      const oracle::Scene scene = oracle::build_scene(one.world, of);
      const std::string broken = oracle::broken_pairs(scene, oracle::picks_of(scene, decision.results), one.rules);
      if (!broken.empty()) return broken;
    }
  }
  return "";
}

TEST(PairProperty, RandomWorldsAgreeWithTheTwin) {
  const uint64_t first = test::number_from("DRA_SEED", 1), cases = test::number_from("DRA_PAIR_CASES", 2000);
  std::cout << "worlds with pairs from seed " << first << ", " << cases << " of them\n";
  Tally tally;
  uint64_t failures = 0;
  for (uint64_t seed = first; seed < first + cases && failures < 5; ++seed) {
    const PairWorld one = random_pair_world(seed);
    const std::string wrong = difference_in(one, tally);
    if (wrong.empty()) continue;
    ++failures;
    std::string rules;
    for (const PairRule& rule : one.rules) {
      rules += "\n  " + rule.text;
      for (const PairRule::Term& term : rule.terms)
        for (const auto& device : term.devices) rules += " " + device.driver + "/" + device.pool + "/" + device.device;
    }
    ADD_FAILURE() << "seed " << seed << ": " << wrong << rules << "\n  " << oracle::write_case(one.world);
  }
  std::cout << tally.feasible << " feasible, " << tally.refused_by_pairs << " infeasible for their pairs alone, "
            << tally.shorts << " numbers of free groups, " << tally.undecided << " too big for the twin\n";
  EXPECT_GT(tally.feasible, cases / 20);
  EXPECT_GT(tally.refused_by_pairs, cases / 20);
  EXPECT_GT(tally.shorts, cases / 20);
  EXPECT_LT(tally.undecided, cases / 20 + 1);
}

}  // namespace
}  // namespace dra::allocharness::pairs_test
