// The search against brute force, on groups from seeds. DRA_SEED picks another start, DRA_CASES another number.
#include <gtest/gtest.h>

#include <iostream>
#include <tuple>

#include "pkg/api/selectors.h"
#include "pkg/base/random.h"
#include "pkg/gang/testing/cpu_nodes.h"
#include "test/allocharness/contest.h"
#include "test/oracle/groups.h"
#include "test/support/environment.h"

namespace dra::gang::property_test {
namespace {

// A group of the oracle on the real allocator.
struct Scenario {
  oracle::GroupWorld group;
  std::unique_ptr<allocharness::Contest> contest;
  GangRequest request;
  std::unique_ptr<CpuNodes> nodes;
};

Scenario make(uint64_t seed, const allocator::Options& options) {
  Scenario made;
  made.group = oracle::random_group(seed);
  made.contest = std::move(*allocharness::Contest::make(made.group.world, options));
  std::vector<CpuNodes::Node> nodes;
  for (size_t n = 0; n < made.group.cpu.size(); ++n) {
    const api::StringMap& labels = made.group.world.nodes[n].metadata.labels;
    nodes.push_back({made.contest->nodes()[n], made.group.cpu[n], {labels.begin(), labels.end()}});
  }
  std::vector<int64_t> wants;
  made.request.uid = made.request.name = "group-" + std::to_string(seed);
  for (const oracle::GroupMember& one : made.group.members) {
    wants.push_back(one.cpu);
    Member& member = made.request.members.emplace_back();
    member.name = member.uid = "pod-" + std::to_string(wants.size());
    member.shape = one.shape;
    for (const size_t claim : one.claims) member.claims.push_back(made.contest->request().claims[claim]);
  }
  made.request.min_count = static_cast<uint32_t>(made.group.min_count);
  if (made.group.required) {
    made.request.topology.levels = {*made.group.required};
    made.request.topology.required = 0;
  }
  made.nodes = std::make_unique<CpuNodes>(std::move(nodes), std::move(wants));
  // One seed in four takes the general way, which must give the same answer.
  if (seed % 4 == 3) made.nodes->set_influence(Nodes::Influence::kShrinks);
  if (seed % 8 == 5) made.nodes->set_influence(Nodes::Influence::kAny);
  return made;
}

// Others who take devices and CPU between two slices, and give them back.
class Others {
 public:
  Others(Scenario& scenario, uint64_t seed) : scenario_(scenario), random_(seed) {
    inventory::Inventory& inventory = scenario.contest->inventory();
    for (const inventory::PoolInfo& pool : inventory.pools())
      for (const inventory::DeviceInfo& device : inventory.devices(pool.id))
        if (device.available && device.holders.empty()) free_.push_back(device.name);
  }
  ~Others() { stop(); }
  void act() {
    if (random_.below(3) == 0) return stop();
    if (random_.below(2) == 0 && !free_.empty()) {
      const inventory::DeviceName& device = free_[random_.below(free_.size())];
      api::AllocationResult result;
      auto& one = result.results.emplace_back();
      one.request = "r";
      std::tie(one.driver, one.pool, one.device) = std::tie(device.driver, device.pool, device.device);
      scenario_.contest->inventory().assume("others", result);
    } else {
      const size_t node = random_.below(scenario_.nodes->nodes().size());
      const int64_t left = std::max<int64_t>(scenario_.nodes->nodes()[node].cpu, 0);
      taken_.emplace_back(node, random_.below(static_cast<uint64_t>(left) + 1));
      scenario_.nodes->take(node, taken_.back().second);
    }
  }
  void stop() {
    scenario_.contest->inventory().forget("others");
    for (const auto& [node, cpu] : taken_) scenario_.nodes->take(node, -cpu);
    taken_.clear();
  }

