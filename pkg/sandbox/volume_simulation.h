// VolumeSimulation: the components that handle volumes: kube-controller-manager's binder and its controller of
// ephemeral volumes, a CSI provisioner, and a CSI attacher (volume_passes.h). A client of an API server, like
// Simulation.
//
// Belongs to the reactor's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/informer/informer.h"
#include "pkg/base/random.h"
#include "pkg/sandbox/raw_object.h"
#include "pkg/sandbox/step_runner.h"
#include "pkg/sandbox/volume_passes.h"

namespace dra::sandbox {

class VolumeSimulation {
 public:
  // `pods`: the owner's, with an index "volume-claim" by volume_claims_of(). `pod_changed`: something that the pod
  // ("namespace/name") waits for has changed. Everything must outlive it.
  VolumeSimulation(Reactor& reactor, client::Transport& transport, Random& random, size_t max_passes,
                   client::Informer<RawObject>& pods, std::function<void(const std::string&)> pod_changed);
  ~VolumeSimulation();
  VolumeSimulation(const VolumeSimulation&) = delete;
  VolumeSimulation& operator=(const VolumeSimulation&) = delete;

  void start();
  void stop();
  bool synced() const;
  // The owner's pods changed.
  void on_pod(const client::Change<RawObject>& change);
  bool ready_for(const Json& pod) const { return volumes_ready(pod, view_); }
  const SimulationStats& stats() const { return runner_.stats(); }

 private:
  VolumeView make_view();
  void watch_changes();
  void enqueue_claims();
  void enqueue_pods_of(const std::string& claim_key);
  Step run(const std::string& key);
  void feed(const ApiCall& call, const client::Response& response);

  client::Informer<RawObject>& pods_;
  std::function<void(const std::string&)> pod_changed_;
  std::shared_ptr<client::ServerTraits> traits_;
  client::Informer<RawObject> claims_;
  client::Informer<RawObject> volumes_;
  client::Informer<RawObject> classes_;
  client::Informer<RawObject> nodes_;
  client::Informer<RawObject> attachments_;
  VolumeView view_;
  StepRunner runner_;
};

}  // namespace dra::sandbox
