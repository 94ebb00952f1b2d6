#include "controllers/allocation/pod/node_takes.h"

#include <algorithm>
#include <utility>

#include "controllers/allocation/pod/report.h"
#include "pkg/inventory/inventory.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// After this many writes of the pod's status without effect, the API server is taken not to keep the field.
constexpr uint64_t kMostLostWrites = 3;

// Most clusters have no such devices. What a status says of earlier ones is removed.
bool may_take(const PodContext& context) {
  return context.tools.inventory.any_takes() || context.pod.claims_take;
}

// What the results take; false: a device is not published, so it is not known.
bool add_results(const inventory::Inventory& inventory, const api::AllocationResult& allocation,
                 inventory::Taken& sum) {
  for (const api::DeviceRequestAllocationResult& result : allocation.results) {
    bool known = false;
    const inventory::NodeTakes* takes = inventory.takes_of({result.driver, result.pool, result.device}, known);
    if (!known) return false;
    if (takes == nullptr) continue;
    inventory::add_taken(
        *takes,
        [&](const std::string& capacity) -> std::optional<api::Quantity> {
          const auto consumed = result.consumed_capacity.find(capacity);
          if (consumed == result.consumed_capacity.end()) return std::nullopt;
          const Result<api::Quantity> amount = api::Quantity::parse(consumed->second);
          return amount ? std::optional(*amount) : std::nullopt;
        },
        sum);
  }
  return true;
}

void add_claim(const PodContext& context, const api::ResourceClaim& claim, const api::AllocationResult& allocation,
               std::vector<api::ClaimTakes>& out) {
  inventory::Taken sum;
  if (!add_results(context.tools.inventory, allocation, sum)) {
    if (!context.pod.claims_take) return;
    for (const api::ClaimTakes& said : *context.pod.claims_take)
      if (said.claim == claim.metadata.name) out.push_back(said);
    return;
  }
  if (sum.empty()) return;
  api::ClaimTakes& one = out.emplace_back();
  one.claim = claim.metadata.name;
  for (const auto& [resource, amount] : sum) one.resources[resource] = amount.to_string();
}

std::vector<api::ClaimTakes> sorted(std::vector<api::ClaimTakes> takes) {
  std::sort(takes.begin(), takes.end(), [](const auto& a, const auto& b) { return a.claim < b.claim; });
  return takes;
}

bool same_amounts(const api::ResourceList& a, const api::ResourceList& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    const Result<api::Quantity> left = api::Quantity::parse(x.second), right = api::Quantity::parse(y.second);
    return x.first == y.first && left && right && *left == *right;
  });
}

bool says(const api::Pod& pod, const std::vector<api::ClaimTakes>& takes) {
  static const std::vector<api::ClaimTakes> none;
  const std::vector<api::ClaimTakes>& said = pod.claims_take ? *pod.claims_take : none;
  return std::equal(said.begin(), said.end(), takes.begin(), takes.end(), [](const auto& a, const auto& b) {
    return a.claim == b.claim && same_amounts(a.resources, b.resources);
  });
}

std::string resources_of(const api::ClaimTakes& takes) {
  std::string text;
  for (const auto& [resource, amount] : takes.resources)
    text += (text.empty() ? "" : " and ") + amount + " " + resource;
  return text;
}

// Why the claim, which takes something of the node, cannot be used by this pod; empty: it can.
std::string why_not_alone(const PodContext& context, const protocol::ClaimState& state, const api::ClaimTakes& takes) {
  const api::ResourceClaim& claim = *state.claim;
  const std::string what =
      "claim \"" + claim.metadata.key() + "\" takes " + resources_of(takes) + " of the node besides its devices";
  if (containers_of_claim(context.pod, claim.metadata.name).empty())
    return what + ", and no container of this pod uses it: name it in a container's resources.claims";
  if (state.of_group) return what + ", which is not supported for the claim of a PodGroup: give each pod its own";
  for (const api::ResourceClaimConsumerReference& consumer : claim.status.reserved_for)
    if (consumer.uid != context.pod.metadata.uid && !is_keep_reference(consumer))
      return what + ", so one pod at a time uses it, and " + consumer.resource + " \"" + consumer.name +
             "\" does: give each pod its own claim";
  return "";
}

}  // namespace

