#include "pkg/fake_scheduler/fake_scheduler.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "client/rest/resource_path.h"
#include "pkg/api/encode.h"
#include "pkg/base/timestamp.h"
#include "pkg/placement/storage_facts.h"
#include "pkg/protocol/group_claims.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::fake_scheduler {
namespace {

using Json = nlohmann::json;

const client::Resource kPods{"", "v1", "pods", "Pod", true};
const client::Resource kVolumes{"", "v1", "persistentvolumes", "PersistentVolume", false};
const client::Resource kVolumeClaims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true};
const client::Resource kClaims{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true};

std::string path_of(const client::Resource& resource, const api::ObjectMeta& metadata, std::string_view sub = {}) {
  return client::object_path(resource, metadata.ns, metadata.name, sub);
}

template <typename T>
client::ReflectorOptions watching(const char* group, const char* plural, const char* kind, bool namespaced) {
  client::ReflectorOptions options;
  options.resource = {group, "v1", plural, kind, namespaced};
  return options;
}
const char* const kDra = "resource.k8s.io";

queue::BackOff pod_backoff() {
  return {std::chrono::seconds(1), std::chrono::seconds(10)};
}

Json reference(const api::Pod& pod) {
  return {{"resource", "pods"}, {"name", pod.metadata.name}, {"uid", pod.metadata.uid}};
}

std::string claim_path(const api::ResourceClaim& claim) {
  return path_of(kClaims, claim.metadata);
}

}  // namespace

struct FakeScheduler::Attempt {
  std::string key;
  std::shared_ptr<const api::Pod> pod;
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  std::map<size_t, api::AllocationResult> decided;  // by index of the claim
  std::string node;
  std::string why_not;  // why there is no node
};

FakeScheduler::FakeScheduler(Reactor& reactor, client::Transport& transport, Random& random,
                             FakeSchedulerOptions options)
    : reactor_(reactor),
      transport_(transport),
      options_(options),
      traits_(std::make_shared<client::ServerTraits>()),
      pods_(reactor, transport, random, watching<api::Pod>("", "pods", "Pod", true), traits_),
      nodes_(reactor, transport, random, watching<api::Node>("", "nodes", "Node", false), traits_),
      claims_(reactor, transport, random, watching<api::ResourceClaim>(kDra, "resourceclaims", "ResourceClaim", true),
              traits_),
      slices_(reactor, transport, random, watching<api::ResourceSlice>(kDra, "resourceslices", "ResourceSlice", false),
              traits_),
      classes_(reactor, transport, random, watching<api::DeviceClass>(kDra, "deviceclasses", "DeviceClass", false),
               traits_),
      namespaces_(reactor, transport, random, watching<api::Namespace>("", "namespaces", "Namespace", false), traits_),
      allocator_(inventory_, {}, random),
      tracker_(reactor.clock()),
      worker_(
          reactor, pod_backoff(), [this] { return synced(); }, [this](const std::string& key) { attempt(key); }) {
  if (options.volumes)
    storage_ = std::make_unique<StorageFeed>(reactor, transport, random, tracker_,
                                             [this](const std::string& claim) { on_volume(claim); });
  if (options.reports) {
    events_client_ = std::make_unique<client::RestClient>(transport);
    events_ = std::make_unique<client::EventRecorder>(
        reactor, *events_client_, random,
        client::RecorderOptions{.controller = "default-scheduler", .instance = "default-scheduler-stand-in"});
  }
  listen();
}

FakeScheduler::~FakeScheduler() {
  if (chain_) chain_->cancel();
}

void FakeScheduler::start() {
  for (client::ObjectStore* store : stores_) store->on_replaced([this] { worker_.look(); });
  pods_.start();
  nodes_.start();
  claims_.start();
  slices_.start();
  classes_.start();
  namespaces_.start();
  if (storage_) storage_->start();
}

