// dra-conformance pairs: pairs of devices in a pod, and the same rails for the members of a group.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cmd/command.h"
#include "cmd/dra-conformance/lines.h"
#include "cmd/dra-conformance/pairs_lines.h"
#include "cmd/flag_values.h"

namespace dra::conformance {
namespace {

int run_pairs(const std::vector<std::string>& arguments) {
  PairsFlags flags;
  std::string strategy(strategy_name(flags.strategy));
  CLI::App app("Runs cases of pairs and rails; without --out it judges them itself.", "dra-conformance pairs");
  app.add_option("--in", flags.in, "file of cases, one JSON object a line; gzip is read, too")->required();
  app.add_option("--out", flags.out, "file for the results, one JSON object a line");
  app.add_option("--strategy", strategy, "how node and devices are chosen")
      ->check(cmd::one_of({"first-fit", "best-fit"}));
  app.add_option("--repeat", flags.repeat, "further decisions per case, for nanos")
      ->check(cmd::in_range(0, 1'000'000, "whole number"));
  if (const auto code = cmd::parse_or_exit(app, arguments)) return *code;
  flags.strategy = *allocator::parse_strategy(strategy);
  std::ofstream out;
  if (!flags.out.empty()) out.open(flags.out);
  if (!out) return cannot_write("pairs", flags.out);
  uint64_t passed = 0, failed = 0;
  const bool read = each_line(locate(flags.in), [&](const std::string& text) {
    const bool group = nlohmann::json::parse(text).contains("members");
    const PairsAnswer answer = group ? run_group_line(text, flags) : run_pod_line(text, flags);
    if (out.is_open()) {
      out << answer.line << "\n";
      return;
    }
    ++(answer.why.empty() ? passed : failed);
    if (!answer.why.empty()) std::cout << answer.id << ": " << answer.why << "\n";
  });
  if (!read) return cannot_read("pairs", flags.in);
  if (!flags.out.empty()) return out.flush() ? 0 : cannot_write("pairs", flags.out);
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}

const cmd::RegisterCommand kPairs("pairs", "pairs of devices in a pod, and rails of a group", &run_pairs);

}  // namespace
}  // namespace dra::conformance
