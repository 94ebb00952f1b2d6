#include "test/integration/scenario.h"

#include <algorithm>

#include "test/integration/faults.h"

namespace dra::integration {
namespace {

client::FaultPlan small_delays(Random& random) {
  client::FaultRates rates;
  rates.max_delay = std::chrono::milliseconds(20);
  return client::random_faults(random, rates);
}

}  // namespace

Stage::Stage(Cluster& cluster, ProcessOptions process, const RunOptions& options)
    : cluster_(cluster), process_(std::move(process)), options_(options), random_(options.seed * 104729 + 7) {}

Stage::~Stage() {
  *alive_ = false;
}

void Stage::begin() {
  launch();
}

void Stage::launch() {
  const std::string name = "m" + std::to_string(++generation_);
  Process& process = cluster_.start(name, process_, /*start=*/false);
  const client::FaultPlan plan = options_.network ? options_.network(random_) : small_delays(random_);
  process.network().set_plan(
      [plan, lag = claim_lag_, bindings_allowed = bindings_allowed_](const client::Request& request, bool streamed) {
        client::Fault fault = plan(request, streamed);
        if (!*bindings_allowed && request.method == "POST" && request.target.find("/binding") != std::string::npos) {
          fault.kind = client::Fault::Kind::kAnswer;
          fault.answer = refused_by_webhook();
        }
        if (streamed && lag > Duration::zero() && request.target.find("/resourceclaims?") != std::string::npos)
          fault.delay_answer = lag;
        return fault;
      });
  if (options_.crash && !report_.crashed) {
    process.guard().crash_at(*options_.crash, [this, name, alive = alive_] {
      if (!*alive) return;
      report_.crashed = true;
      report_.seen = cluster_.process(name).guard().seen();
      cluster_.kill(name);
      relaunch_ = cluster_.plane().reactor().after(std::chrono::milliseconds(200), [this] { launch(); });
    });
  }
  process.start();
  since_ = cluster_.plane().reactor().clock().mono_now();
}

void Stage::restart_with(const std::function<void(ProcessOptions&)>& change) {
  const std::string name = "m" + std::to_string(generation_);
  if (cluster_.running(name)) {
    for (const auto& [point, count] : cluster_.process(name).guard().seen()) report_.seen[point] += count;
    cluster_.kill(name);
  }
  change(process_);
  launch();
}

void Stage::await(const std::string& what, const std::function<bool()>& done) {
  since_ = cluster_.plane().reactor().clock().mono_now();
  const auto waited = [&] { return cluster_.plane().reactor().clock().mono_now() - since_; };
  while (!done()) {
    if (waited() > options_.patience) {
      report_.findings += "not within " + std::to_string(options_.patience / std::chrono::seconds(1)) + " s: " + what +
                          "\n" + cluster_.verdict();
      return;
    }
    cluster_.pass(std::chrono::milliseconds(20));
  }
  report_.longest_stage = std::max(report_.longest_stage, Duration(waited()));
}

bool Stage::bound(const std::string& name) {
  const auto pod = watchdog().pod("default/" + name);
  return pod && !pod->node_name.empty();
}

bool Stage::all_bound(const std::vector<std::string>& pods) {
  return std::all_of(pods.begin(), pods.end(), [&](const std::string& pod) { return bound(pod); });
}

void Stage::check(const VerdictOptions& options) {
  // Work in progress (a reservation pruned, a finalizer removed) may finish first.
  std::string verdict;
  for (int i = 0; i < 40; ++i) {
    verdict = cluster_.verdict(options);
    if (verdict.empty()) return;
    cluster_.pass(std::chrono::seconds(1));
  }
  report_.findings += verdict;
}

void Stage::end(const std::vector<std::string>& pods, const std::set<std::string>& kept_claims) {
  for (const std::string& pod : pods)
    if (watchdog().pod("default/" + pod)) api().remove(Api::path("Pod", pod));
  await("everything given back after the pods were deleted",
        [&] { return watchdog().claims() == kept_claims.size() && watchdog().held_devices() == 0; });
  // The last writes are in progress, and with them perhaps this run's crash and its successor's start.
  cluster_.pass(std::chrono::seconds(2));
  std::string verdict;
  for (int i = 0; i < 40; ++i) {
    verdict = cluster_.empty_verdict(kept_claims);
    if (verdict.empty()) return;
    cluster_.pass(std::chrono::seconds(1));
  }
  report_.findings += verdict;
}

RunReport Stage::report() {
  for (int i = 1; i <= generation_; ++i) {
    const std::string name = "m" + std::to_string(i);
    if (!cluster_.running(name)) continue;
    Process& process = cluster_.process(name);
    if (!report_.crashed)
      for (const auto& [point, count] : process.guard().seen()) report_.seen[point] += count;
    for (const auto& [request, count] : process.guard().unnamed()) report_.unnamed[request] += count;
  }
  return report_;
}

RunReport run(const Scenario& scenario, const RunOptions& options) {
  ClusterOptions cluster_options = scenario.cluster;
  cluster_options.seed = options.seed;
  Cluster cluster(cluster_options);
  ProcessOptions process;
  process.manager = Cluster::manager_options();
  // With watches that are silent for 90 s a group may wait for five minutes. It would keep nodes from the other groups
  // then, as it should, for longer than scenarios wait (controllers/allocation/kept/kept_nodes.h).
  process.manager.settings.gang_starvation_after = std::chrono::hours(2);
  if (scenario.manager) scenario.manager(process);
  Stage stage(cluster, std::move(process), options);
  scenario.play(stage);
  return stage.report();
}

}  // namespace dra::integration
