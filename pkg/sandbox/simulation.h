// Simulation: the parts of a cluster that dra-sandbox plays (kubelets and workload controllers) as one client of an API
// server.
//
// It watches pods, claims, nodes and workloads, runs the passes of kubelet.h and workload.h for what changed, and
// performs their requests (step_runner.h). With `volumes` it also plays the components that bind, provision and attach
// volumes (volume_simulation.h), and kubelets wait for them. It uses only a Transport, so it may run in the server's
// process or beside any server.
//
// Belongs to the reactor's thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/informer/informer.h"
#include "pkg/base/random.h"
#include "pkg/reactor/reactor.h"
#include "pkg/sandbox/fleet.h"
#include "pkg/sandbox/raw_object.h"
#include "pkg/sandbox/step_runner.h"
#include "pkg/sandbox/volume_simulation.h"

namespace dra::sandbox {

struct SimulationOptions {
  size_t max_passes = 64;
  bool volumes = false;
};

class Simulation {
 public:
  // Everything must outlive the simulation.
  Simulation(Reactor& reactor, client::Transport& transport, Random& random, SimulationOptions options = {});
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Creates the fleet's objects, several at a time; existing ones stay as they are. `done` gets the first failure,
  // which names the object, or success; late slices are created after that. From then on the fleet's drivers report.
  void publish(const Fleet& fleet, std::function<void(Result<void>)> done);

  void start();
  // Ends all watches; passes in progress are abandoned.
  void stop();
  bool synced() const;
  // Counts for kubelets and workloads.
  const SimulationStats& stats() const { return runner_.stats(); }

 private:
  struct Publication;

  void watch_changes();
  void on_pod(const client::Change<RawObject>& change);
  // Enqueues the changed object itself and its owner.
  void on_workload(const char* kind, const client::Change<RawObject>& change);
  void enqueue_owners(const RawObject& object);
  void enqueue_pods_of(const RawObject& claim);
  Step run(const std::string& key);
  Step run_workload(const std::string& kind, const RawObject& owner);
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
  // The kinds that own pods or sets, keyed by the first part of their queue keys.
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
  DriverBehaviours drivers_;
  std::vector<Handle> late_;  // slices that are created later
  StepRunner runner_;
  std::unique_ptr<VolumeSimulation> volumes_;  // null: volumes are not simulated
};

}  // namespace dra::sandbox
