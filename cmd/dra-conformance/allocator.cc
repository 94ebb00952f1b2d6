// dra-conformance allocator: runs a file of allocator cases, or random worlds against the exhaustive search.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cmd/command.h"
#include "cmd/dra-conformance/lines.h"
#include "cmd/flag_values.h"
#include "pkg/api/encode.h"
#include "test/allocharness/judge.h"
#include "test/allocharness/measure.h"

namespace dra::conformance {
namespace {

using nlohmann::json;

struct AllocatorFlags {
  std::string in;
  std::string out;
  std::string strategy;
  int repeat = 0;
  uint64_t random_worlds = 0;
  uint64_t small_worlds = 0;
  uint64_t write_worlds = 0;
  uint64_t seed = 1;
  int max_failures = 5;
};

json case_line(const oracle::Case& one, const allocharness::Measurement& measured) {
  const allocator::Decision& decision = measured.decision;
  json line = {{"id", one.world.id},
               {"results", nullptr},
               {"node", measured.node},
               {"nanos", measured.nanos},
               {"coldNanos", measured.cold_nanos},
               {"steps", decision.steps}};
  if (decision.outcome == allocator::Outcome::kFeasible) {
    line["results"] = json::array();
    for (const api::AllocationResult& result : decision.results)
      line["results"].push_back(json::parse(api::encode(result)));
  } else if (decision.outcome == allocator::Outcome::kError) {
    line["error"] = decision.error ? decision.error->message() : "unusable request";
  } else if (decision.outcome == allocator::Outcome::kBudgetSpent) {
    line["error"] = "the step budget was spent before the request was decided";
  }
  return line;
}

struct Tally {
  uint64_t passed = 0;
  uint64_t failed = 0;
  void fail(const std::string& id, const std::string& why) {
    ++failed;
    std::cout << id << ": " << why << "\n";
  }
};

// False when the line could not be read.
bool run_line(const std::string& text, const AllocatorFlags& flags, std::ostream* out, Tally& tally) {
  Result<oracle::Case> one = oracle::read_case(text);
  if (!one) {
    std::cerr << "dra-conformance allocator: " << flags.in << ": " << one.error().message() << "\n";
    return false;
  }
  allocator::Options options;
  // Upstream's tables include the errors on which it gives up, and how it treats stale pools: the manager with
  // --strategy=first-fit --strict-selector-errors --stale-pool-generations.
  options.strict_selector_errors = one->world.stale_generations = flags.strategy == "first-fit";
  Result<std::unique_ptr<allocharness::Contest>> contest = allocharness::Contest::make(one->world, options);
  if (!contest) {
    std::cerr << "dra-conformance allocator: " << one->world.id << ": " << contest.error().message() << "\n";
    return false;
  }
  const allocharness::Measurement measured = allocharness::measure(**contest, flags.repeat);
  if (out) {
    *out << case_line(*one, measured).dump(-1, ' ', false, json::error_handler_t::replace) << "\n";
    return true;
  }
  std::string why = allocharness::unexpected(*one, measured.decision, measured.node);
  if (why.empty() && !measured.stable) why = "a repeated decision had another outcome";
  if (why.empty())
    ++tally.passed;
  else
    tally.fail(one->world.id, why);
  return true;
}

int run_file(const AllocatorFlags& flags) {
  std::ifstream in(locate(flags.in));
  if (!in) return cannot_read("allocator", flags.in);
  std::ofstream out;
  if (!flags.out.empty()) out.open(flags.out);
  if (!out) return cannot_write("allocator", flags.out);
  Tally tally;
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && !run_line(line, flags, flags.out.empty() ? nullptr : &out, tally)) return 2;
  if (!flags.out.empty()) return out.flush() ? 0 : cannot_write("allocator", flags.out);
  std::cout << tally.passed << " passed, " << tally.failed << " failed\n";
  return tally.failed == 0 ? 0 : 1;
}

int report(const allocharness::CampaignResult& result) {
  std::cout << result.report << result.cases - result.failures << " passed, " << result.failures << " failed ("
            << result.undecided << " too big for the oracle)\n";
  return result.failures == 0 ? 0 : 1;
}

int run_worlds(const AllocatorFlags& flags) {
  int code = 0;
  if (flags.random_worlds > 0) {
    std::cout << "random worlds from seed " << flags.seed << "\n";
    allocharness::Campaign campaign;
    campaign.first_seed = flags.seed;
    campaign.cases = flags.random_worlds;
    campaign.max_failures = flags.max_failures;
    code = report(allocharness::run_random(campaign));
  }
  if (flags.small_worlds > 0) {
    std::cout << "every " << flags.small_worlds << "th of " << oracle::small_world_count() << " small worlds\n";
    code = std::max(code, report(allocharness::run_small(0, flags.small_worlds, flags.max_failures)));
  }
  for (uint64_t i = 0; i < flags.write_worlds; ++i) {
    const oracle::World world = oracle::random_world(flags.seed + i);
    const oracle::Solution verdict = oracle::solve(world, 100'000);
    std::optional<bool> feasible;
    if (verdict.answer == oracle::Answer::kFeasible) feasible = true;
    if (verdict.answer == oracle::Answer::kInfeasible) feasible = false;
    std::cout << oracle::write_case(world, feasible) << "\n";
  }
  return code;
}

int run_allocator(const std::vector<std::string>& arguments) {
  AllocatorFlags flags;
  CLI::App app("Runs allocator cases; without --out it judges them itself.", "dra-conformance allocator");
  app.add_option("--in", flags.in, "file of cases, one JSON object a line");
  app.add_option("--out", flags.out, "file for the results, one JSON object a line");
  app.add_option("--strategy", flags.strategy, "first-fit: upstream's order, and its errors where it gives up")
      ->check(cmd::one_of({"first-fit"}));
  app.add_option("--repeat", flags.repeat, "further decisions per case, for nanos")
      ->check(cmd::in_range(0, 1'000'000, "whole number"));
  const auto count = cmd::in_range<uint64_t>(0, 1'000'000'000, "whole number");
  app.add_option("--random", flags.random_worlds, "instead of --in: compare on that many random worlds")->check(count);
  app.add_option("--small", flags.small_worlds, "instead of --in: compare on every n-th of the enumerated small worlds")
      ->check(count);
  app.add_option("--write-worlds", flags.write_worlds, "instead of --in: print that many random worlds as cases")
      ->check(count);
  app.add_option("--seed", flags.seed, "first seed of the random worlds");
  app.add_option("--max-failures", flags.max_failures, "differing worlds to shrink and show")->check(count);
  if (const auto code = cmd::parse_or_exit(app, arguments)) return *code;
  const bool worlds = flags.random_worlds > 0 || flags.small_worlds > 0 || flags.write_worlds > 0;
  if (worlds == !flags.in.empty()) {
    std::cerr << "dra-conformance allocator: give either --in FILE or one of --random, --small and --write-worlds\n";
    return 2;
  }
  return worlds ? run_worlds(flags) : run_file(flags);
}

const cmd::RegisterCommand kAllocator("allocator", "device allocation cases", &run_allocator);

}  // namespace
}  // namespace dra::conformance
