#include "test/integration/garbage_collector.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "pkg/protocol/pod_claims.h"
#include "test/integration/api.h"

namespace dra::integration {
namespace {

client::ReflectorOptions collected(const char* group, const char* plural, const char* kind) {
  client::ReflectorOptions options;
  options.resource = {group, "v1", plural, kind, true};
  return options;
}

}  // namespace

GarbageCollector::GarbageCollector(Reactor& reactor, client::Transport& transport, Random& random)
    : reactor_(reactor),
      transport_(transport),
      pods_(reactor, transport, random, collected("", "pods", "Pod")),
      claims_(reactor, transport, random, collected("resource.k8s.io", "resourceclaims", "ResourceClaim")) {
  claims_.store().add_index("owner", [](const api::ResourceClaim& claim) {
    const api::OwnerReference* owner = protocol::pod_owner(claim);
    return owner ? std::vector<std::string>{owner->uid} : std::vector<std::string>{};
  });
  claims_.store().on_change([this](const client::Change<api::ResourceClaim>& change) {
    if (change.after) check(*change.after);
  });
  pods_.store().on_change([this](const client::Change<api::Pod>& change) {
    if (change.after) return;
    for (const auto& claim : claims_.store().by_index("owner", change.before->metadata.uid)) check(*claim);
  });
  pods_.start();
  claims_.start();
}

GarbageCollector::~GarbageCollector() {
  for (auto& [uid, chain] : chains_) chain->cancel();
}

void GarbageCollector::check(const api::ResourceClaim& claim) {
  const api::OwnerReference* owner = protocol::pod_owner(claim);
  if (!owner || claim.metadata.deleting() || chains_.contains(claim.metadata.uid)) return;
  const auto known = pods_.store().get(claim.metadata.ns + "/" + owner->name);
  if (known && known->metadata.uid == owner->uid) return;
  const ChainedCall removal{"DELETE", Api::path("ResourceClaim", claim.metadata.name, claim.metadata.ns),
                            Json{{"preconditions", {{"uid", claim.metadata.uid}}}}.dump(), "application/json", 404};
  chains_[claim.metadata.uid] = CallChain::run(
      reactor_, transport_, {{"GET", Api::path("Pod", owner->name, claim.metadata.ns), "", "", 404}},
      [this, uid = claim.metadata.uid](bool, const std::string&) { chains_.erase(uid); },
      [removal, owner_uid = owner->uid, asked = true](CallChain& chain, const client::Response& answer) mutable {
        if (!std::exchange(asked, false)) return;
        if (answer.status == 404 || answer.body.find(owner_uid) == std::string::npos) chain.add(removal);
      });
}

}  // namespace dra::integration
