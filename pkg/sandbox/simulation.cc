#include "pkg/sandbox/simulation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "client/rest/status.h"
#include "pkg/log/log.h"
#include "pkg/sandbox/driver.h"
#include "pkg/sandbox/kubelet.h"
#include "pkg/sandbox/workload.h"

namespace dra::sandbox {
namespace {

const client::Resource kPods{"", "v1", "pods", "Pod", true};
const client::Resource kClaims{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true};
const client::Resource kNodes{"", "v1", "nodes", "Node", false};
const client::Resource kReplicaSets{"apps", "v1", "replicasets", "ReplicaSet", true};
const client::Resource kStatefulSets{"apps", "v1", "statefulsets", "StatefulSet", true};
const client::Resource kDaemonSets{"apps", "v1", "daemonsets", "DaemonSet", true};
const client::Resource kDeployments{"apps", "v1", "deployments", "Deployment", true};
const client::Resource kJobs{"batch", "v1", "jobs", "Job", true};

client::ReflectorOptions watching(const client::Resource& resource) {
  client::ReflectorOptions options;
  options.resource = resource;
  return options;
}

// The collection path of a fleet's object.
std::string collection_of(const Json& object) {
  const std::string kind = object.value("kind", "");
  if (kind == "Namespace") return "/api/v1/namespaces";
  if (kind == "Node") return "/api/v1/nodes";
  if (kind == "DeviceClass") return "/apis/resource.k8s.io/v1/deviceclasses";
  if (kind == "StorageClass") return "/apis/storage.k8s.io/v1/storageclasses";
  return "/apis/resource.k8s.io/v1/resourceslices";
}

// Claims that the pod's entries resolve to, as "namespace/name".
std::vector<std::string> claims_of(const RawObject& pod) {
  std::vector<std::string> keys;
  const std::string ns = pod.metadata.ns + "/";
  for (const Json& entry : pod.document->value("/spec/resourceClaims"_json_pointer, Json::array()))
    if (entry.contains("resourceClaimName")) keys.push_back(ns + entry["resourceClaimName"].get<std::string>());
  for (const Json& status : pod.document->value("/status/resourceClaimStatuses"_json_pointer, Json::array()))
    if (status.contains("resourceClaimName")) keys.push_back(ns + status["resourceClaimName"].get<std::string>());
  const std::string extended = text_at(*pod.document, "/status/extendedResourceClaimStatus/resourceClaimName");
  if (!extended.empty()) keys.push_back(ns + extended);
  return keys;
}

std::vector<std::string> owner_uid(const RawObject& object) {
  const api::OwnerReference* owner = object.metadata.controller();
  return owner == nullptr ? std::vector<std::string>{} : std::vector<std::string>{owner->uid};
}

}  // namespace

struct Simulation::Publication {
  std::vector<Json> objects;
  size_t next = 0;
  size_t in_flight = 0;
  bool finished = false;
  std::vector<Handle> calls;
  std::function<void(Result<void>)> done;
};

Simulation::Simulation(Reactor& reactor, client::Transport& transport, Random& random, SimulationOptions options)
    : reactor_(reactor),
      transport_(transport),
      random_(random),
      options_(options),
      traits_(std::make_shared<client::ServerTraits>()),
      pods_(reactor, transport, random, watching(kPods), traits_),
      claims_(reactor, transport, random, watching(kClaims), traits_),
      nodes_(reactor, transport, random, watching(kNodes), traits_),
      deployments_(reactor, transport, random, watching(kDeployments), traits_),
      replica_sets_(reactor, transport, random, watching(kReplicaSets), traits_),
      stateful_sets_(reactor, transport, random, watching(kStatefulSets), traits_),
      daemon_sets_(reactor, transport, random, watching(kDaemonSets), traits_),
      jobs_(reactor, transport, random, watching(kJobs), traits_),
      // Owners count their pods: no pass runs before the first complete list of every kind.
      runner_(reactor, transport, options.max_passes,
              {[this] { return synced(); }, [this](const std::string& key) { return run(key); },
               [this](const ApiCall& call, const client::Response& response) { feed(call, response); }}) {
  if (options_.volumes) {
    volumes_ = std::make_unique<VolumeSimulation>(reactor, transport, random, options.max_passes, pods_,
                                                  [this](const std::string& key) { runner_.add("pod/" + key); });
  }
  watch_changes();
  for (client::Informer<RawObject>* informer : informers_)
    informer->objects().on_replaced([this] { runner_.schedule(); });
}

Simulation::~Simulation() {
  stop();
}

void Simulation::start() {
  runner_.start();
  if (volumes_) volumes_->start();
  for (client::Informer<RawObject>* informer : informers_) informer->start();
}

void Simulation::stop() {
  if (volumes_) volumes_->stop();
  for (client::Informer<RawObject>* informer : informers_) informer->stop();
  late_.clear();
  runner_.stop();
}

bool Simulation::synced() const {
  return std::all_of(informers_.begin(), informers_.end(), [](const auto* informer) { return informer->synced(); }) &&
         (!volumes_ || volumes_->synced());
}

// ---- from changes to keys
// ----------------------------------------------------------------------------------------------------

void Simulation::watch_changes() {
  pods_.store().add_index("claim", claims_of);
  pods_.store().add_index("owner", owner_uid);
  if (volumes_)
    pods_.store().add_index("volume-claim", [](const RawObject& pod) { return volume_claims_of(*pod.document); });
  pods_.store().on_change([this](const client::Change<RawObject>& change) { on_pod(change); });
  claims_.store().on_change([this](const client::Change<RawObject>& change) {
    if (change.after == nullptr) return;
    if (!drivers_.empty()) runner_.add("claim/" + change.after->metadata.key());
    enqueue_pods_of(*change.after);
  });
  replica_sets_.store().add_index("owner", owner_uid);
  for (const Workload& workload : workloads_) {
    workload.informer.store().add_index(
        "uid", [](const RawObject& object) { return std::vector<std::string>{object.metadata.uid}; });
    workload.informer.store().on_change(
        [this, kind = workload.kind](const client::Change<RawObject>& change) { on_workload(kind, change); });
  }
  nodes_.store().on_change([this](const client::Change<RawObject>& change) {
    // Heartbeats change nothing that a DaemonSet reads.
    const bool same = change.before != nullptr && change.after != nullptr &&
                      change.before->metadata.labels == change.after->metadata.labels &&
                      change.before->document->value("spec", Json()) == change.after->document->value("spec", Json());
    if (same) return;
    for (const auto& set : daemon_sets_.store().list()) runner_.add("daemonset/" + set->metadata.key());
  });
}

void Simulation::on_pod(const client::Change<RawObject>& change) {
  const RawObject& pod = change.after != nullptr ? *change.after : *change.before;
  if (change.after != nullptr) runner_.add("pod/" + pod.metadata.key());
  enqueue_owners(pod);
  if (volumes_) volumes_->on_pod(change);
}

void Simulation::on_workload(const char* kind, const client::Change<RawObject>& change) {
  const RawObject& object = change.after != nullptr ? *change.after : *change.before;
  if (change.after != nullptr) runner_.add(std::string(kind) + "/" + object.metadata.key());
  enqueue_owners(object);
}

void Simulation::enqueue_owners(const RawObject& object) {
  for (const std::string& uid : owner_uid(object))
    for (const Workload& workload : workloads_)
      for (const auto& owner : workload.informer.store().by_index("uid", uid))
        runner_.add(std::string(workload.kind) + "/" + owner->metadata.key());
}

void Simulation::enqueue_pods_of(const RawObject& claim) {
  for (const auto& pod : pods_.store().by_index("claim", claim.metadata.key()))
    runner_.add("pod/" + pod->metadata.key());
}

// ---- passes
// ------------------------------------------------------------------------------------------------------------------

Step Simulation::run(const std::string& key) {
  const size_t slash = key.find('/');
  const std::string kind = key.substr(0, slash), name = key.substr(slash + 1);
  if (kind == "pod") {
    const auto pod = pods_.store().get(name);
    if (pod == nullptr) return {};
    client::ObjectPtr<RawObject> claim;
    const ClaimLookup find_claim = [&](std::string_view ns, std::string_view claim_name) -> const Json* {
      claim = claims_.store().get(std::string(ns) + "/" + std::string(claim_name));
      return claim == nullptr ? nullptr : claim->document.get();
    };
    const bool mounted = !volumes_ || volumes_->ready_for(*pod->document);
    return kubelet_pass(*pod->document, find_claim, reactor_.clock().wall_now(), drivers_, mounted);
  }
  if (kind == "claim") {
    const auto claim = claims_.store().get(name);
    return claim == nullptr ? Step{} : driver_pass(*claim->document, drivers_, reactor_.clock().wall_now());
  }
  for (const Workload& workload : workloads_) {
    if (kind != workload.kind) continue;
    const auto owner = workload.informer.store().get(name);
    return owner == nullptr ? Step{} : run_workload(kind, *owner);
  }
  return {};
}

Step Simulation::run_workload(const std::string& kind, const RawObject& owner) {
  const auto documents = [](const auto& objects) {
    std::vector<const Json*> list;
    for (const auto& object : objects) list.push_back(object->document.get());
    return list;
  };
  const WallTime now = reactor_.clock().wall_now();
  const std::string& uid = owner.metadata.uid;
  if (kind == "deployment") {
    const auto sets = replica_sets_.store().by_index("owner", uid);
    return deployment_pass(*owner.document, documents(sets), now);
  }
  const auto pods = pods_.store().by_index("owner", uid);
  if (kind == "replicaset") return replica_set_pass(*owner.document, documents(pods), random_);
  if (kind == "statefulset") return stateful_set_pass(*owner.document, documents(pods));
  if (kind == "job") return job_pass(*owner.document, documents(pods), random_, now);
  const auto nodes = nodes_.store().list();
  return daemon_set_pass(*owner.document, documents(pods), documents(nodes), random_);
}

// Passes the answer of a create or patch to its store, so that the next pass counts it before the watch delivers it.
void Simulation::feed(const ApiCall& call, const client::Response& response) {
  if (!response.ok() || call.method == "DELETE") return;
  // ".../namespaces/ns/pods/name/status"
  constexpr std::string_view kNamespaces = "/namespaces/";
  const size_t ns = call.path.find(kNamespaces);
  if (ns == std::string::npos) return;
  const size_t begin = call.path.find('/', ns + kNamespaces.size());
  if (begin == std::string::npos) return;
  const std::string plural = call.path.substr(begin + 1, call.path.find('/', begin + 1) - begin - 1);
  for (client::Informer<RawObject>* informer : informers_) {
    if (plural != informer->resource().plural) continue;
    auto entry = informer->type().decode(response.body);
    if (entry) informer->objects().answer(std::move(*entry));
    return;
  }
}

// ---- the fleet
// ---------------------------------------------------------------------------------------------------------------

void Simulation::publish(const Fleet& fleet, std::function<void(Result<void>)> done) {
  auto publication = std::make_shared<Publication>();
  publication->objects = fleet.objects;
  publication->done = std::move(done);
  for (Json& object : publication->objects) {
    if (object["kind"] != "Node") continue;
    Json status = node_status(object["metadata"]["name"].get<std::string>(), reactor_.clock().wall_now());
    status.update(object["status"]);
    object["status"] = std::move(status);
  }
  drivers_ = fleet.drivers;
  for (const auto& [seconds, slice] : fleet.late) publish_late(seconds, slice);
  publish_next(publication);
}

void Simulation::publish_late(int64_t seconds, const Json& slice) {
  late_.push_back(reactor_.after(std::chrono::seconds(seconds), [this, slice] {
    client::Request request;
    request.method = "POST";
    request.target = collection_of(slice);
    request.body = slice.dump();
    request.content_type = "application/json";
    late_.push_back(transport_.send(std::move(request), [slice](Result<client::Response> result) {
      if (result && (result->ok() || result->status == 409)) return;
      log::warning("sandbox: a late slice was not published",
                   {{"slice", slice["metadata"]["name"].get<std::string>()}});
    }));
  }));
}

void Simulation::publish_next(const std::shared_ptr<Publication>& publication) {
  Publication& p = *publication;
  while (!p.finished && p.next < p.objects.size() && p.in_flight < options_.max_passes) {
    const Json& object = p.objects[p.next++];
    const std::string what = object["kind"].get<std::string>() + " " + object["metadata"]["name"].dump();
    client::Request request;
    request.method = "POST";
    request.target = collection_of(object);
    request.body = object.dump();
    request.content_type = "application/json";
    ++p.in_flight;
    p.calls.push_back(transport_.send(std::move(request), [this, publication, what](Result<client::Response> result) {
      Publication& state = *publication;
      --state.in_flight;
      if (state.finished) return;
      if (!result || (!result->ok() && result->status != 409)) {
        state.finished = true;
        const Error error = result ? client::error_from_response(*result, "create") : result.error();
        state.done(fail(error.wrap("fleet: " + what + " cannot be created")));
        reactor_.post([publication] { publication->calls.clear(); });
        return;
      }
      publish_next(publication);
    }));
  }
  if (!p.finished && p.next == p.objects.size() && p.in_flight == 0) {
    p.finished = true;
    p.done({});
    reactor_.post([publication] { publication->calls.clear(); });
  }
}

}  // namespace dra::sandbox
