// allocator_bench: our time per decision beside upstream's recorded one.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "test/allocharness/judge.h"
#include "test/allocharness/measure.h"

namespace {

using nlohmann::json;

// The limits: warm, a feasible decision on one node is at least 20 times faster than upstream's; others take at most 1
// ms, over many nodes 50 us. Cold: 5 ms and 50 ms.
constexpr double kRatioBar = 20;
constexpr double kWarmBarMicros = 1000;
constexpr double kWarmBarMicrosManyNodes = 50;
constexpr double kColdBarMicros = 5000;
constexpr double kColdBarMicrosManyNodes = 50000;

struct Row {
  std::string id;
  std::string outcome;
  double cold_micros = 0;
  double micros = 0;
  double upstream_micros = 0;
  bool upstream_timed_out = false;
  double ratio = 0;
  uint64_t steps = 0;
  std::string missed;  // which limit or expectation was missed; "" if none
};

std::string missed_bars(const Row& row, const dra::oracle::Case& one, const dra::allocharness::Measurement& measured) {
  std::string why = dra::allocharness::unexpected(one, measured.decision, measured.node);
  if (!why.empty()) return why;
  if (!measured.stable) return "a repeated decision had another outcome";
  const bool many_nodes = one.world.nodes.size() > 1;
  const bool feasible = measured.decision.outcome == dra::allocator::Outcome::kFeasible;
  if (many_nodes && row.micros > kWarmBarMicrosManyNodes) return "warm: more than 50 us";
  if (!many_nodes && feasible && !row.upstream_timed_out && row.ratio < kRatioBar) return "warm: ratio below 20";
  if (!many_nodes && (!feasible || row.upstream_timed_out) && row.micros > kWarmBarMicros)
    return "warm: more than 1 ms";
  if (row.cold_micros > (many_nodes ? kColdBarMicrosManyNodes : kColdBarMicros)) return "cold: too slow";
  return "";
}

dra::Result<Row> run_line(const std::string& text, int repeat) {
  dra::Result<dra::oracle::Case> one = dra::oracle::read_case(text);
  if (!one) return dra::fail(one.error());
  auto contest = dra::allocharness::Contest::make(one->world);
  if (!contest) return dra::fail(contest.error());
  const dra::allocharness::Measurement measured = dra::allocharness::measure(**contest, repeat);
  Row row;
  row.id = one->world.id;
  row.outcome = dra::allocator::outcome_name(measured.decision.outcome);
  row.cold_micros = static_cast<double>(measured.cold_nanos) / 1000;
  row.micros = static_cast<double>(measured.nanos) / 1000;
  row.steps = measured.decision.steps;
  if (!one->upstream_json.empty()) {
    const json upstream = json::parse(one->upstream_json, nullptr, false);
    row.upstream_micros = upstream.value("microseconds", 0.0);
    row.upstream_timed_out = upstream.value("timedOut", false);
    if (row.micros > 0) row.ratio = row.upstream_micros / row.micros;
  }
  row.missed = missed_bars(row, *one, measured);
  return row;
}

void print_table(const std::vector<Row>& rows) {
  std::printf("%-36s %-11s %11s %11s %13s %9s  %s\n", "case", "outcome", "cold us", "warm us", "upstream us", "ratio",
              "missed");
  for (const Row& row : rows)
    std::printf("%-36s %-11s %11.1f %11.2f %12.1f%s %8.0fx  %s\n", row.id.c_str(), row.outcome.c_str(), row.cold_micros,
                row.micros, row.upstream_micros, row.upstream_timed_out ? "+" : " ", row.ratio, row.missed.c_str());
}

void print_json(const std::vector<Row>& rows) {
  json out = json::array();
  for (const Row& row : rows)
    out.push_back({{"id", row.id},
                   {"outcome", row.outcome},
                   {"coldMicroseconds", row.cold_micros},
                   {"microseconds", row.micros},
                   {"upstreamMicroseconds", row.upstream_micros},
                   {"upstreamTimedOut", row.upstream_timed_out},
                   {"ratio", row.ratio},
                   {"steps", row.steps},
                   {"missed", row.missed}});
  std::cout << out.dump(2) << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times allocator cases and compares with what was recorded of upstream.", "allocator_bench");
  std::string in;
  int repeat = 101;
  bool as_json = false;
  app.add_option("--in", in, "file of cases, one JSON object a line")->required();
  app.add_option("--repeat", repeat, "warm decisions a case")->check(CLI::Range(1, 1'000'000));
  app.add_flag("--json", as_json, "JSON instead of a table");
  CLI11_PARSE(app, argc, argv);
  std::ifstream file(in);
  if (!file) {
    std::cerr << "allocator_bench: cannot read " << in << "\n";
    return 2;
  }
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    dra::Result<Row> row = run_line(line, repeat);
    if (!row) {
      std::cerr << "allocator_bench: " << row.error().message() << "\n";
      return 2;
    }
    rows.push_back(std::move(*row));
  }
  as_json ? print_json(rows) : print_table(rows);
  for (const Row& row : rows)
    if (!row.missed.empty()) return 1;
  return 0;
}