std::vector<api::ClaimTakes> takes_of(const PodContext& context) {
  std::vector<api::ClaimTakes> takes;
  if (!may_take(context)) return takes;
  for (const protocol::ClaimState& state : context.state.claims)
    if (state.allocated()) add_claim(context, *state.claim, *state.claim->status.allocation, takes);
  return sorted(std::move(takes));
}

std::vector<api::ClaimTakes> takes_with(const PodContext& context, const allocator::Request& request,
                                        const allocator::Decision& decision) {
  std::vector<api::ClaimTakes> takes = takes_of(context);
  if (!decision.takes_of_node) return takes;
  for (size_t i = 0; i < request.claims.size(); ++i)
    add_claim(context, *request.claims[i], decision.results.at(i), takes);
  return sorted(std::move(takes));
}

std::optional<api::Pod> pod_with_takes(const PodContext& context) {
  if (context.role != Role::kToBind || !may_take(context)) return std::nullopt;
  std::vector<api::ClaimTakes> takes = takes_of(context);
  if (takes.empty() && !context.pod.claims_take) return std::nullopt;
  std::optional<api::Pod> pod = context.pod;
  pod->claims_take.reset();
  if (!takes.empty()) pod->claims_take = std::move(takes);
  return pod;
}

bool is_refused_takes(const PodContext& context) {
  const std::vector<protocol::ClaimState>& claims = context.state.claims;
  return context.tools.inventory.any_takes() &&
         std::any_of(claims.begin(), claims.end(), [&](const protocol::ClaimState& state) {
           return !state.allocated() &&
                  (state.of_group || containers_of_claim(context.pod, state.claim->metadata.name).empty());
         });
}

allocator::RoomOnNode room_for_takes(const PodContext& context) {
  if (context.role != Role::kToBind || context.group != nullptr || !context.extended.empty() ||
      context.claimed != nullptr || is_releasing(context) || !context.tools.inventory.any_takes())
    return nullptr;
  if (is_refused_takes(context)) return nullptr;
  auto room = context.tools.nodes.room_for(pod_with_takes(context).value_or(context.pod));
  if (!room) return nullptr;
  return [room = std::move(room), &inventory = context.tools.inventory](
             allocator::NodeId node, const std::string& resource) { return room(inventory.node_name(node), resource); };
}

AssumedPod assumed_on(const PodContext& context, std::string node) {
  AssumedPod assumed{ref_of(context.pod), std::move(node)};
  if (std::vector<api::ClaimTakes> takes = takes_of(context); !takes.empty()) assumed.takes = std::move(takes);
  return assumed;
}

bool takes_alone(const PodContext& context, ReconcileResult& out) {
  if (context.role != Role::kToBind) return true;
  for (const api::ClaimTakes& takes : takes_of(context)) {
    for (const protocol::ClaimState& state : context.state.claims) {
      if (state.claim->metadata.name != takes.claim) continue;
      const std::string why = why_not_alone(context, state, takes);
      if (why.empty()) continue;
      say_waiting(context, {"FailedScheduling", why, why}, Fit::kUndecided, out);
      out.requeue_in(std::chrono::seconds(60));
      return false;
    }
  }
  return true;
}

bool publish_takes(const PodContext& context, const nodes::NodeChoice& choice, ReconcileResult& out) {
  const api::Pod& pod = context.pod;
  if (!may_take(context)) return true;
  const std::vector<api::ClaimTakes> takes = takes_of(context);
  if (says(pod, takes)) return true;
  const std::string tally = pod.metadata.uid + "/node-resources";
  if (context.view.tallied(tally) >= kMostLostWrites) {
    say_waiting(context,
                {"FailedScheduling",
                 "the API server does not keep status.nodeAllocatableResourceClaimStatuses of this pod: what its "
                 "devices take of the node would count for nobody. Switch the feature gate "
                 "DRANodeAllocatableResources on in kube-apiserver",
                 "node-resources"},
                Fit::kUndecided, out);
    out.requeue_in(std::chrono::seconds(60));
    return false;
  }
  Write write = write_claims_take(pod, takes);
  write.tally.push_back(tally);
  if (choice.nodes.size() == 1) write.assume_pod = assumed_on(context, std::string(choice.nodes.front()));
  out.add(std::move(write));
  return false;
}

}  // namespace dra::allocation
