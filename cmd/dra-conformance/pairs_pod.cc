// dra-conformance pairs: lines with a pod.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cmd/dra-conformance/pairs_lines.h"
#include "pkg/alignment/pod_pairs.h"
#include "pkg/api/decode/decode.h"
#include "pkg/api/encode.h"
#include "test/allocharness/contest.h"
#include "test/oracle/checker.h"
#include "test/oracle/objective.h"
#include "test/oracle/pairs.h"

namespace dra::conformance {
namespace {

using nlohmann::json;
using Time = std::chrono::steady_clock;

struct PodCase {
  oracle::World world;  // its claims are those that are not allocated
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  api::StringMap annotations;
  std::vector<alignment::ClaimName> names;
  json expect;
};

PodCase read_pod_case(const std::string& text) {
  const json source = json::parse(text);
  Result<oracle::Case> read = oracle::read_case(text);
  if (!read) throw std::runtime_error(read.error().message());
  PodCase out;
  out.world = std::move(read->world);
  out.expect = source.value("expect", json::object());
  for (const api::ResourceClaim& claim : out.world.claims)
    out.claims.push_back(std::make_shared<const api::ResourceClaim>(claim));
  std::erase_if(out.world.claims, [](const api::ResourceClaim& claim) { return claim.status.allocation.has_value(); });
  const auto number_of = [&](const std::string& name) {
    const auto found = std::find_if(out.claims.begin(), out.claims.end(),
                                    [&](const auto& claim) { return claim->metadata.name == name; });
    return static_cast<uint32_t>(found - out.claims.begin());
  };
  if (!source.contains("pod")) {
    for (uint32_t c = 0; c < out.claims.size(); ++c) out.names.push_back({out.claims[c]->metadata.name, c});
    return out;
  }
  Result<api::Pod> pod = api::decode<api::Pod>(source["pod"].dump());
  if (!pod) throw std::runtime_error("pod: " + pod.error().message());
  out.annotations = pod->metadata.annotations;
  for (const api::PodResourceClaim& claim : pod->resource_claims)
    if (claim.resource_claim_name)
      if (const uint32_t number = number_of(*claim.resource_claim_name); number < out.claims.size())
        out.names.push_back({claim.name, number});
  return out;
}

class PodRun {
 public:
  PodRun(const PodCase& one, const PairsFlags& flags) : case_(one), flags_(flags) {}

  PairsAnswer run() {
    std::vector<const api::ResourceClaim*> claims;
    for (const auto& claim : case_.claims) claims.push_back(claim.get());
    const alignment::PodPairs read = alignment::read_pod_pairs(case_.annotations, claims, case_.names);
    line_ = {{"id", case_.world.id}, {"results", nullptr}, {"node", ""}, {"nanos", 0}, {"coldNanos", 0}, {"steps", 0}};
    if (read.refusal) {
      line_["refused"] = alignment::kind_name(read.refusal->kind);
      return answer();
    }
    decide(read.entries);
    return answer();
  }

 private:
  void decide(const std::vector<alignment::PairEntry>& entries) {
    allocator::Options options;
    options.strategy = flags_.strategy;
    auto made = allocharness::Contest::make(case_.world, options);
    if (!made) throw std::runtime_error(made.error().message());
    allocharness::Contest& contest = **made;
    request_ = contest.request();
    request_.pairs = allocator::pair_rules(entries, case_.claims);
    Time::time_point start = Time::now();
    found_ = attempt(contest);
    line_["coldNanos"] = line_["nanos"] = nanos_since(start);
    line_["steps"] = found_.steps;
    std::vector<int64_t> times;
    for (int i = 0; i < flags_.repeat; ++i) {
      contest.disturb(found_.decisions.empty() ? inventory::kNone : found_.decisions[0].node);
      start = Time::now();
      stable_ = stable_ && attempt(contest).outcome == found_.outcome;
      times.push_back(nanos_since(start));
    }
    if (!times.empty()) {
      std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
      line_["nanos"] = times[times.size() / 2];
    }
    write(contest);
  }

