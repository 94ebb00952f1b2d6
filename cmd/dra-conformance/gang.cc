// dra-conformance gang: groups of pods that arrive, wait and depart, each placed as a whole or not at all.
//
// The list (docs/user/strategies.md has its format) is in simulated time: each event has a time in seconds. A group
// that does not fit waits; after each departure the waiting groups are tried again, oldest first.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cmd/command.h"
#include "cmd/dra-conformance/gang_fleet.h"
#include "cmd/dra-conformance/lines.h"
#include "cmd/dra-conformance/lists.h"

namespace dra::conformance {
namespace {

using nlohmann::json;

constexpr const char* kGangHelp =
    "Places groups of pods together. The list has one JSON object a line:\n"
    R"(  {"nodes": [{"name": "n0", "labels": {"rack": "r1"}, "cpuMilli": 64000, "memoryMib": 262144, "gpus": 8, "model": "a100"}]})"
    "\n"
    R"(  {"op": "group", "at": 0, "name": "g", "minCount": 4, "levels": ["spine", "rack"], "required": "spine", "preferred": "rack",)"
    "\n"
    R"(   "members": [{"name": "worker", "count": 4, "gpus": 1, "models": ["a100"], "cpuMilli": 1000, "memoryMib": 1024}]})"
    "\n"
    R"(  {"op": "depart", "at": 60, "name": "g"})"
    "\n"
    "All but name, op, count and gpus may be missing; minCount is then all members.";

std::optional<uint32_t> gang_level(const json& event, const char* which, const std::vector<std::string>& levels) {
  if (!event.contains(which)) return std::nullopt;
  const std::string key = event.at(which).get<std::string>();
  const auto at = std::find(levels.begin(), levels.end(), key);
  if (at == levels.end()) throw std::runtime_error(std::string(which) + " level " + key + " is not among levels");
  return static_cast<uint32_t>(at - levels.begin());
}

FleetGroup gang_group(const json& event) {
  FleetGroup group;
  group.name = event.at("name").get<std::string>();
  uint32_t all = 0;
  for (const json& one : event.at("members")) {
    FleetMembers& members = group.members.emplace_back();
    members.name = one.at("name").get<std::string>();
    members.count = one.at("count").get<int>();
    members.gpus = one.at("gpus").get<int>();
    members.models = one.value("models", std::vector<std::string>());
    members.cpu_milli = one.value("cpuMilli", int64_t{0});
    members.memory_mib = one.value("memoryMib", int64_t{0});
    if (members.count < 0 || members.count > 100'000) throw std::runtime_error("count is not between 0 and 100000");
    all += static_cast<uint32_t>(members.count);
  }
  group.min_count = event.value("minCount", all);
  group.topology.levels = event.value("levels", std::vector<std::string>());
  group.topology.required = gang_level(event, "required", group.topology.levels);
  group.topology.preferred = gang_level(event, "preferred", group.topology.levels);
  return group;
}

class GangRun {
 public:
  GangRun(allocator::Strategy strategy, std::ostream* out) : fleet_(strategy), out_(out) {}

  void event(const json& line) {
    if (line.contains("nodes")) return add_nodes(line["nodes"]);
    now_ = line.value("at", now_);
    if (line.at("op") == "depart") return depart(line.at("name").get<std::string>());
    if (line.at("op") != "group") throw std::runtime_error("op is neither group nor depart");
    ++groups_;
    waiting_.push_back({gang_group(line), now_});
    if (attempt(waiting_.back())) waiting_.pop_back();
  }

  json summary() const {
    return {{"groups", groups_},
            {"placed", placed_},
            {"waiting", waiting_.size()},
            {"undecided", undecided_},
            {"attempts", attempts_},
            {"meanWaitSeconds", placed_ == 0 ? 0.0 : waited_ / static_cast<double>(placed_)},
            {"maxMillis", static_cast<double>(longest_) / 1e6}};
  }

 private:
  struct WaitingGroup {
    FleetGroup group;
    double since = 0;
  };

  void add_nodes(const json& nodes) {
    for (const json& one : nodes) {
      FleetNode node;
      node.name = one.at("name").get<std::string>();
      node.labels = one.value("labels", api::StringMap());
      node.cpu_milli = one.value("cpuMilli", int64_t{1'000'000'000});
      node.memory_mib = one.value("memoryMib", int64_t{1'000'000'000});
      node.gpus = one.value("gpus", 0);
      node.model = one.value("model", std::string());
      fleet_.add_node(node);
    }
  }

  void depart(const std::string& name) {
    fleet_.remove(name);
    std::erase_if(waiting_, [&](const WaitingGroup& one) { return one.group.name == name; });
    std::erase_if(waiting_, [&](const WaitingGroup& one) { return attempt(one); });
  }

  // True: the group is placed.
  bool attempt(const WaitingGroup& waiting) {
    const auto start = std::chrono::steady_clock::now();
    const gang::Decision decision = fleet_.place(waiting.group);
    longest_ = std::max<int64_t>(longest_, std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
    ++attempts_;
    undecided_ += decision.outcome == allocator::Outcome::kBudgetSpent;
    const bool found = decision.outcome == allocator::Outcome::kFeasible;
    if (found) {
      ++placed_;
      waited_ += now_ - waiting.since;
    }
    if (out_ != nullptr) write(waiting.group.name, decision);
    return found;
  }

  void write(const std::string& group, const gang::Decision& decision) {
    json line = {{"at", now_}, {"name", group}, {"outcome", std::string(gang::group_outcome_name(decision.outcome))}};
    if (decision.outcome == allocator::Outcome::kFeasible) {
      if (!decision.domain.empty()) line["domain"] = decision.domain;
      line["members"] = json::array();
      for (const gang::Placed& placed : decision.members) {
        const std::string& pod = fleet_.pod_name(group, placed.member);
        json member = {{"name", pod}, {"node", fleet_.node_name(placed.node)}, {"gpus", json::array()}};
        for (const gang::ClaimResult& one : decision.claims)
          if (one.claim->metadata.uid == pod)
            for (const auto& device : one.result.results) member["gpus"].push_back(std::stoi(device.device.substr(4)));
        line["members"].push_back(std::move(member));
      }
    } else {
      line["reason"] = decision.error ? decision.error->message() : decision.reason;
      line["never"] = decision.never;
    }
    *out_ << line.dump() << "\n";
  }

  GangFleet fleet_;
  std::ostream* out_;
  std::vector<WaitingGroup> waiting_;  // oldest first
  double now_ = 0;
  double waited_ = 0;
  uint64_t groups_ = 0, placed_ = 0, undecided_ = 0, attempts_ = 0;
  int64_t longest_ = 0;
};

int run_gang(const std::vector<std::string>& arguments) {
  ListFlags flags;
  if (const auto code = parse_list_flags(arguments, "dra-conformance gang", kGangHelp, flags)) return *code;
  std::ofstream out;
  if (!flags.out.empty()) out.open(flags.out);
  if (!out) return cannot_write("gang", flags.out);
  GangRun run(flags.strategy, out.is_open() ? &out : nullptr);
  const bool read = each_line(locate(flags.in), [&](const std::string& text) { run.event(json::parse(text)); });
  if (!read) return cannot_read("gang", flags.in);
  if (!flags.out.empty() && !out.flush()) return cannot_write("gang", flags.out);
  json summary = run.summary();
  summary["strategy"] = strategy_name(flags.strategy);
  std::cout << summary.dump() << "\n";
  return 0;
}

const cmd::RegisterCommand kGang("gang", "places groups of pods together, that come, wait and depart", &run_gang);

}  // namespace
}  // namespace dra::conformance