void FakeScheduler::listen() {
  pods_.store().add_index("volumes", [](const api::Pod& pod) {
    std::vector<std::string> keys;
    for (const api::PodVolume& volume : pod.volumes) {
      std::string key = placement::claim_key(pod.metadata.ns, pod.metadata.name, volume);
      if (!key.empty()) keys.push_back(std::move(key));
    }
    return keys;
  });
  pods_.store().add_index("claim", [](const api::Pod& pod) { return protocol::claim_keys_of(pod); });
  pods_.store().on_change([this](const client::Change<api::Pod>& change) { on_pod(change); });
  claims_.store().on_change([this](const client::Change<api::ResourceClaim>& change) { on_claim(change); });
  nodes_.store().on_change([this](const client::Change<api::Node>& change) {
    if (change.after) {
      inventory_.apply_node(change.after);
      tracker_.set_node(change.after);
    } else {
      inventory_.remove_node(change.before->metadata.name);
      tracker_.remove_node(change.before->metadata.name);
    }
    enqueue_all();
  });
  tracker_.set_known(nodes::Facts::kNamespaces, true, "");  // nothing is tried before synced()
  namespaces_.store().on_change([this](const client::Change<api::Namespace>& change) {
    change.after ? tracker_.set_namespace(*change.after) : tracker_.remove_namespace(change.before->metadata.name);
    enqueue_all();
  });
  slices_.store().on_change([this](const client::Change<api::ResourceSlice>& change) {
    change.after ? inventory_.apply_slice(*change.after) : inventory_.remove_slice(change.before->metadata.name);
    enqueue_all();
  });
  classes_.store().on_change([this](const client::Change<api::DeviceClass>& change) {
    change.after ? inventory_.apply_class(*change.after) : inventory_.remove_class(change.before->metadata.name);
    enqueue_all();
  });
}

void FakeScheduler::on_pod(const client::Change<api::Pod>& change) {
  const auto on_node = [](const auto& pod) { return pod && !pod->node_name.empty() && !pod->terminal(); };
  if (change.after)
    tracker_.set_pod(*change.after);
  else
    tracker_.remove_pod(change.before->metadata.uid);
  if (on_node(change.before) && !on_node(change.after)) enqueue_all();  // it freed capacity
  if (!on_node(change.before) && on_node(change.after)) enqueue_if_pods_matter();
  if (!change.after) {
    unschedulable_.erase(change.before->metadata.key());
    return;
  }
  // A status patch alone (the unschedulable condition, for example) is not a reason to try again.
  const bool news = !change.before || change.before->scheduling_gates != change.after->scheduling_gates ||
                    change.before->resource_claim_statuses != change.after->resource_claim_statuses;
  if (news && wants_node(*change.after)) enqueue(change.after->metadata.key());
}

void FakeScheduler::on_claim(const client::Change<api::ResourceClaim>& change) {
  const api::ResourceClaim& claim = change.after ? *change.after : *change.before;
  if (change.after)
    inventory_.apply_claim(*change.after);
  else
    inventory_.remove_claim(claim.metadata.uid);
  inventory_.forget(claim.metadata.uid);
  const bool freed = change.before && change.before->status.allocation && (!change.after || !claim.status.allocation);
  if (freed) enqueue_all();
  for (const auto& pod : pods_.store().by_index("claim", claim.metadata.key())) enqueue(pod->metadata.key());
}

void FakeScheduler::enqueue_all() {
  const std::set<std::string> waiting = std::exchange(unschedulable_, {});
  for (const std::string& key : waiting) worker_.add(key);
}

void FakeScheduler::on_volume(const std::string& claim) {
  if (claim.empty()) return enqueue_all();
  for (const auto& pod : pods_.store().by_index("volumes", claim)) enqueue(pod->metadata.key());
}

// An added pod may satisfy affinity and spreading.
void FakeScheduler::enqueue_if_pods_matter() {
  const std::set<std::string> waiting = unschedulable_;
  for (const std::string& key : waiting)
    if (const auto pod = pods_.store().get(key);
        pod && (!pod->pod_affinity.required.empty() || !pod->topology_spread.empty()))
      enqueue(key);
}

