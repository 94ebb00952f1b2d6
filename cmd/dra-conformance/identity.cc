// dra-conformance identity: runs a file of cases of devices that are one piece of silicon under several names.
#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "cmd/command.h"
#include "cmd/dra-conformance/lines.h"
#include "cmd/flag_values.h"
#include "pkg/api/encode.h"
#include "pkg/identity/record.h"
#include "pkg/inventory/device_index.h"
#include "test/allocharness/contest.h"
#include "test/oracle/checker.h"

namespace dra::conformance {
namespace {

using nlohmann::json;
using Time = std::chrono::steady_clock;

struct IdentityFlags {
  std::string in, out, strategy;
};

// What the case's line says, and what is wrong with it ("": nothing).
struct IdentityAnswer {
  std::string id;
  json line;
  std::string wrong;
};

bool is_record(const api::DeviceAllocationConfiguration& entry) {
  return entry.source == "FromClass" && entry.opaque && entry.opaque->driver == identity::kRecordDriver;
}

class IdentityRun {
 public:
  IdentityRun(const std::string& text, const IdentityFlags& flags) : source_(json::parse(text)) {
    Result<oracle::Case> read = oracle::read_case(text);
    if (!read) throw std::runtime_error(read.error().message());
    case_ = std::move(*read);
    allocator::Options options;
    if (flags.strategy == "best-fit") options.strategy = allocator::Strategy::kBestFit;
    auto made = allocharness::Contest::make(case_.world, options);
    if (!made) throw std::runtime_error(made.error().message());
    contest_ = std::move(*made);
  }

  IdentityAnswer run() {
    line_ = {{"id", case_.world.id}, {"results", nullptr}, {"node", ""}, {"records", json::array()}};
    const Time::time_point start = Time::now();
    decide();
    line_["nanos"] = std::chrono::duration_cast<std::chrono::nanoseconds>(Time::now() - start).count();
    if (found_.outcome == allocator::Outcome::kFeasible) {
      write_results();
    } else if (found_.outcome == allocator::Outcome::kInfeasible) {
      write_reasons();
    } else {
      line_["error"] = found_.error ? found_.error->message() : std::string(outcome_name(found_.outcome));
    }
    write_findings();
    return {case_.world.id, line_, judge()};
  }

 private:
  // As the manager does it: an attempt without an answer is repeated, with a larger budget each time.
  void decide() {
    constexpr int kAttempts = 8;
    for (int i = 0; i < kAttempts; ++i) {
      found_ = contest_->allocator().find_nodes(contest_->request(), contest_->nodes(), 1);
      if (found_.outcome != allocator::Outcome::kBudgetSpent && found_.outcome != allocator::Outcome::kUnfinished)
        return;
    }
  }

  void write_results() {
    const allocator::Decision& decision = found_.decisions.at(0);
    line_["node"] = contest_->inventory().node_name(decision.node);
    line_["results"] = json::array();
    for (api::AllocationResult result : decision.results) {
      json records = json::object();
      for (const api::DeviceAllocationConfiguration& entry : result.config)
        if (is_record(entry)) records.update(json::parse(entry.opaque->parameters_json).at("devices"));
      line_["records"].push_back(std::move(records));
      std::erase_if(result.config, is_record);
      line_["results"].push_back(json::parse(api::encode(result)));
    }
  }

  void write_reasons() {
    const allocator::SiliconReasons reasons =
        contest_->allocator().silicon_reasons(contest_->request(), contest_->nodes());
    for (const auto& one : reasons.same)
      line_["same"].push_back({{"device", one.device}, {"holder", one.holder}, {"value", one.value}});
    for (const auto& one : reasons.plugin)
      line_["plugin"].push_back(
          {{"node", one.node}, {"driver", one.driver}, {"resource", contest_->plugins().at(one.node).at(one.driver)}});
  }

  void write_findings() {
    const inventory::Silicon::Findings findings = contest_->inventory().device_index().silicon().findings();
    for (const auto& [device, attribute] : findings.malformed)
      line_["malformed"].push_back(device.text() + " " + attribute);
    for (const inventory::DeviceName& device : findings.changed) line_["changed"].push_back(device.text());
    for (const inventory::DeviceName& device : findings.unknown) line_["unknown"].push_back(device.text());
  }

  std::string judge() const {
    if (line_.contains("error")) return line_["error"].get<std::string>();
    const json expect = source_.value("expect", json::object());
    const bool feasible = found_.outcome == allocator::Outcome::kFeasible;
    if (expect.value("feasible", feasible) != feasible)
      return feasible ? "an allocation, where none is possible" : "no allocation, where one is possible";
    if (feasible) {
      const std::string broken =
          oracle::broken_rule(case_.world, line_["node"].get<std::string>(), found_.decisions.at(0).results);
      if (!broken.empty()) return broken;
    }
    for (const char* list : {"malformed", "changed", "unknown", "same", "plugin"}) {
      const json ours = line_.value(list, json::array()), theirs = expect.value(list, json::array());
      if (std::set<json>(ours.begin(), ours.end()) != std::set<json>(theirs.begin(), theirs.end()))
        return std::string(list) + ": " + ours.dump() + " instead of " + theirs.dump();
    }
    return "";
  }

  const json source_;
  oracle::Case case_;
  std::unique_ptr<allocharness::Contest> contest_;
  allocator::FoundNodes found_;
  json line_;
};

int run_identity(const std::vector<std::string>& arguments) {
  IdentityFlags flags;
  CLI::App app("Runs cases of devices that are one piece of silicon; without --out it judges them itself.",
               "dra-conformance identity");
  app.add_option("--in", flags.in, "file of cases, one JSON object a line; may be compressed with gzip")->required();
  app.add_option("--out", flags.out, "file for the results, one JSON object a line");
  app.add_option("--strategy", flags.strategy, "how devices are chosen (default first-fit)")
      ->check(cmd::one_of({"first-fit", "best-fit"}));
  if (const auto code = cmd::parse_or_exit(app, arguments)) return *code;
  std::ofstream out;
  if (!flags.out.empty()) out.open(flags.out);
  if (!out) return cannot_write("identity", flags.out);
  uint64_t passed = 0, failed = 0;
  const auto one = [&](const std::string& text) {
    const IdentityAnswer answer = IdentityRun(text, flags).run();
    if (!flags.out.empty()) {
      out << answer.line.dump(-1, ' ', false, json::error_handler_t::replace) << "\n";
    } else if (answer.wrong.empty()) {
      ++passed;
    } else {
      ++failed;
      std::cout << answer.id << ": " << answer.wrong << "\n";
    }
  };
  try {
    if (!each_line(locate(flags.in), one)) return cannot_read("identity", flags.in);
  } catch (const std::exception& error) {
    std::cerr << "dra-conformance identity: " << flags.in << ": " << error.what() << "\n";
    return 2;
  }
  if (!flags.out.empty()) return out.flush() ? 0 : cannot_write("identity", flags.out);
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}

const cmd::RegisterCommand kIdentity("identity", "cases of devices that are one piece of silicon", &run_identity);

}  // namespace
}  // namespace dra::conformance
