// Simulation: the parts of a cluster that dra-sandbox plays (kubelets and workload controllers) as one client of an API
// server.
//
// It watches pods, claims, nodes and workloads, runs the passes of kubelet.h and workload.h for what changed, and
// performs their requests. It talks through a Transport only, so it may run in the server's process or beside any
// server. One pass a key at a time; at most `max_passes` at once; a refused request makes the pass run again after a
// back-off.
//
// Belongs to the reactor's thread.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/informer/informer.h"
#include "pkg/base/random.h"
#include "pkg/queue/pump.h"
#include "pkg/queue/work_queue.h"
#include "pkg/reactor/reactor.h"
#include "pkg/sandbox/fleet.h"
#include "pkg/sandbox/raw_object.h"
#include "pkg/sandbox/step.h"

namespace dra::sandbox {

struct SimulationOptions {
  size_t max_passes = 64;
};

struct SimulationStats {
  uint64_t passes = 0;
  uint64_t calls = 0;
  uint64_t refused = 0;  // calls that did not succeed
};

class Simulation {
 public:
  // Everything must outlive the simulation.
  Simulation(Reactor& reactor, client::Transport& transport, Random& random, SimulationOptions options = {});
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Creates the fleet's objects, several at a time; those that exist already stay as they are. `done` gets the first
  // failure, which names the object, or success; late slices come after it. The fleet's drivers report from then on.
  void publish(const Fleet& fleet, std::function<void(Result<void>)> done);

  void start();
  // Ends all watches; passes under way are given up.
  void stop();
  bool synced() const;
  const SimulationStats& stats() const { return stats_; }

 private:
  struct Publication;
  struct Pass;

  void watch_changes();
  void on_pod(const client::Change<RawObject>& change);
  // Enqueues the object itself and the owner of what changed.
  void on_workload(const char* kind, const client::Change<RawObject>& change);
  void enqueue_owners(const RawObject& object);
  void wake_pods_of(const RawObject& claim);
  void schedule() { pump_.schedule(); }
  queue::Pump::Next next();
  void begin_passes();
  Step run(const std::string& key);
  Step run_workload(const std::string& kind, const RawObject& owner);
  void perform(const std::string& key, Step step);
  void call_done(const std::shared_ptr<Pass>& pass, const ApiCall& call, const Result<client::Response>& result);
  void feed(const ApiCall& call, const client::Response& response);
  void publish_late(int64_t seconds, const Json& slice);
  void publish_next(const std::shared_ptr<Publication>& publication);

  Reactor& reactor_;
  client::Transport& transport_;
  Random& random_;
  SimulationOptions options_;
  std::shared_ptr<client::ServerTraits> traits_;
  client::Informer<RawObject> pods_;
  client::Informer<RawObject> claims_;
  client::Informer<RawObject> nodes_;
  client::Informer<RawObject> deployments_;
  client::Informer<RawObject> replica_sets_;
  client::Informer<RawObject> stateful_sets_;
  client::Informer<RawObject> daemon_sets_;
  client::Informer<RawObject> jobs_;
  // The kinds that own pods or sets, by the first part of their queue keys.
  struct Workload {
    const char* kind;
    client::Informer<RawObject>& informer;
  };
  const std::array<Workload, 5> workloads_{{{"deployment", deployments_},
                                            {"replicaset", replica_sets_},
                                            {"statefulset", stateful_sets_},
                                            {"daemonset", daemon_sets_},
                                            {"job", jobs_}}};
  const std::array<client::Informer<RawObject>*, 8> informers_{
      &pods_, &claims_, &nodes_, &deployments_, &replica_sets_, &stateful_sets_, &daemon_sets_, &jobs_};
  queue::WorkQueue queue_;
  SimulationStats stats_;
  DriverBehaviours drivers_;
  std::vector<Handle> late_;  // slices that appear later
  bool running_ = false;
  std::map<std::string, std::shared_ptr<Pass>> passes_;
  queue::Pump pump_;
};

}  // namespace dra::sandbox