void FakeScheduler::enqueue(const std::string& key) {
  unschedulable_.erase(key);
  worker_.add(key);
}

bool FakeScheduler::synced() const {
  if (storage_ && !storage_->synced()) return false;
  return std::all_of(stores_.begin(), stores_.end(), [](const client::ObjectStore* store) { return store->synced(); });
}

bool FakeScheduler::wants_node(const api::Pod& pod) const {
  return pod.node_name.empty() && pod.scheduling_gates.empty() && !pod.terminal() && !pod.metadata.deleting() &&
         (pod.scheduler_name.empty() || pod.scheduler_name == "default-scheduler") &&
         !bound_.contains(pod.metadata.uid);
}

bool FakeScheduler::claims_of(const api::Pod& pod, std::vector<std::shared_ptr<const api::ResourceClaim>>& out) const {
  for (const api::PodResourceClaim& entry : pod.resource_claims) {
    const protocol::ResolvedClaim resolved = protocol::resolve_claim(pod, entry);
    if (resolved.state == protocol::ResolvedClaim::State::kNotNeeded) continue;
    if (resolved.state != protocol::ResolvedClaim::State::kNamed) return false;
    auto claim = claims_.store().get(pod.metadata.ns + "/" + resolved.name);
    if (!claim || claim->metadata.deleting()) return false;
    if (resolved.must_check_owner && !protocol::is_for_pod(pod, *claim)) return false;
    out.push_back(std::move(claim));
  }
  return true;
}

void FakeScheduler::attempt(const std::string& key) {
  auto attempt = std::make_shared<Attempt>();
  attempt->key = key;
  attempt->pod = pods_.store().get(key);
  const auto binding = binding_.find(key);
  if (!attempt->pod || !wants_node(*attempt->pod)) {
    if (binding != binding_.end()) binding_.erase(binding);
    return worker_.finish(key, true);
  }
  if (binding != binding_.end() && reactor_.clock().mono_now() < binding->second.not_before)
    return worker_.finish(key, false);
  if (!claims_of(*attempt->pod, attempt->claims)) {
    unschedulable_.insert(key);
    return worker_.finish(key, true);
  }
  std::vector<std::shared_ptr<const api::ResourceClaim>> unavailable;
  if (filter(*attempt, unavailable)) {
    if (waits_for_volumes(attempt)) return;
    return pre_bind(attempt);
  }
  post_filter(*attempt, unavailable);
}

bool FakeScheduler::waits_for_volumes(const std::shared_ptr<Attempt>& attempt) {
  const std::string key = attempt->key;
  const nodes::VolumeNeeds needs = tracker_.volumes(*attempt->pod, attempt->node);
  if (needs.done()) {
    binding_.erase(key);
    return false;
  }
  for (const auto& [index, results] : attempt->decided) inventory_.forget(attempt->claims[index]->metadata.uid);
  const MonoTime now = reactor_.clock().mono_now();
  Binding& binding = binding_[key];
  const bool is_new = binding.node.empty();
  if (is_new) binding = {attempt->node, now + std::chrono::minutes(10)};
  const auto patch = [](const api::ObjectMeta& metadata, const std::string& path, Json body) {
    body["metadata"]["uid"] = metadata.uid;
    body["metadata"]["resourceVersion"] = metadata.resource_version;
    return ChainedCall{"PATCH", path, body.dump(), "application/merge-patch+json", 409};
  };
  std::vector<ChainedCall> calls;
  for (const auto& claim : needs.provision) {
    const auto found = claim->metadata.annotations.find(api::kSelectedNodeAnnotation);
    if (found != claim->metadata.annotations.end() && found->second == attempt->node) continue;
    if (!is_new) {
      binding = {.node = "", .until = {}, .not_before = now + std::chrono::seconds(5)};
      worker_.finish(key, false);
      return true;
    }
    calls.push_back(patch(claim->metadata, path_of(kVolumeClaims, claim->metadata),
                          {{"metadata", {{"annotations", {{api::kSelectedNodeAnnotation, attempt->node}}}}}}));
  }
  for (const auto& pair : needs.bind) {
    if (pair.volume->claim_ref && !pair.volume->claim_ref->uid.empty()) continue;
    const api::ObjectMeta& claim = pair.claim->metadata;
    calls.push_back(patch(pair.volume->metadata, path_of(kVolumes, pair.volume->metadata),
                          {{"spec",
                            {{"claimRef",
                              {{"apiVersion", "v1"},
                               {"kind", "PersistentVolumeClaim"},
                               {"namespace", claim.ns},
                               {"name", claim.name},
                               {"uid", claim.uid}}}}}}));
  }
  unschedulable_.insert(key);  // a change of a volume puts it back into the queue
  if (calls.empty()) {
    worker_.finish(key, true);
    return true;
  }
  chain_ = CallChain::run(reactor_, transport_, std::move(calls),
                          [this, key](bool ok, const std::string&) { worker_.finish(key, ok); });
  return true;
}

