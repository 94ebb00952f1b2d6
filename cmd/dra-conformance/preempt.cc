// dra-conformance preempt, defrag: which pods must go, or move, so that pending pods fit.
#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cmd/command.h"
#include "cmd/dra-conformance/lines.h"
#include "cmd/dra-conformance/preempt_case.h"
#include "cmd/dra-conformance/preempt_judge.h"
#include "pkg/api/encode.h"

namespace dra::conformance {
namespace {

using nlohmann::json;

struct PreemptFlags {
  std::string in;
  std::string out;
  int64_t budget_ms = 0;
  uint64_t every = 1;
};

json answer_line(const PreemptCase& one, const preempt::Answer& answer, int64_t nanos) {
  json line = {{"id", one.id}, {"verdict", verdict_name(answer.verdict, one.moves)}, {"nanos", nanos}};
  json pods = json::array();
  for (const uint32_t pod : answer.pods) pods.push_back(one.world->pods[pod].object->metadata.key());
  if (answer.verdict == preempt::Verdict::kUndecided) {
    if (!pods.empty()) line["best"] = pods;
    return line;
  }
  line[one.moves ? "moves" : "victims"] = pods;
  if (answer.verdict == preempt::Verdict::kNever) return line;
  line["placements"] = answer.placements;
  line["allocations"] = json::object();
  for (const auto& [claim, allocation] : answer.allocations)
    line["allocations"][claim] = json::parse(api::encode(allocation));
  return line;
}

int run_preempt_file(const char* command, const PreemptFlags& flags) {
  std::ofstream out;
  if (!flags.out.empty()) out.open(flags.out);
  if (!out) return cannot_write(command, flags.out);
  SystemClock clock;
  preempt::Options options;
  if (flags.budget_ms > 0) {
    options.clock = &clock;
    options.time = std::chrono::milliseconds(flags.budget_ms);
  }
  uint64_t passed = 0, failed = 0, number = 0;
  std::vector<int64_t> times;
  const bool read = each_line(locate(flags.in), [&](const std::string& text) {
    if (number++ % flags.every != 0) return;
    PreemptCase one(text);
    const auto start = std::chrono::steady_clock::now();
    const preempt::Answer answer =
        one.moves ? preempt::who_must_move(*one.world, options) : preempt::who_must_go(*one.world, options);
    const int64_t nanos = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    times.push_back(nanos);
    if (!flags.out.empty()) {
      out << answer_line(one, answer, nanos).dump() << "\n";
      return;
    }
    const std::string why = wrong_with(one, answer);
    ++(why.empty() ? passed : failed);
    if (!why.empty()) std::cout << one.id << ": " << why << "\n";
  });
  if (!read) return cannot_read(command, flags.in);
  if (!flags.out.empty()) return out.flush() ? 0 : cannot_write(command, flags.out);
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return times.empty()
               ? 0.0
               : static_cast<double>(times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))]) / 1e6;
  };
  std::cout << "median " << at(0.5) << " ms, p99 " << at(0.99) << " ms, longest " << at(1) << " ms\n";
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}

int run_preempt_command(const char* command, const char* summary, const std::vector<std::string>& arguments) {
  PreemptFlags flags;
  CLI::App app(summary, std::string("dra-conformance ") + command);
  app.add_option("--in", flags.in, "file of cases, one JSON object a line; gzip is read, too")->required();
  app.add_option("--out", flags.out, "write the answers here, one a line; without it they are judged");
  app.add_option("--budget", flags.budget_ms, "the longest time for one case, in milliseconds; beyond it: undecided")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--every", flags.every, "only every Nth case, from the first on")->check(CLI::PositiveNumber);
  if (const auto code = cmd::parse_or_exit(app, arguments)) return *code;
  return run_preempt_file(command, flags);
}

int run_preempt(const std::vector<std::string>& arguments) {
  return run_preempt_command("preempt", "Finds the least victims for pods that do not fit", arguments);
}

int run_defrag(const std::vector<std::string>& arguments) {
  return run_preempt_command("defrag", "Finds the least moves for pods that do not fit", arguments);
}

const cmd::RegisterCommand kPreempt("preempt", "finds the least victims for pods that do not fit", &run_preempt);
const cmd::RegisterCommand kDefrag("defrag", "finds the least moves for pods that do not fit", &run_defrag);

}  // namespace
}  // namespace dra::conformance
