#include "test/integration/claim_controller.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/api/encode.h"
#include "pkg/protocol/pod_claims.h"
#include "test/integration/api.h"

namespace dra::integration {
namespace {

client::ReflectorOptions watching_kind(const char* group, const char* plural, const char* kind) {
  client::ReflectorOptions options;
  options.resource = {group, "v1", plural, kind, true};
  return options;
}
const char* const kManager = "fieldManager=kube-controller-manager";

std::string path_of(const api::ResourceClaim& claim) {
  return Api::path("ResourceClaim", claim.metadata.name, claim.metadata.ns);
}

ChainedCall patch(const api::ResourceClaim& claim, const std::string& subresource, Json body) {
  body["metadata"]["uid"] = claim.metadata.uid;
  body["metadata"]["resourceVersion"] = claim.metadata.resource_version;
  return {"PATCH", path_of(claim) + subresource + "?" + kManager, body.dump()};
}

}  // namespace

ClaimController::ClaimController(Reactor& reactor, client::Transport& transport, Random& random)
    : reactor_(reactor),
      transport_(transport),
      traits_(std::make_shared<client::ServerTraits>()),
      pods_(reactor, transport, random, watching_kind("", "pods", "Pod"), traits_),
      claims_(reactor, transport, random, watching_kind("resource.k8s.io", "resourceclaims", "ResourceClaim"), traits_),
      templates_(reactor, transport, random,
                 watching_kind("resource.k8s.io", "resourceclaimtemplates", "ResourceClaimTemplate"), traits_),
      worker_(
          reactor, {}, [this] { return pods_.synced() && claims_.synced() && templates_.synced(); },
          [this](const std::string& key) { work(key); }) {
  listen();
}

ClaimController::~ClaimController() {
  if (chain_) chain_->cancel();
}

void ClaimController::start() {
  for (client::ObjectStore* store : {&pods_.objects(), &claims_.objects(), &templates_.objects()})
    store->on_replaced([this] { worker_.look(); });
  pods_.start();
  claims_.start();
  templates_.start();
}

void ClaimController::listen() {
  pods_.store().add_index("claim", [](const api::Pod& pod) { return protocol::claim_keys_of(pod); });
  pods_.store().add_index("template", [](const api::Pod& pod) { return protocol::template_keys_of(pod); });
  pods_.store().on_change([this](const client::Change<api::Pod>& change) { on_pod(change); });
  claims_.store().on_change([this](const client::Change<api::ResourceClaim>& change) {
    const api::ResourceClaim& claim = change.after ? *change.after : *change.before;
    if (change.after) worker_.add("claim:" + claim.metadata.key());
    for (const auto& pod : pods_.store().by_index("claim", claim.metadata.key()))
      worker_.add("pod:" + pod->metadata.key());
  });
  templates_.store().on_change([this](const client::Change<api::ResourceClaimTemplate>& change) {
    if (!change.after) return;
    for (const auto& pod : pods_.store().by_index("template", change.after->metadata.key()))
      worker_.add("pod:" + pod->metadata.key());
  });
}

void ClaimController::on_pod(const client::Change<api::Pod>& change) {
  const api::Pod& pod = change.after ? *change.after : *change.before;
  if (change.after) worker_.add("pod:" + pod.metadata.key());
  if (!change.after) made_.erase(pod.metadata.uid);
  if (!change.after || pod.done())
    for (const std::string& key : protocol::claim_keys_of(pod)) worker_.add("claim:" + key);
}

void ClaimController::work(const std::string& key) {
  if (key.rfind("pod:", 0) == 0) {
    if (const auto pod = pods_.store().get(key.substr(4))) return sync_pod(key, *pod);
  } else if (const auto claim = claims_.store().get(key.substr(6))) {
    return sync_claim(key, *claim);
  }
  worker_.finish(key, true);
}

void ClaimController::sync_pod(const std::string& key, const api::Pod& pod) {
  if (pod.metadata.deleting() || pod.terminal()) return worker_.finish(key, true);
  std::map<std::string, std::string> names;  // the complete set; upstream's partial one is a bug there
  std::vector<ChainedCall> calls;
  bool news = false;
  auto& made = made_[pod.metadata.uid];
  for (const api::PodResourceClaim& entry : pod.resource_claims) {
    if (!entry.resource_claim_template_name) continue;
    const api::PodResourceClaimStatus* published = protocol::published_claim(pod, entry.name);
    if (published && !published->resource_claim_name) continue;
    if (published && claims_.store().get(pod.metadata.ns + "/" + *published->resource_claim_name)) {
      names[entry.name] = *published->resource_claim_name;
      made.erase(entry.name);
      continue;
    }
    if (const auto known = made.find(entry.name); known != made.end()) {
      news = news || !published || *published->resource_claim_name != known->second;
      names[entry.name] = known->second;
      continue;
    }
    news = true;
    for (const auto& claim : claims_.store().list())
      if (protocol::is_for_pod(pod, *claim) && claim->metadata.annotations.contains(api::kPodClaimNameAnnotation) &&
          claim->metadata.annotations.find(api::kPodClaimNameAnnotation)->second == entry.name)
        names[entry.name] = claim->metadata.name;
    if (names.contains(entry.name)) continue;
    const auto from = templates_.store().get(pod.metadata.ns + "/" + *entry.resource_claim_template_name);
    if (!from) return worker_.finish(key, true);
    Json metadata{{"generateName", pod.metadata.name + "-" + entry.name + "-"},
                  {"namespace", pod.metadata.ns},
                  {"labels", from->claim_labels},
                  {"annotations", from->claim_annotations},
                  {"ownerReferences",
                   {{{"apiVersion", "v1"},
                     {"kind", "Pod"},
                     {"name", pod.metadata.name},
                     {"uid", pod.metadata.uid},
                     {"controller", true}}}}};
    metadata["annotations"][std::string(api::kPodClaimNameAnnotation)] = entry.name;
    const Json body{{"apiVersion", "resource.k8s.io/v1"},
                    {"kind", "ResourceClaim"},
                    {"metadata", std::move(metadata)},
                    {"spec", Json::parse(from->spec_json)}};
    calls.push_back(
        {"POST", Api::path("ResourceClaim", "", pod.metadata.ns) + "?" + kManager, body.dump(), "application/json"});
  }
  if (!pod.node_name.empty())
    for (const std::string& claim_key : protocol::claim_keys_of(pod)) {
      const auto claim = claims_.store().get(claim_key);
      if (!claim || !claim->status.allocation || protocol::is_reserved_for(*claim, pod.metadata.uid)) continue;
      Json consumers = Json::array();
      for (const auto& consumer : claim->status.reserved_for) consumers.push_back(Json::parse(api::encode(consumer)));
      consumers.push_back(Json::parse(api::encode(protocol::pod_reference(pod))));
      calls.push_back(patch(*claim, "/status", {{"status", {{"reservedFor", consumers}}}}));
    }
  if (!news) return run(key, std::move(calls));
  // Creates come first; their answers name the claims that the apply then publishes.
  const size_t creates = static_cast<size_t>(
      std::count_if(calls.begin(), calls.end(), [](const ChainedCall& call) { return call.method == "POST"; }));
  auto left = std::make_shared<size_t>(creates);
  auto set = std::make_shared<std::map<std::string, std::string>>(std::move(names));
  const auto publish = [pod, set] {
    Json statuses = Json::array();
    for (const auto& [entry, name] : *set) statuses.push_back({{"name", entry}, {"resourceClaimName", name}});
    const Json body{
        {"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata", {{"name", pod.metadata.name}, {"namespace", pod.metadata.ns}, {"uid", pod.metadata.uid}}},
        {"status", {{"resourceClaimStatuses", std::move(statuses)}}}};
    return ChainedCall{"PATCH",
                       Api::path("Pod", pod.metadata.name, pod.metadata.ns) +
                           "/status?fieldManager=ResourceClaimController&force=true",
                       body.dump(), "application/apply-patch+yaml"};
  };
  if (creates == 0) {
    calls.insert(calls.begin(), publish());
    return run(key, std::move(calls));
  }
  const std::string uid = pod.metadata.uid;
  run(key, std::move(calls), [this, left, set, publish, uid](CallChain& chain, const client::Response& answer) {
    const Json object = Json::parse(answer.body, nullptr, false);
    if (*left == 0 || !object.is_object() || object.value("kind", "") != "ResourceClaim") return;
    const std::string entry = object["metadata"]["annotations"].value(std::string(api::kPodClaimNameAnnotation), "");
    (*set)[entry] = made_[uid][entry] = object["metadata"]["name"].get<std::string>();
    if (--*left == 0) chain.add(publish());
  });
}

bool ClaimController::consumer_gone(const api::ResourceClaim& claim, const std::string& name,
                                    const std::string& uid) const {
  const auto pod = pods_.store().get(claim.metadata.ns + "/" + name);
  return !pod || pod->metadata.uid != uid || pod->done();
}

void ClaimController::sync_claim(const std::string& key, const api::ResourceClaim& claim) {
  Json remaining = Json::array();
  for (const auto& consumer : claim.status.reserved_for)
    if (!protocol::is_pod_reference(consumer) || !consumer_gone(claim, consumer.name, consumer.uid))
      remaining.push_back(Json::parse(api::encode(consumer)));
  const bool finalizer = claim.metadata.has_finalizer(api::kDeleteProtectionFinalizer);
  const bool shrank = remaining.size() < claim.status.reserved_for.size();
  const bool empty = remaining.empty();
  if (shrank || (finalizer && claim.metadata.deleting() && empty && claim.status.allocation)) {
    Json status{{"reservedFor", empty ? Json(nullptr) : remaining}};
    if (empty && finalizer) status["allocation"] = nullptr;
    // Two writes, as upstream: the second one if the answer has the finalizer and no allocation.
    return run(key, {patch(claim, "/status", {{"status", status}})},
               [claim](CallChain& chain, const client::Response& answer) {
                 const Json object = Json::parse(answer.body, nullptr, false);
                 if (!object.is_object() || object["status"].contains("allocation")) return;
                 if (!object["metadata"].contains("finalizers")) return;
                 api::ResourceClaim now = claim;
                 now.metadata.resource_version = object["metadata"]["resourceVersion"].get<std::string>();
                 chain.add(patch(now, "", {{"metadata", {{"finalizers", nullptr}}}}));
               });
  }
  const api::OwnerReference* owner = protocol::pod_owner(claim);
  const auto pod = owner ? pods_.store().get(claim.metadata.ns + "/" + owner->name) : nullptr;
  const bool owner_done = pod && (pod->metadata.uid != owner->uid || pod->done());
  if (finalizer && !claim.status.allocation && empty && claim.metadata.deleting())
    return run(key, {patch(claim, "", {{"metadata", {{"finalizers", nullptr}}}})});
  if (empty && owner_done && !claim.metadata.deleting()) return run(key, {{"DELETE", path_of(claim), "", "", 404}});
  worker_.finish(key, true);
}

void ClaimController::run(const std::string& key, std::vector<ChainedCall> calls, CallChain::Answered answered) {
  if (calls.empty()) return worker_.finish(key, true);
  writes_ += calls.size();
  chain_ = CallChain::run(
      reactor_, transport_, std::move(calls), [this, key](bool ok, const std::string&) { worker_.finish(key, ok); },
      std::move(answered));
}

}  // namespace dra::integration