bool FakeScheduler::filter(Attempt& attempt, std::vector<std::shared_ptr<const api::ResourceClaim>>& unavailable) {
  std::vector<allocator::NodeId> order;
  std::vector<std::string> names;
  std::set<std::string> rejecting;
  // Reserved until its volumes are bound: other nodes are not considered.
  std::vector<std::string> only;
  if (const auto binding = binding_.find(attempt.key); binding != binding_.end() && !binding->second.node.empty()) {
    if (reactor_.clock().mono_now() < binding->second.until)
      only = {binding->second.node};
    else
      binding_.erase(binding);
  }
  nodes::NodeChoice choice = tracker_.choose(*attempt.pod, only);
  attempt.why_not = choice.nodes.empty() ? choice.why_none : "cannot allocate all claims";
  for (const std::string_view name : choice.nodes) {
    const std::string node(name);
    bool fits = true;
    for (const auto& claim : attempt.claims) {
      const auto& allocated = claim->status.allocation;
      if (!allocated || !allocated->node_selector || tracker_.matches(*allocated->node_selector, node)) continue;
      fits = false;
      if (rejecting.insert(claim->metadata.uid).second) unavailable.push_back(claim);
    }
    if (!fits) continue;
    order.push_back(inventory_.node_id(node));
    names.push_back(node);
  }
  if (order.empty()) return false;
  allocator::Request request;
  std::vector<size_t> indexes;
  for (size_t i = 0; i < attempt.claims.size(); ++i) {
    if (attempt.claims[i]->status.allocation) continue;
    request.claims.push_back(attempt.claims[i]);
    indexes.push_back(i);
  }
  if (indexes.empty()) {
    attempt.node = names.front();
    return true;
  }
  if (!options_.allocates) return false;
  const allocator::FoundNodes found = allocator_.find_nodes(request, order, 1);
  if (found.outcome != allocator::Outcome::kFeasible) return false;
  attempt.node = inventory_.node_name(found.decisions.front().node);
  for (size_t i = 0; i < indexes.size(); ++i) {
    attempt.decided[indexes[i]] = found.decisions.front().results.at(i);
    inventory_.assume(attempt.claims[indexes[i]]->metadata.uid, found.decisions.front().results[i]);
  }
  return true;
}

void FakeScheduler::post_filter(const Attempt& attempt,
                                const std::vector<std::shared_ptr<const api::ResourceClaim>>& unavailable) {
  const std::string key = attempt.key;
  unschedulable_.insert(key);
  std::vector<ChainedCall> calls;
  for (const auto& claim : unavailable) {
    const auto& consumers = claim->status.reserved_for;
    const bool ours_alone =
        consumers.empty() || (consumers.size() == 1 && consumers.front().uid == attempt.pod->metadata.uid);
    if (!ours_alone) continue;
    ++stats_.deallocations;
    ++stats_.claim_writes;
    const Json body{{"metadata", {{"resourceVersion", claim->metadata.resource_version}}},
                    {"status", {{"allocation", nullptr}, {"reservedFor", nullptr}, {"devices", nullptr}}}};
    calls.push_back({"PATCH", claim_path(*claim) + "/status?fieldManager=kube-scheduler", body.dump()});
    break;
  }
  if (events_) report_failure(*attempt.pod, attempt.why_not, calls);
  if (calls.empty()) return worker_.finish(key, true);
  chain_ = CallChain::run(reactor_, transport_, std::move(calls),
                          [this, key](bool, const std::string&) { worker_.finish(key, true); });
}

