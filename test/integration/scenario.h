// Scenario: a workload that runs while one manager (or its successor) works, and what must hold at the end, whatever
// happened to the manager and its network meanwhile.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "test/integration/cluster.h"

namespace dra::integration {

struct RunOptions {
  uint64_t seed = 1;
  std::optional<CrashPoint> crash;
  // The manager's network; empty: every message takes 0 to 20 ms. The random source lives as long as the run.
  std::function<client::FaultPlan(Random&)> network;
  // Counted from the start of a stage, or of the manager's successor.
  Duration patience = std::chrono::seconds(60);
};

struct RunReport {
  std::string findings;                // empty: all is well
  std::map<std::string, size_t> seen;  // write points and how often, before the crash
  std::map<std::string, size_t> unnamed;
  bool crashed = false;
  Duration longest_stage{};  // counted like `patience`
};

// What a scenario acts on.
class Stage {
 public:
  Stage(Cluster& cluster, ProcessOptions process, const RunOptions& options);
  ~Stage();

  Cluster& cluster() { return cluster_; }
  Api& api() { return cluster_.api(); }
  Watchdog& watchdog() { return cluster_.watchdog(); }

  // Starts the manager; if it is killed, its successor is started.
  void begin();
  // Stops this manager gracefully and starts one with other options.
  void restart_with(const std::function<void(ProcessOptions&)>& change);
  // In addition to the network of the options: the manager's watch of claims lags by this much.
  void delay_claims(Duration lag) { claim_lag_ = lag; }

  // From now on the server answers the manager's Bindings with an error, as a webhook that is down does; until allowed.
  void allow_bindings(bool allowed) { *bindings_allowed_ = allowed; }

  void await(const std::string& what, const std::function<bool()>& done);
  bool bound(const std::string& pod);
  bool all_bound(const std::vector<std::string>& pods);
  void check(const VerdictOptions& options = {});
  // Deletes these pods and waits until all of their objects are gone.
  void end(const std::vector<std::string>& pods, const std::set<std::string>& kept_claims = {});
  RunReport report();

 private:
  void launch();

  Cluster& cluster_;
  ProcessOptions process_;
  RunOptions options_;
  SeededRandom random_;
  Duration claim_lag_{};
  std::shared_ptr<bool> bindings_allowed_ = std::make_shared<bool>(true);
  RunReport report_;
  MonoTime since_{};
  int generation_ = 0;
  Handle relaunch_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

struct Scenario {
  std::string name;
  ClusterOptions cluster;
  std::function<void(ProcessOptions&)> manager;
  std::function<void(Stage&)> play;
};

// Every scenario; together they make the manager perform every kind of write.
const std::vector<Scenario>& scenarios();
inline void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.name;
}
RunReport run(const Scenario& scenario, const RunOptions& options);

}  // namespace dra::integration