  // As the manager does it: an attempt without an answer is repeated, with a larger budget each time.
  allocator::FoundNodes attempt(allocharness::Contest& contest) {
    constexpr int kAttempts = 8;
    allocator::FoundNodes found;
    for (int i = 0; i < kAttempts; ++i) {
      found = contest.allocator().find_nodes(request_, contest.nodes(), 1);
      if (found.outcome != allocator::Outcome::kBudgetSpent && found.outcome != allocator::Outcome::kUnfinished) break;
    }
    return found;
  }

  void write(allocharness::Contest& contest) {
    switch (found_.outcome) {
      case allocator::Outcome::kFeasible: {
        const allocator::Decision& decision = found_.decisions.at(0);
        node_ = contest.inventory().node_name(decision.node);
        line_["node"] = node_;
        line_["results"] = json::array();
        size_t next = 0;
        for (const auto& claim : case_.claims)
          line_["results"].push_back(claim->status.allocation ? json()
                                                              : json::parse(api::encode(decision.results.at(next++))));
        return;
      }
      case allocator::Outcome::kError:
        line_["error"] = found_.error ? found_.error->message() : "unusable request";
        return;
      case allocator::Outcome::kInfeasible: {
        const allocator::Reasons reasons = contest.allocator().explain(request_, contest.nodes());
        for (const allocator::PairShort& one : reasons.short_of_pairs)
          line_["short"].push_back({{"node", contest.inventory().node_name(one.node)},
                                    {"entry", one.entry},
                                    {"has", one.has},
                                    {"asked", one.asked}});
        return;
      }
      default:
        line_["error"] = "the step budget was spent before the request was decided";
    }
  }

  static int64_t nanos_since(Time::time_point start) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Time::now() - start).count();
  }

  std::string judge() const {
    if (line_.contains("error")) return line_["error"];
    if (!stable_) return "a repeated decision had another outcome";
    const json refused = case_.expect.value("refused", json());
    if (line_.value("refused", json()) != refused)
      return "expected refused " + refused.dump() + ", got " + line_.value("refused", json()).dump();
    const bool feasible = !line_["results"].is_null();
    if (case_.expect.contains("feasible") && case_.expect["feasible"] != feasible)
      return std::string("expected ") + (feasible ? "infeasible" : "feasible");
    if (feasible) return broken();
    if (!case_.expect.contains("short")) return "";
    const auto sorted = [](json list) {
      std::sort(list.begin(), list.end());
      return list;
    };
    const json expected = sorted(case_.expect["short"]), got = sorted(line_.value("short", json::array()));
    return got == expected ? "" : "expected short " + expected.dump() + ", got " + got.dump();
  }

  std::string broken() const {
    const std::vector<api::AllocationResult>& results = found_.decisions.at(0).results;
    if (std::string rule = oracle::broken_rule(case_.world, node_, results); !rule.empty())
      return "the result is not valid: " + rule;
    for (const api::Node& node : case_.world.nodes) {
      if (node.metadata.name != node_) continue;
      const oracle::Scene scene = oracle::build_scene(case_.world, node);
      return oracle::broken_pairs(scene, oracle::picks_of(scene, results), request_.pairs);
    }
    return "there is no node " + node_;
  }

  PairsAnswer answer() const {
    PairsAnswer out;
    out.id = case_.world.id;
    out.line = line_.dump(-1, ' ', false, json::error_handler_t::replace);
    if (flags_.out.empty()) out.why = judge();
    return out;
  }

  const PodCase& case_;
  const PairsFlags& flags_;
  allocator::Request request_;
  allocator::FoundNodes found_;
  std::string node_;
  bool stable_ = true;
  json line_;
};

}  // namespace

PairsAnswer run_pod_line(const std::string& text, const PairsFlags& flags) {
  const PodCase one = read_pod_case(text);
  return PodRun(one, flags).run();
}

}  // namespace dra::conformance
