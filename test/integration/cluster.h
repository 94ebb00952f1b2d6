// Cluster: a control plane with nodes and devices, a watchdog, and the managers that a test starts and kills.
//
// Each cluster has its own embedded API server in simulated time, unless KUBEBUILDER_ASSETS names a folder of binaries:
// then all clusters of a program share one real control plane (docs/real-cluster.md), and each begins by wiping it.
// Tests expect the same of both; only time differs. Waiting for something ends when it has happened. Waiting while
// nothing may happen is cut to DRA_REAL_PATIENCE seconds (15). A test that needs time itself to pass asks can_wait().
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/random.h"
#include "test/integration/api.h"
#include "test/integration/components.h"
#include "test/integration/objects.h"
#include "test/integration/process.h"
#include "test/integration/sim_control_plane.h"
#include "test/integration/verdict.h"

namespace dra::integration {

struct ClusterOptions {
  uint64_t seed = 1;
  ComponentOptions components;
  // Always the embedded API server: the test accesses it directly, or repeats one run exactly.
  bool embedded = false;
  bool pod_groups = false;  // the embedded API server serves PodGroups
  size_t nodes = 4;
  size_t devices = 4;  // of each node
};

class Cluster {
 public:
  explicit Cluster(ClusterOptions options = {});
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  ControlPlane& plane() { return *plane_; }
  // Only with ClusterOptions::embedded.
  SimControlPlane& embedded() { return *embedded_; }
  Components& components() { return *components_; }
  // Undefined without a scheduler.
  Scheduler& scheduler() { return *components_->scheduler(); }
  Api& api() { return api_; }
  Watchdog& watchdog() { return *watchdog_; }
  Random& random() { return random_; }
  uint64_t seed() const { return options_.seed; }

  // Gate mode, own claim templates: what most tests want.
  static manager::ManagerOptions manager_options();
  // `start` false: created, to be started by the caller.
  Process& start(const std::string& name, ProcessOptions options, bool start = true);
  Process& start(const std::string& name = "m1");
  Process& process(const std::string& name) { return *processes_.at(name); }
  bool running(const std::string& name) const { return processes_.contains(name); }
  // kill -9, from outside of everything that the process runs.
  void kill(const std::string& name);

  // Lets time pass in steps until `done()`; false if `limit` has passed first. Also in real time.
  bool eventually(const std::function<bool()>& done, Duration limit, Duration step = std::chrono::milliseconds(100));
  void pass(Duration time);
  // pass() would let all of this time pass.
  bool can_wait(Duration time) const;
  // For EXPECT_EQ(..., ""): the findings of inspect() and the watchdog, one line each.
  std::string verdict(const VerdictOptions& options = {});
  std::string empty_verdict(const std::set<std::string>& kept_claims = {});

 private:
  ClusterOptions options_;
  SeededRandom random_;
  std::unique_ptr<SimControlPlane> embedded_;
  ControlPlane* plane_;
  Api api_;
  std::unique_ptr<Components> components_;
  std::unique_ptr<Watchdog> watchdog_;
  std::map<std::string, std::unique_ptr<Process>> processes_;
};

// The seeds a test runs with: `fallback` of them, or as many as the environment variable specifies. Prints them.
std::vector<uint64_t> seeds(const char* variable, size_t fallback);
// The folder that KUBEBUILDER_ASSETS names, with the programs of a real control plane; empty: none.
std::string real_programs();
// A number from the environment.
size_t from_environment(const char* variable, size_t fallback);

}  // namespace dra::integration
