// Groups of groups against brute force, from seeds. DRA_SEED picks another start, DRA_PARTS_CASES another number.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>

#include "pkg/api/selectors.h"
#include "pkg/base/random.h"
#include "pkg/gang/testing/cpu_nodes.h"
#include "test/allocharness/contest.h"
#include "test/oracle/groups.h"
#include "test/support/environment.h"

namespace dra::gang::parts_property_test {
namespace {

struct Scenario {
  oracle::GroupWorld group;
  std::unique_ptr<allocharness::Contest> contest;
  GangRequest request;
  std::unique_ptr<CpuNodes> nodes;
};

Topology one_level(const std::optional<std::string>& required) {
  Topology topology;
  if (!required) return topology;
  topology.levels = {*required};
  topology.required = 0;
  return topology;
}

Scenario make(uint64_t seed, const allocator::Options& options) {
  Scenario made;
  made.group = oracle::random_group_of_groups(seed);
  made.contest = std::move(*allocharness::Contest::make(made.group.world, options));
  std::vector<CpuNodes::Node> nodes;
  for (size_t n = 0; n < made.group.cpu.size(); ++n) {
    const api::StringMap& labels = made.group.world.nodes[n].metadata.labels;
    nodes.push_back({made.contest->nodes()[n], made.group.cpu[n], {labels.begin(), labels.end()}});
  }
  std::vector<int64_t> wants;
  made.request.uid = made.request.name = "whole-" + std::to_string(seed);
  for (const oracle::GroupMember& one : made.group.members) {
    wants.push_back(one.cpu);
    Member& member = made.request.members.emplace_back();
    member.name = member.uid = "pod-" + std::to_string(wants.size());
    member.shape = one.shape;
    for (const size_t claim : one.claims) member.claims.push_back(made.contest->request().claims[claim]);
  }
  made.request.topology = one_level(made.group.required);
  for (const oracle::GroupPartOf& one : made.group.parts) {
    GroupPart& part = made.request.parts.emplace_back();
    part.name = "part-" + std::to_string(made.request.parts.size());
    if (one.parent) part.parent = static_cast<uint32_t>(*one.parent);
    part.need = static_cast<uint32_t>(one.need);
    for (const size_t member : one.members) part.members.push_back(static_cast<uint32_t>(member));
    part.topology = one_level(one.required);
  }
  made.nodes = std::make_unique<CpuNodes>(std::move(nodes), std::move(wants));
  if (seed % 4 == 3) made.nodes->set_influence(Nodes::Influence::kShrinks);
  if (seed % 8 == 5) made.nodes->set_influence(Nodes::Influence::kAny);
  return made;
}

// By part: whether it is placed by its own rule. Stops at a part that holds members and is not.
bool is_placed(const Scenario& scenario, const std::map<size_t, size_t>& node_of, size_t part, size_t& members,
               std::set<size_t>& nodes, std::string& wrong) {
  const oracle::GroupPartOf& own = scenario.group.parts[part];
  size_t count = 0;
  std::set<size_t> here;
  for (const size_t member : own.members)
    if (const auto at = node_of.find(member); at != node_of.end()) {
      ++count;
      ++members;
      here.insert(at->second);
    }
  size_t below = 0;
  for (size_t child = part + 1; child < scenario.group.parts.size(); ++child)
    if (scenario.group.parts[child].parent == part) count += is_placed(scenario, node_of, child, below, here, wrong);
  members += below;
  nodes.insert(here.begin(), here.end());
  const std::string name = scenario.request.parts[part].name;
  if (count < own.need) {
    if (!here.empty()) wrong = name + " has " + std::to_string(count) + " of " + std::to_string(own.need);
    return false;
  }
  std::set<std::string> values;
  for (const size_t node : here) {
    if (!own.required) break;
    const api::StringMap& labels = scenario.group.world.nodes[node].metadata.labels;
    const auto label = labels.find(*own.required);
    values.insert(label == labels.end() ? "none" : label->second);
  }
  if (values.size() > 1 || values.contains("none")) wrong = name + " is in several domains, or in none";
  return true;
}

std::string broken(Scenario& scenario, const Decision& decision) {
  inventory::Inventory& inventory = scenario.contest->inventory();
  const size_t before = inventory.audit().size();
  std::map<std::string, const api::AllocationResult*> results;
  for (const ClaimResult& one : decision.claims) {
    if (!results.emplace(one.claim->metadata.uid, &one.result).second) return "a claim is decided twice";
    inventory.assume(one.claim->metadata.uid, one.result);
  }
  std::map<size_t, size_t> node_of;
  for (const Placed& placed : decision.members) {
    const Member& member = scenario.request.members[placed.member];
    const std::string name = inventory.node_name(placed.node);
    const auto& all = scenario.group.world.nodes;
    const auto node = std::find_if(all.begin(), all.end(), [&](const auto& n) { return n.metadata.name == name; });
    if (!node_of.emplace(placed.member, static_cast<size_t>(node - all.begin())).second) return "placed twice";
    if (!scenario.nodes->look(placed.member, placed.node)) return member.name + " has no CPU on its node";
    scenario.nodes->place(placed.member, placed.node);
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
  size_t members = 0;
  std::set<size_t> nodes;
  std::string wrong;
  if (!is_placed(scenario, node_of, 0, members, nodes, wrong)) return "the whole is not placed";
  if (!wrong.empty()) return wrong;
  if (members != decision.members.size()) return "a member is in no part";
  std::set<std::string> domains;
  for (const size_t node : nodes)
    if (scenario.group.required) {
      const api::StringMap& labels = scenario.group.world.nodes[node].metadata.labels;
      const auto label = labels.find(*scenario.group.required);
      domains.insert(label == labels.end() ? "none" : label->second);
    }
  if (domains.size() > 1 || domains.contains("none")) return "the whole is in several domains, or in none";
  const auto findings = inventory.audit();
  return findings.size() > before ? findings.back().message : "";
}

Decision decide(Scenario& scenario, const Options& options, uint64_t seed, bool changes) {
  Gangs gangs(scenario.contest->inventory(), scenario.contest->allocator(), options);
  SeededRandom random(seed);
  Decision decision;
  for (int slice = 0; slice < 100'000; ++slice) {
    decision = gangs.decide(scenario.request, *scenario.nodes);
    EXPECT_EQ(scenario.nodes->placed(), 0u) << "not all is taken back";
    if (decision.outcome != Outcome::kUnfinished) break;
    // Somebody takes CPU of a node for a moment: at the end nothing has changed.
    if (!changes || slice > 12) continue;
    const size_t node = random.below(scenario.nodes->nodes().size());
    scenario.nodes->take(node, 1);
    gangs.decide(scenario.request, *scenario.nodes);
    scenario.nodes->take(node, -1);
  }
  return decision;
}

TEST(PartsProperty, RandomGroupsOfGroupsAgreeWithBruteForce) {
  const uint64_t first = test::number_from("DRA_SEED", 1), cases = test::number_from("DRA_PARTS_CASES", 600);
  std::cout << "random groups of groups from seed " << first << ", " << cases << " of them\n";
  uint64_t found = 0, impossible = 0, undecided = 0, too_big = 0, failures = 0, some = 0;
  for (uint64_t seed = first; seed < first + cases && failures < 5; ++seed) {
    allocator::Options options;
    Options gang;
    if (seed % 3 == 0) options.strategy = allocator::Strategy::kBestFit;
    if (seed % 5 == 0) gang.slice.steps = 64;
    if (seed % 5 == 1) gang.slice.steps = 1;
    Scenario scenario = make(seed, options);
    const Decision decision = decide(scenario, gang, seed, seed % 5 == 1);
    const oracle::GroupVerdict verdict = oracle::solve_group(scenario.group);
    std::string difference;
    if (decision.outcome == Outcome::kFeasible) {
      difference = broken(scenario, decision);
      if (verdict.answer == oracle::Answer::kInfeasible) difference += " found, but brute force says there is none";
    } else if (verdict.answer == oracle::Answer::kFeasible && decision.outcome == Outcome::kInfeasible) {
      difference = "said to be impossible: " + decision.reason + "; but:";
      for (const std::string& place : verdict.places) difference += "\n  " + place;
    }
    if (decision.outcome == Outcome::kInfeasible && decision.reason.empty()) difference = "no reason";
    if (decision.outcome == Outcome::kError) difference = "error: " + decision.error->message();
    if (!difference.empty()) {
      ADD_FAILURE() << "seed " << seed << ": " << difference << "\n" << oracle::write_case(scenario.group.world);
      ++failures;
    }
    found += decision.outcome == Outcome::kFeasible;
    some += decision.outcome == Outcome::kFeasible && decision.members.size() < scenario.request.members.size();
    impossible += decision.outcome == Outcome::kInfeasible;
    undecided += decision.outcome == Outcome::kBudgetSpent;
    too_big += verdict.answer == oracle::Answer::kTooBig;
  }
  std::cout << found << " found, " << some << " of them without all members, " << impossible << " impossible, "
            << undecided << " undecided, " << too_big << " too big for brute force\n";
  EXPECT_GT(found, cases / 10);
  EXPECT_GT(some, cases / 50);
  EXPECT_GT(impossible, cases / 10);
  EXPECT_LT(undecided, cases / 25 + 1);
  EXPECT_LT(too_big, cases / 20 + 1);
}

TEST(Parts, WhatIsNotATreeIsRefusedByName) {
  Scenario scenario = make(1, {});
  const auto said = [&] {
    Gangs gangs(scenario.contest->inventory(), scenario.contest->allocator(), {});
    const Decision decision = gangs.decide(scenario.request, *scenario.nodes);
    return decision.error ? decision.error->message() : std::string(group_outcome_name(decision.outcome));
  };
  std::vector<GroupPart>& parts = scenario.request.parts;
  parts.assign(5, {});
  for (uint32_t p = 1; p < 5; ++p) parts[p].parent = p - 1;
  for (uint32_t p = 0; p < 5; ++p) parts[p].name = "p" + std::to_string(p);
  EXPECT_EQ(said(), "group \"whole-1\": its part \"p4\" is on level 5 of its groups; at most 4 are supported");
  parts[4].parent = 2;
  EXPECT_EQ(said(), "Found") << "nothing is needed";
  parts[2].members = {0};
  EXPECT_EQ(said(), "group \"whole-1\": its part \"p2\" has members and groups; it can have one or the other");
  parts[2].members.clear();
  parts[3].members = parts[4].members = {0};
  EXPECT_EQ(said(), "group \"whole-1\": its part \"p4\" has a member that is not its own");
  parts[4].members.clear();
  parts[1].parent = 3;
  EXPECT_EQ(said(), "group \"whole-1\": its part \"p1\" is not below an earlier part");
  parts.assign(kMaxParts + 1, {});
  EXPECT_NE(said().find("consists of 257 groups; at most 256 are decided together"), std::string::npos) << said();
}

}  // namespace
}  // namespace dra::gang::parts_property_test
