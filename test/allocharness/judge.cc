#include "test/allocharness/judge.h"

#include <algorithm>
#include <map>
#include <span>

#include "pkg/api/encode.h"
#include "test/allocharness/contest.h"
#include "test/oracle/checker.h"
#include "test/oracle/shrink.h"

namespace dra::allocharness {
namespace {

using allocator::Decision;
using allocator::Outcome;

constexpr uint64_t kOracleSteps = 100'000;

std::string outcome_text(const Decision& decision) {
  std::string out(allocator::outcome_name(decision.outcome));
  if (decision.error) out += " (" + decision.error->message() + ")";
  return out;
}

std::string check_reasons(Contest& contest, bool infeasible) {
  const allocator::Reasons reasons = contest.allocator().explain(contest.request(), contest.nodes());
  for (const allocator::RequestReason& request : reasons.requests) {
    uint64_t sum = 0;
    for (const allocator::CauseCount& count : request.counts) sum += count.devices;
    if (sum != request.devices_examined)
      return "the causes of " + request.claim + " " + request.request + " add up to " + std::to_string(sum) +
             " devices, examined were " + std::to_string(request.devices_examined);
  }
  // Without nodes there is nothing to refute.
  if (infeasible && !contest.nodes().empty() && reasons.proof.empty()) return "infeasible without a proof";
  if (reasons.summary().size() > 1024) return "the summary of the reasons is longer than 1 KiB";
  return "";
}

// Reasons must not contradict a fit: every device of the decision counts as usable in a combination.
std::string check_reasons_of_fit(Contest& contest, const Decision& decision) {
  const allocator::Reasons reasons = contest.allocator().explain(contest.request(), std::span(&decision.node, 1));
  std::map<std::pair<std::string, std::string>, uint32_t> taken;
  for (size_t c = 0; c < decision.results.size(); ++c)
    for (const api::DeviceRequestAllocationResult& entry : decision.results[c].results)
      ++taken[{contest.request().claims[c]->metadata.key(), entry.request}];
  for (const allocator::RequestReason& request : reasons.requests) {
    uint32_t usable = 0;
    for (const allocator::CauseCount& count : request.counts)
      if (count.cause == allocator::Cause::kCombination) usable += count.devices;
    if (auto found = taken.find({request.claim, request.request}); found != taken.end() && usable < found->second)
      return "request " + request.request + " got " + std::to_string(found->second) +
             " devices, but the reasons leave " + std::to_string(usable);
  }
  return "";
}

// After the decision is applied, nothing may be newly over-committed, and no cached figure may be wrong.
std::string check_audit(Contest& contest, const Decision& decision, bool over_commitment_counts) {
  const std::vector<inventory::AuditFinding> before = contest.inventory().audit();
  for (size_t c = 0; c < decision.results.size(); ++c)
    contest.inventory().assume(contest.request().claims[c]->metadata.uid, decision.results[c]);
  for (const inventory::AuditFinding& finding : contest.inventory().audit()) {
    if (finding.kind == inventory::AuditFinding::Kind::kDrift) return "audit: " + finding.message;
    const bool known = std::any_of(before.begin(), before.end(), [&](const inventory::AuditFinding& old) {
      return old.kind == finding.kind && old.device == finding.device && old.name == finding.name &&
             old.counter_set == finding.counter_set;
    });
    if (over_commitment_counts && !known) return "audit after the decision: " + finding.message;
  }
  return "";
}

// The search visits solutions in upstream's order, so first-fit must find exactly the first one.
std::string not_first(const oracle::World& world, const oracle::Solution& verdict, const Decision& decision) {
  std::vector<std::pair<std::string, std::string>> got;
  for (size_t c = 0; c < decision.results.size(); ++c)
    for (const api::DeviceRequestAllocationResult& entry : decision.results[c].results)
      got.push_back(
          {world.claims[c].metadata.name + ":" + entry.request, entry.driver + "/" + entry.pool + "/" + entry.device});
  if (got == verdict.picks) return "";
  auto text = [](const std::vector<std::pair<std::string, std::string>>& picks) {
    std::string out;
    for (const auto& [request, device] : picks) out += " " + request + "=" + device;
    return out;
  };
  return "not the first solution: expected" + text(verdict.picks) + ", got" + text(got);
}

std::string same_entry(const api::DeviceRequestAllocationResult& expected,
                       const api::DeviceRequestAllocationResult& got) {
  api::DeviceRequestAllocationResult a = expected, b = got;
  if (a.share_id == "any" && b.share_id) b.share_id = "any";
  for (auto* entry : {&a, &b})
    for (auto& [name, text] : entry->consumed_capacity)
      if (auto amount = oracle::parse_amount(text)) text = std::to_string(static_cast<int64_t>(*amount));
  return a == b ? "" : "device " + got.driver + "/" + got.pool + "/" + got.device + " for " + got.request;
}

std::string same_result(const api::AllocationResult& expected, const api::AllocationResult& got) {
  const std::string both = ": expected " + api::encode(expected) + ", got " + api::encode(got);
  if (expected.results.size() != got.results.size()) return "number of devices" + both;
  for (size_t i = 0; i < got.results.size(); ++i)
    if (std::string what = same_entry(expected.results[i], got.results[i]); !what.empty()) return what + both;
  if (!(expected.config == got.config)) return "config" + both;
  if (!(expected.node_selector == got.node_selector)) return "nodeSelector" + both;
  return "";
}

bool unjudgeable(const std::string& broken) {
  return broken.find("selector of unknown form") != std::string::npos;
}

void judge_into(CampaignResult& result, const oracle::World& world, const std::string& name, int max_failures) {
  ++result.cases;
  bool undecided = false;
  const std::string what = difference(world, &undecided);
  result.undecided += undecided;
  if (what.empty()) return;
  if (++result.failures > static_cast<uint64_t>(max_failures)) return;
  const oracle::World small = oracle::shrink(
      world, [](const oracle::World& smaller) { return !difference(smaller).empty(); }, 5000);
  const oracle::Solution verdict = oracle::solve(small, kOracleSteps);
  result.report += name + ": " + what + "\n  shrunk: " + difference(small) + "\n  " +
                   oracle::write_case(small, verdict.answer == oracle::Answer::kFeasible) + "\n";
}

}  // namespace

std::string difference(const oracle::World& world, bool* undecided) {
  const oracle::Solution verdict = oracle::solve(world, kOracleSteps);
  if (undecided) *undecided = verdict.answer == oracle::Answer::kTooBig;
  Result<std::unique_ptr<Contest>> contest = Contest::make(world);
  if (!contest) return contest.error().message();
  const Decision decision = (*contest)->decide();
  const bool feasible = decision.outcome == Outcome::kFeasible;
  switch (verdict.answer) {
    case oracle::Answer::kFeasible:
      if (!feasible) return "there is a solution on " + verdict.node + ", the allocator says " + outcome_text(decision);
      break;
    case oracle::Answer::kInfeasible:
      if (decision.outcome != Outcome::kInfeasible)
        return "there is no solution, the allocator says " + outcome_text(decision);
      break;
    case oracle::Answer::kError:
      if (verdict.must_fail && decision.outcome != Outcome::kError)
        return verdict.error + "; the allocator says " + outcome_text(decision);
      return feasible ? "the allocator decided although " + verdict.error : "";
    case oracle::Answer::kTooBig:
      break;
  }
  if (!feasible) return check_reasons(**contest, decision.outcome == Outcome::kInfeasible);
  if (verdict.answer == oracle::Answer::kFeasible) {
    const std::string node = (*contest)->inventory().node_name(decision.node);
    if (node != verdict.node) return "the first node that fits is " + verdict.node + ", the allocator chose " + node;
    if (std::string what = not_first(world, verdict, decision); !what.empty()) return what;
  }
  std::string broken = oracle::broken_rule(world, (*contest)->inventory().node_name(decision.node), decision.results);
  if (!broken.empty()) return "the result is not valid: " + broken;
  if (std::string what = check_reasons_of_fit(**contest, decision); !what.empty()) return what;
  // Every decision must leave the accounts balanced, also one with administrative access.
  return check_audit(**contest, decision, true);
}

std::string unexpected(const oracle::Case& one, const Decision& decision, const std::string& node) {
  const oracle::Expectation& expect = one.expect;
  const bool feasible = decision.outcome == Outcome::kFeasible;
  if (decision.outcome == Outcome::kBudgetSpent) return "the step budget was spent";
  if (expect.error)
    return decision.outcome == Outcome::kError ? "" : "expected an error, got " + outcome_text(decision);
  if (decision.outcome == Outcome::kError && !expect.feasible) return "got " + outcome_text(decision);
  if (expect.results) {
    // A world without claims has no results either way.
    if (expect.results->empty()) return feasible && !decision.results.empty() ? "expected no allocation, got one" : "";
    if (!feasible) return "expected an allocation, got " + outcome_text(decision);
    if (expect.results->size() != decision.results.size()) return "another number of claims";
    for (size_t c = 0; c < decision.results.size(); ++c)
      if (std::string what = same_result((*expect.results)[c], decision.results[c]); !what.empty()) return what;
    return "";
  }
  if (!expect.feasible) return "";
  if (*expect.feasible != feasible)
    return std::string("expected ") + (*expect.feasible ? "feasible" : "infeasible") + ", got " +
           outcome_text(decision);
  if (!feasible) return "";
  const std::string broken = oracle::broken_rule(one.world, node, decision.results);
  return broken.empty() || unjudgeable(broken) ? "" : "the result is not valid: " + broken;
}

CampaignResult run_random(const Campaign& campaign) {
  CampaignResult result;
  for (uint64_t i = 0; i < campaign.cases; ++i) {
    const uint64_t seed = campaign.first_seed + i;
    judge_into(result, oracle::random_world(seed, campaign.ingredients), "seed " + std::to_string(seed),
               campaign.max_failures);
  }
  return result;
}

CampaignResult run_small(uint64_t first, uint64_t stride, int max_failures) {
  CampaignResult result;
  for (uint64_t i = first; i < oracle::small_world_count(); i += stride)
    judge_into(result, oracle::small_world(i), "small world " + std::to_string(i), max_failures);
  return result;
}

std::string fuzz_one(std::string_view text) {
  // Inputs that a fuzzer may enlarge without finding anything new.
  if (text.size() > 64 * 1024) return "";
  Result<oracle::Case> one = oracle::read_case(text);
  if (!one || one->world.nodes.size() > 16) return "";
  Result<std::unique_ptr<Contest>> contest = Contest::make(one->world);
  if (!contest) return "";
  const Decision decision = (*contest)->decide();
  std::string broken = check_reasons(**contest, decision.outcome == Outcome::kInfeasible);
  if (broken.empty()) broken = check_audit(**contest, decision, false);
  return broken;
}

}  // namespace dra::allocharness