void FakeScheduler::report_failure(const api::Pod& pod, const std::string& why, std::vector<ChainedCall>& calls) {
  events_->record({.regarding = {"v1", "Pod", pod.metadata.ns, pod.metadata.name, pod.metadata.uid, ""},
                   .warning = true,
                   .reason = "FailedScheduling",
                   .action = "Scheduling",
                   .note = why});
  const auto known = std::find_if(pod.conditions.begin(), pod.conditions.end(),
                                  [](const api::Condition& c) { return c.type == "PodScheduled"; });
  if (known != pod.conditions.end() && known->reason == "Unschedulable" && known->message == why) return;
  const Json condition{{"type", "PodScheduled"},
                       {"status", "False"},
                       {"reason", "Unschedulable"},
                       {"message", why},
                       {"lastTransitionTime", format_rfc3339(reactor_.clock().wall_now())}};
  calls.push_back({"PATCH", path_of(kPods, pod.metadata, "status") + "?fieldManager=kube-scheduler",
                   Json{{"metadata", {{"uid", pod.metadata.uid}}}, {"status", {{"conditions", {condition}}}}}.dump(),
                   "application/strategic-merge-patch+json", 404});
}

void FakeScheduler::report_binding(const Attempt& attempt) {
  const api::ObjectMeta& pod = attempt.pod->metadata;
  events_->record({.regarding = {"v1", "Pod", pod.ns, pod.name, pod.uid, ""},
                   .warning = false,
                   .reason = "Scheduled",
                   .action = "Binding",
                   .note = "Successfully assigned " + pod.key() + " to " + attempt.node});
}

// What bindClaim writes for one claim: nothing if the pod is already in reservedFor.
void FakeScheduler::bind_claim_calls(const Attempt& attempt, size_t index, std::vector<ChainedCall>& calls) const {
  const api::ResourceClaim& claim = *attempt.claims[index];
  if (claim.status.allocation && (protocol::is_reserved_for(claim, attempt.pod->metadata.uid) ||
                                  protocol::is_reserved_for_group_of(*attempt.pod, claim)))
    return;
  const Json version{{"uid", claim.metadata.uid}, {"resourceVersion", claim.metadata.resource_version}};
  Json consumers = Json::array();
  for (const auto& consumer : claim.status.reserved_for) consumers.push_back(Json::parse(api::encode(consumer)));
  consumers.push_back(reference(*attempt.pod));
  Json status{{"reservedFor", consumers}};
  const std::string now = format_rfc3339(reactor_.clock().wall_now());
  const auto decided = attempt.decided.find(index);
  if (decided == attempt.decided.end()) {
    if (claim.status.allocation->allocation_timestamp.empty()) status["allocation"]["allocationTimestamp"] = now;
    calls.push_back({"PATCH", claim_path(claim) + "/status?fieldManager=kube-scheduler",
                     Json{{"metadata", version}, {"status", status}}.dump()});
    return;
  }
  api::AllocationResult allocation = decided->second;
  allocation.allocation_timestamp = now;
  status["allocation"] = Json::parse(api::encode(allocation));
  if (!claim.metadata.has_finalizer(api::kDeleteProtectionFinalizer)) {
    Json metadata = version;
    metadata["finalizers"] = claim.metadata.finalizers;
    metadata["finalizers"].push_back(std::string(api::kDeleteProtectionFinalizer));
    calls.push_back({"PATCH", claim_path(claim) + "?fieldManager=kube-scheduler", Json{{"metadata", metadata}}.dump()});
  }
  // Bound to the version in the finalizer's answer; see pre_bind().
  calls.push_back({"PATCH", claim_path(claim) + "/status?fieldManager=kube-scheduler",
                   Json{{"metadata", version}, {"status", status}}.dump()});
}

