#include "pkg/inspect/verbs/rollout.h"

#include <algorithm>
#include <vector>

#include "pkg/inspect/state/successor.h"

namespace dra::inspect {
namespace {

// Running pods of another ReplicaSet of the Deployment that are older and hold devices, the oldest first.
std::vector<const api::Pod*> older_holders(const Objects& objects, const api::Pod& waiting,
                                           const std::string& deployment) {
  std::vector<const api::Pod*> found;
  for (const auto& [key, pod] : objects.pods) {
    if (pod->metadata.ns != waiting.metadata.ns || pod->node_name.empty() || pod->terminal() ||
        deployment_of(*pod) != deployment || pod->metadata.controller()->uid == waiting.metadata.controller()->uid ||
        pod->metadata.creation_timestamp > waiting.metadata.creation_timestamp)
      continue;
    const UsedClaims claims = claims_used_by(objects, *pod);
    if (std::any_of(claims.begin(), claims.end(), [](const Claim& claim) { return claim->status.allocation; }))
      found.push_back(pod.get());
  }
  std::stable_sort(found.begin(), found.end(), [](const api::Pod* a, const api::Pod* b) {
    return a->metadata.creation_timestamp < b->metadata.creation_timestamp;
  });
  return found;
}

// Claims that others use as well stay allocated.
void leave(State& state, const api::Pod& pod) {
  std::vector<Claim> freed;
  for (const Claim& claim : claims_used_by(state.objects, pod))
    if (claim->status.reserved_for.size() <= 1) freed.push_back(claim);
  for (const Claim& claim : freed) state.inventory.remove_claim(claim->metadata.uid);
  state.leave_node(pod.metadata.uid);
}

}  // namespace

std::string deployment_of(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.metadata.controller();
  if (owner == nullptr || owner->kind != "ReplicaSet") return "";
  const size_t dash = owner->name.rfind('-');
  return dash == std::string::npos ? "" : owner->name.substr(0, dash);
}

std::optional<BlockedRollout> blocked_rollout(const Objects& objects, const StateOptions& options,
                                              const api::Pod& waiting) {
  const std::string deployment = deployment_of(waiting);
  if (deployment.empty() || !waiting.node_name.empty() || waiting.terminal()) return std::nullopt;
  const std::vector<const api::Pod*> holders = older_holders(objects, waiting, deployment);
  const auto claims = claims_of(objects, waiting);
  if (holders.empty() || !claims) return std::nullopt;
  BlockedRollout blocked{waiting.metadata.ns + "/" + deployment, waiting.metadata.key(), holders[0]->metadata.key()};
  StateOptions quiet = options;
  quiet.explain_refusals = false;
  State state(objects, quiet);
  const auto fits = [&] { return state.place(&waiting, *claims).outcome == allocator::Outcome::kFeasible; };
  leave(state, *holders[0]);
  if (fits()) return blocked;
  if (holders.size() == 1) return std::nullopt;
  for (size_t i = 1; i < holders.size(); ++i) leave(state, *holders[i]);
  blocked.all = true;
  return fits() ? std::optional(blocked) : std::nullopt;
}

std::string words_of(const BlockedRollout& blocked) {
  return (blocked.all
              ? "the older pods of Deployment " + blocked.deployment + " hold together"
              : "pod " + blocked.holder + ", an older replica of Deployment " + blocked.deployment + ", holds") +
         " what its new pod " + blocked.waiting + " waits for";
}

std::string remedy_of(const BlockedRollout& blocked) {
  const size_t slash = blocked.deployment.find('/');
  const std::string patch = "kubectl patch deployment -n " + blocked.deployment.substr(0, slash) + " " +
                            blocked.deployment.substr(slash + 1) + " --type=merge -p ";
  return std::string(
             "a rolling update removes no older pod before a new one runs, if maxUnavailable is 0 (the default "
             "of 25% is, with fewer than 4 replicas); ") +
         (blocked.all ? "strategy Recreate lets it proceed: " + patch +
                            R"('{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}')"
                      : "maxUnavailable 1, or strategy Recreate, lets it proceed: " + patch +
                            R"('{"spec":{"strategy":{"rollingUpdate":{"maxUnavailable":1}}}}')");
}

}  // namespace dra::inspect