 private:
  Scenario& scenario_;
  SeededRandom random_;
  std::vector<inventory::DeviceName> free_;
  std::vector<std::pair<size_t, int64_t>> taken_;
};

Decision decide(Scenario& scenario, const Options& options, uint64_t& slices, Others* others = nullptr) {
  Gangs gangs(scenario.contest->inventory(), scenario.contest->allocator(), options);
  Decision decision;
  constexpr int kChanges = 12;
  for (int slice = 0; slice < 100'000; ++slice) {
    decision = gangs.decide(scenario.request, *scenario.nodes);
    EXPECT_EQ(scenario.nodes->placed(), 0u) << "not all is taken back";
    ++slices;
    if (decision.outcome != Outcome::kUnfinished) {
      // What others hold at the moment may be what is missing.
      if (others == nullptr || slice >= kChanges || decision.outcome == Outcome::kFeasible) break;
      slice = kChanges;
      others->stop();
    } else if (others != nullptr && slice < kChanges) {
      others->act();
    } else if (others != nullptr && slice == kChanges) {
      others->stop();
    }
  }
  return decision;
}

// What is wrong with a group that was found; "" if nothing is.
std::string broken(Scenario& scenario, const Decision& decision) {
  inventory::Inventory& inventory = scenario.contest->inventory();
  const size_t before = inventory.audit().size();
  if (decision.members.size() < scenario.request.min_count) return "too few members";
  std::map<std::string, const api::AllocationResult*> results;
  for (const ClaimResult& one : decision.claims) {
    if (!results.emplace(one.claim->metadata.uid, &one.result).second) return "a claim is decided twice";
    inventory.assume(one.claim->metadata.uid, one.result);
  }
  std::set<std::string> domains;
  std::set<size_t> members;
  for (const Placed& placed : decision.members) {
    const Member& member = scenario.request.members[placed.member];
    if (!members.insert(placed.member).second) return member.name + " is placed twice";
    if (!scenario.nodes->look(placed.member, placed.node)) return member.name + " has no CPU on its node";
    scenario.nodes->place(placed.member, placed.node);
    const std::string name = inventory.node_name(placed.node);
    const auto& nodes = scenario.group.world.nodes;
    const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.metadata.name == name; });
    if (scenario.group.required) {
      const auto label = node->metadata.labels.find(*scenario.group.required);
      if (label == node->metadata.labels.end()) return name + " has no label";
      domains.insert(label->second);
    }
    for (const auto& claim : member.claims) {
      const auto found = results.find(claim->metadata.uid);
      const api::AllocationResult* result = claim->status.allocation ? &*claim->status.allocation
                                            : found == results.end() ? nullptr
                                                                     : found->second;
      if (result == nullptr) return "claim " + claim->metadata.uid + " is not decided";
      if (result->node_selector && !api::matches(*result->node_selector, name, node->metadata.labels))
        return "claim " + claim->metadata.uid + " cannot be used on " + name;
    }
  }
  if (domains.size() > 1) return "several domains";
  const auto findings = inventory.audit();
  return findings.size() > before ? findings.back().message : "";
}

TEST(GangProperty, RandomGroupsAgreeWithBruteForce) {
  const uint64_t first = test::number_from("DRA_SEED", 1), cases = test::number_from("DRA_GROUP_CASES", 3000);
  std::cout << "random groups from seed " << first << ", " << cases << " of them\n";
  uint64_t found = 0, impossible = 0, undecided = 0, too_big = 0, slices = 0, failures = 0;
  for (uint64_t seed = first; seed < first + cases && failures < 5; ++seed) {
    allocator::Options options;
    Options gang;
    if (seed % 3 == 0) options.strategy = allocator::Strategy::kBestFit;
    if (seed % 5 == 0) gang.slice.steps = 64;  // many slices
    if (seed % 5 == 1) gang.slice.steps = 1;   // and changes between them
    Scenario scenario = make(seed, options);
    Others others(scenario, seed);
    const Decision decision = decide(scenario, gang, slices, seed % 5 == 1 ? &others : nullptr);
    const oracle::GroupVerdict verdict = oracle::solve_group(scenario.group);
    std::string difference;
    if (decision.outcome == Outcome::kFeasible) {
      difference = broken(scenario, decision);
      if (verdict.answer == oracle::Answer::kInfeasible) difference += " found, but brute force says there is none";
    } else if (verdict.answer == oracle::Answer::kFeasible && decision.outcome == Outcome::kInfeasible) {
      difference = "said to be impossible: " + decision.reason + "; but:";
      for (const std::string& place : verdict.places) difference += "\n  " + place;
    }
    if (decision.outcome == Outcome::kError) difference = "error: " + decision.error->message();
    if (!difference.empty()) {
      ADD_FAILURE() << "seed " << seed << ": " << difference << "\n" << oracle::write_case(scenario.group.world);
      ++failures;
    }
    found += decision.outcome == Outcome::kFeasible;
    impossible += decision.outcome == Outcome::kInfeasible;
    undecided += decision.outcome == Outcome::kBudgetSpent;
    too_big += verdict.answer == oracle::Answer::kTooBig;
  }
  std::cout << found << " found, " << impossible << " impossible, " << undecided << " undecided, " << too_big
            << " too big for brute force, " << slices << " slices\n";
  EXPECT_GT(found, cases / 10);
  EXPECT_GT(impossible, cases / 10);
  EXPECT_LT(undecided, cases / 25 + 1);
  EXPECT_LT(too_big, cases / 20 + 1);
}

}  // namespace
}  // namespace dra::gang::property_test
