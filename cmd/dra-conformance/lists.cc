#include "cmd/dra-conformance/lists.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>

#include "cmd/command.h"
#include "cmd/flag_values.h"
#include "pkg/placement/decide.h"

namespace dra::conformance {

std::optional<int> parse_list_flags(const std::vector<std::string>& arguments, const char* name, const char* summary,
                                    ListFlags& flags, bool moves) {
  std::string strategy(strategy_name(flags.strategy));
  CLI::App app(summary, name);
  app.add_option("--in", flags.in, "list of events, one a line; gzip is read, too")->required();
  app.add_option("--out", flags.out, "write placements here, one a line");
  app.add_option("--strategy", strategy, "how node and devices are chosen")
      ->check(cmd::one_of({"first-fit", "best-fit", "pack", "spread"}));
  if (moves) {
    CLI::Option* moving = app.add_flag("--moves", flags.moves, "running asks may move, in the limits of batches");
    app.add_option("--total", flags.total, "moved partitions are at most this share of the admitted ones")
        ->check(CLI::Range(0.0, 1.0))
        ->needs(moving);
  }
  if (const auto code = cmd::parse_or_exit(app, arguments)) return *code;
  flags.strategy = *allocator::parse_strategy(strategy);
  return std::nullopt;
}

namespace {

allocator::Options options_with(allocator::Strategy strategy) {
  allocator::Options options;
  options.strategy = strategy;
  return options;
}

}  // namespace

Fleet::Fleet(const inventory::Features& features, allocator::Strategy strategy)
    : inventory_(features), allocator_(inventory_, options_with(strategy), random_) {}

void Fleet::add_node(const std::string& name, int64_t cpu_milli, int64_t memory_mib) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = name;
  node->allocatable = {{"cpu", std::to_string(cpu_milli) + "m"},
                       {"memory", std::to_string(memory_mib) + "Mi"},
                       {"pods", "100000"}};  // the lists have no limit of pods
  cluster_.set_node(node);
  const inventory::NodeId id = inventory_.apply_node(name, {});
  const placement::NodeIndex index = *cluster_.find_node(name);
  if (ids_.size() <= index) ids_.resize(index + 1);
  ids_[index] = id;
}

std::optional<Fleet::Placed> Fleet::place(const api::Pod& pod, std::shared_ptr<const api::ResourceClaim> claim) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<Placed> placed = decide(pod, std::move(claim));
  nanos_.push_back(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  return placed;
}

std::optional<Fleet::Placed> Fleet::decide(const api::Pod& pod, std::shared_ptr<const api::ResourceClaim> claim) {
  const Result<placement::PodNeeds> needs = placement::PodNeeds::of(pod);
  if (!needs) throw std::runtime_error(needs.error().message());
  placement::DecisionOptions options;
  options.volumes = placement::Volumes::kIgnored;
  // First-fit means the first node by name, not the one that kube-scheduler scores highest.
  options.preferences_only = true;
  const placement::Decision decision = placement::decide(cluster_, *needs, options);
  std::vector<inventory::NodeId> order;
  std::vector<allocator::NodeFacts> facts;
  order.reserve(decision.nodes.size());
  facts.reserve(decision.nodes.size());
  for (const placement::RankedNode& node : decision.nodes) {
    order.push_back(ids_[node.node]);
    facts.push_back({cluster_.row(node.node).cpu - cluster_.row(node.node).used_cpu, node.preferred});
  }
  allocator::Request request;
  if (claim) request.claims.push_back(claim);
  request.cpu_milli = needs->charge().cpu;
  request.facts = facts;
  allocator::FoundNodes found = allocator_.find_nodes(request, order, 1);
  if (found.outcome == allocator::Outcome::kError) throw std::runtime_error(found.error->message());
  if (found.outcome != allocator::Outcome::kFeasible) {
    undecided_ += found.outcome != allocator::Outcome::kInfeasible;
    return std::nullopt;
  }
  const allocator::Decision& best = found.decisions.front();
  Placed placed;
  placed.node = inventory_.node_name(best.node);
  if (claim) {
    placed.devices = best.results.front();
    inventory_.assume(claim->metadata.uid, placed.devices);
  }
  cluster_.set_pod(pod, placed.node, true);
  return placed;
}

void Fleet::put(const api::Pod& pod, const std::string& node, const api::AllocationResult& devices) {
  inventory_.assume(pod.metadata.uid, devices);
  cluster_.set_pod(pod, node, true);
}

void Fleet::remove(const std::string& pod_uid) {
  inventory_.forget(pod_uid);
  cluster_.remove_pod(pod_uid);
}

int64_t Fleet::percentile(double share) const {
  if (nanos_.empty()) return 0;
  std::vector<int64_t> sorted = nanos_;
  const auto at = static_cast<size_t>(share * static_cast<double>(sorted.size() - 1));
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(at), sorted.end());
  return sorted[at];
}

}  // namespace dra::conformance