void FakeScheduler::pre_bind(const std::shared_ptr<Attempt>& attempt) {
  std::vector<ChainedCall> calls;
  for (size_t i = 0; i < attempt->claims.size(); ++i) bind_claim_calls(*attempt, i, calls);
  stats_.claim_writes += calls.size();
  stats_.allocations += attempt->decided.size();
  const api::Pod& pod = *attempt->pod;
  // 1.35 and later: observers must know the node before PreBind, which may take long (KEP-5278).
  if (!attempt->claims.empty() && pod.nominated_node_name != attempt->node) {
    ++stats_.nominations;
    ChainedCall nominate{"PATCH", path_of(kPods, pod.metadata, "status"),
                         Json{{"status", {{"nominatedNodeName", attempt->node}}}}.dump()};
    nominate.also_fine = 404;
    calls.insert(calls.begin(), std::move(nominate));
  }
  const Json binding{{"apiVersion", "v1"},
                     {"kind", "Binding"},
                     {"metadata", {{"name", pod.metadata.name}, {"uid", pod.metadata.uid}}},
                     {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", attempt->node}}}};
  std::vector<ChainedCall> first(calls.begin(), calls.begin() + (calls.empty() ? 0 : 1));
  std::vector<ChainedCall> rest(calls.begin() + static_cast<long>(first.size()), calls.end());
  rest.push_back({"POST", path_of(kPods, pod.metadata, "binding"), binding.dump(), "application/json"});
  if (first.empty()) first = std::exchange(rest, {});
  // Each call is added when the previous one was answered: a status write after a finalizer write must carry the new
  // version.
  auto queue = std::make_shared<std::vector<ChainedCall>>(std::move(rest));
  auto at = std::make_shared<size_t>(0);
  chain_ = CallChain::run(
      reactor_, transport_, std::move(first),
      [this, attempt](bool ok, const std::string& why) {
        if (!ok) return unreserve(attempt, why);
        bound_.insert(attempt->pod->metadata.uid);
        if (events_) report_binding(*attempt);
        tracker_.assume(*attempt->pod, attempt->node);
        worker_.finish(attempt->key, true);
      },
      [queue, at](CallChain& chain, const client::Response& answer) {
        if (*at == queue->size()) return;
        ChainedCall next = (*queue)[(*at)++];
        const Json object = Json::parse(answer.body, nullptr, false);
        Json body = Json::parse(next.body);
        if (object.is_object() && object.value("kind", "") == "ResourceClaim" &&
            object["metadata"]["uid"] == body["metadata"].value("uid", "")) {
          body["metadata"]["resourceVersion"] = object["metadata"]["resourceVersion"];
          next.body = body.dump();
        }
        chain.add(std::move(next));
      });
}

void FakeScheduler::unreserve(const std::shared_ptr<Attempt>& attempt, const std::string& why) {
  ++stats_.failures;
  stats_.last_failure = why;
  std::vector<ChainedCall> calls;
  for (size_t i = 0; i < attempt->claims.size(); ++i) {
    inventory_.forget(attempt->claims[i]->metadata.uid);
    const auto now = claims_.store().get(attempt->claims[i]->metadata.key());
    if (!now || !now->status.allocation || !protocol::is_reserved_for(*now, attempt->pod->metadata.uid)) continue;
    const Json body{{"metadata", {{"uid", now->metadata.uid}}},
                    {"status", {{"reservedFor", {{{"$patch", "delete"}, {"uid", attempt->pod->metadata.uid}}}}}}};
    calls.push_back({"PATCH", claim_path(*now) + "/status?fieldManager=kube-scheduler", body.dump(),
                     "application/strategic-merge-patch+json"});
  }
  stats_.claim_writes += calls.size();
  chain_ = CallChain::run(reactor_, transport_, std::move(calls),
                          [this, attempt](bool, const std::string&) { worker_.finish(attempt->key, false); });
}

}  // namespace dra::fake_scheduler
