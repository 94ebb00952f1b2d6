#include "test/integration/world.h"

#include <algorithm>

#include "pkg/base/timestamp.h"

namespace dra::integration {

void World::begin(Claims claims, bool manager, bool scheduler) {
  claims_ = claims;
  ClusterOptions options;
  options.nodes = nodes_;
  options.devices = 4;
  options.components.scheduler = scheduler;
  options.components.volumes = volumes_;
  options.components.kubelets = kubelets_;
  options.components.claim_controller = claims == Claims::kObserve;
  cluster_.reset();  // two at once would share a real control plane
  cluster_ = std::make_unique<Cluster>(options);
  api().create(claim_template("one-gpu"));
  api().create(claim_template("two-gpus", "gpu", 2));
  if (manager) start_manager();
}

void World::start_manager(const std::function<void(manager::ManagerOptions&)>& change) {
  ProcessOptions process;
  process.manager = Cluster::manager_options();
  if (claims_ == Claims::kObserve) process.manager.settings.claim_templates = manager::ClaimTemplates::kObserve;
  if (change) change(process.manager);
  process.elect = elect_;
  cluster_->start("m1", process);
  soon([&] { return this->manager().manager().leading(); });
}

void World::start_scheduler() {
  cluster_->components().start_scheduler();
}

bool World::soon(const std::function<bool()>& done, Duration limit) {
  const bool real = !cluster_->plane().simulated();
  return cluster_->eventually(done, real ? std::max<Duration>(limit, std::chrono::seconds(30)) : limit);
}

bool World::never(const std::function<bool()>& done, Duration limit) {
  while (!cluster_->can_wait(limit)) limit -= std::chrono::seconds(1);
  return !cluster_->eventually(done, limit);
}

bool World::bound(const std::string& name) {
  const auto pod = get_pod(name);
  return pod && !pod->node_name.empty();
}

bool World::gated(const std::string& name) {
  const auto pod = get_pod(name);
  return pod && !pod->scheduling_gates.empty();
}

bool World::allocated(const std::string& name) {
  const auto claim = get_claim(name);
  return claim && claim->status.allocation;
}

std::string World::node_of(const std::string& name) {
  const auto pod = get_pod(name);
  return pod ? pod->node_name : "";
}

std::string World::generated(const std::string& name, const std::string& entry) {
  const auto pod = get_pod(name);
  if (!pod) return "";
  for (const api::PodResourceClaimStatus& status : pod->resource_claim_statuses)
    if (status.name == entry) return status.resource_claim_name.value_or("");
  return "";
}

std::vector<std::string> World::consumers(const std::string& name) {
  std::vector<std::string> names;
  if (const auto claim = get_claim(name))
    for (const auto& consumer : claim->status.reserved_for) names.push_back(consumer.name);
  return names;
}

uint64_t World::revision(const std::string& path) {
  return std::stoull(api().get(path)["metadata"]["resourceVersion"].get<std::string>());
}

std::string World::now() {
  return format_rfc3339(cluster_->plane().clock().wall_now());
}

void World::allocate(const std::string& claim, const Json& allocation, const Json& reserved_for, bool finalizer) {
  const std::string path = Api::path("ResourceClaim", claim);
  if (finalizer) api().merge(path, {{"metadata", {{"finalizers", {"resource.kubernetes.io/delete-protection"}}}}});
  Json status{{"allocation", allocation}};
  if (!reserved_for.is_null()) status["reservedFor"] = reserved_for;
  api().merge(path + "/status?fieldManager=ext", {{"status", status}});
}

Json World::status_patch(const std::string& claim, const Json& status) {
  return api()
      .call("PATCH", Api::path("ResourceClaim", claim) + "/status?fieldManager=ext", Json{{"status", status}}.dump(),
            "application/merge-patch+json")
      .json();
}

int World::status_code(const std::string& claim, const Json& status) {
  return api()
      .call("PATCH", Api::path("ResourceClaim", claim) + "/status?fieldManager=ext", Json{{"status", status}}.dump(),
            "application/merge-patch+json")
      .status;
}

void World::finish_pod(const std::string& pod, const char* phase) {
  api().merge(Api::path("Pod", pod) + "/status", {{"status", {{"phase", phase}}}});
}

std::set<std::string> World::reasons() {
  std::set<std::string> found;
  for (const Json& event : api().list("Event")) found.insert(event.value("reason", ""));
  return found;
}

size_t World::writes(const std::string& point) {
  const auto& seen = manager().guard().seen();
  return seen.contains(point) ? seen.at(point) : 0;
}

}  // namespace dra::integration
