#include "controllers/allocation/pod/reserve.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "controllers/allocation/pod/node_takes.h"
#include "controllers/allocation/pod/report.h"
#include "pkg/alignment/bears.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/group_claims.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/leaving.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/rails.h"
#include "pkg/protocol/users.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// About a pod: this allocation, on a node that it fits, is to be reserved for it.
constexpr std::string_view kReadyNote = "ready-to-reserve";
// About a pod: the version of the claim for which its write took others along.
constexpr std::string_view kTookAlongNote = "took-along";
// About a claim: its consumers were written.
constexpr std::string_view kReservedNote = "reserved";

// What the pod found may have changed since.
constexpr Duration kFreshNote = std::chrono::seconds(2);

// One allocation of one claim: a mark names its pod, too, so no other allocation has it.
std::string ready_for(const api::ResourceClaim& claim) {
  const auto mark = claim.metadata.annotations.find(kProofAnnotation);
  return claim.metadata.uid + (mark == claim.metadata.annotations.end() ? "" : " " + mark->second);
}

// Whether these devices are what the pod asks for, its own reconcile finds out before it is listed (use_is_aligned()).
bool asks_for_aligned_devices(const PodContext& context, const api::Pod& other) {
  return !alignment::first_annotation(other.metadata.annotations).empty() || asks_for_rails(context.view, other);
}

// Still held back by us, and not about to leave the claim.
bool may_be_taken_along(const PodContext& context, const api::Pod& other, const api::ResourceClaim& claim) {
  const Role role = role_of(other, context.tools.options);
  return (role == Role::kGated || role == Role::kToBind) && other.metadata.uid != context.pod.metadata.uid &&
         !leaving_of(other).contains(claim.metadata.uid) && !asks_for_aligned_devices(context, other);
}

// The pods that came to the same point, those of high priority first.
std::vector<const api::Pod*> ready_beside(const PodContext& context, const api::ResourceClaim& claim) {
  const std::string ready = ready_for(claim);
  std::vector<const api::Pod*> pods = context.view.pods_of_claim(claim.metadata.key());
  std::erase_if(pods, [&](const api::Pod* other) {
    const std::optional<View::Noted> note = context.view.note(other->metadata.uid, kReadyNote);
    return !note || note->text != ready || note->age > kFreshNote || !may_be_taken_along(context, *other, claim) ||
           is_reserved_for(claim, other->metadata.uid) || has_left(claim, other->metadata.uid);
  });
  std::stable_sort(pods.begin(), pods.end(),
                   [](const api::Pod* a, const api::Pod* b) { return a->priority > b->priority; });
  return pods;
}

// The claim of a PodGroup is reserved for it alone: the reservation of the pod that allocated it goes.
void reserve_for_group(const PodContext& context, const protocol::ClaimState& state, const nodes::NodeChoice& choice,
                       ReconcileResult& out) {
  const api::ResourceClaim& claim = *state.claim;
  std::vector<api::ResourceClaimConsumerReference> consumers = claim.status.reserved_for;
  std::erase_if(consumers, [&](const auto& consumer) {
    if (!is_pod_reference(consumer)) return false;
    const api::Pod* pod = context.view.pod(claim.metadata.ns + "/" + consumer.name);
    return pod != nullptr && pod->metadata.uid == consumer.uid && pod->pod_group_name == context.pod.pod_group_name &&
           is_claim_of_group(context.view, *pod, claim);
  });
  consumers.push_back(group_reference(*pod_group_of(context.view, context.pod)));
  Write write = write_reservations(claim, consumers, "reserve");
  if (choice.nodes.size() == 1) write.assume_pod = assumed_on(context, std::string(choice.nodes.front()));
  out.add(std::move(write));
}

// Of a claim of the PodGroup: the pods that it is reserved for and that are not listed.
std::vector<const api::Pod*> unlisted_of_group(const PodContext& context, const api::ResourceClaim& claim) {
  std::set<std::string> listed;
  for (User& user : users_of(claim)) listed.insert(std::move(user.uid));
  std::vector<const api::Pod*> pods = context.view.pods_of_claim(claim.metadata.key());
  std::erase_if(pods, [&](const api::Pod* other) {
    return listed.contains(other->metadata.uid) || other->pod_group_name != context.pod.pod_group_name ||
           !may_be_taken_along(context, *other, claim) || !is_claim_of_group(context.view, *other, claim);
  });
  return pods;
}

// The pods that are reserved and not listed.
std::vector<const api::Pod*> unlisted_beside(const PodContext& context, const api::ResourceClaim& claim) {
  std::set<std::string> listed;  // those that left, too
  for (User& user : users_of(claim)) listed.insert(std::move(user.uid));
  std::vector<const api::Pod*> pods;
  for (const api::ResourceClaimConsumerReference& consumer : claim.status.reserved_for) {
    if (listed.contains(consumer.uid)) continue;
    const api::Pod* other = context.view.pod(claim.metadata.ns + "/" + consumer.name);
    if (other && other->metadata.uid == consumer.uid && may_be_taken_along(context, *other, claim))
      pods.push_back(other);
  }
  return pods;
}

// The last reservation of a claim of many pods was a moment ago.
bool pauses(const PodContext& context, const api::ResourceClaim& claim, ReconcileResult& out) {
  if (claim.status.reserved_for.size() < kManyConsumers || is_releasing(context)) return false;
  const std::optional<View::Noted> last = context.view.note(claim.metadata.uid, kReservedNote);
  if (!last || last->age >= kReservationPause) return false;
  out.requeue_in(kReservationPause - last->age);
  return true;
}

void reserve_with_others(const PodContext& context, const api::ResourceClaim& claim, const nodes::NodeChoice& choice,
                         ReconcileResult& out) {
  std::vector<const api::Pod*> pods{&context.pod};
  const std::string version = claim.metadata.uid + "@" + claim.metadata.resource_version;
  const std::optional<View::Noted> tried = context.view.note(context.pod.metadata.uid, kTookAlongNote);
  // Refused with others, perhaps because of one of them: then it goes alone.
  if (!tried || tried->text != version) {
    const std::vector<const api::Pod*> others = ready_beside(context, claim);
    pods.insert(pods.end(), others.begin(), others.end());
  }
  if (pods.size() > 1) out.add(Note{context.pod.metadata.uid, std::string(kTookAlongNote), version});
  std::vector<api::ResourceClaimConsumerReference> consumers = claim.status.reserved_for;
  pods.resize(std::min(pods.size(), api::kMaxReservedFor - consumers.size()));
  for (const api::Pod* pod : pods) consumers.push_back(pod_reference(*pod));
  note_use(context.view, claim, consumers);
  Write write = write_reservations(claim, consumers, "reserve");
  // From now on the pods count on the node chosen for them.
  if (choice.nodes.size() == 1) {
    write.assume_pod = assumed_on(context, std::string(choice.nodes.front()));
    for (const api::Pod* pod : std::span(pods).subspan(1))
      write.assume_beside.push_back({ref_of(*pod), std::string(choice.nodes.front())});
  }
  out.add(std::move(write));
  out.add(Note{claim.metadata.uid, std::string(kReservedNote), "a reservation"});
}

// The claim still has devices that could not be prepared for an earlier pod of the controller, and no pod runs with it:
// lifecycle frees it once its last consumer is gone, unless this pod reserves it before.
bool waits_to_be_freed(const PodContext& context, const api::ResourceClaim& claim, ReconcileResult& out) {
  if (is_releasing(context) || !claim.status.allocation) return false;
  const std::vector<AvoidedDevice> avoided = own_avoided_devices(context.view, context.pod);
  if (avoided.empty()) return false;
  const auto& results = claim.status.allocation->results;
  const auto bad = std::find_if(avoided.begin(), avoided.end(), [&](const AvoidedDevice& one) {
    return std::any_of(results.begin(), results.end(), [&](const api::DeviceRequestAllocationResult& result) {
      return one.name == inventory::DeviceName{result.driver, result.pool, result.device};
    });
  });
  if (bad == avoided.end()) return false;
  const std::vector<const api::Pod*> pods = context.view.pods_of_claim(claim.metadata.key());
  if (std::any_of(pods.begin(), pods.end(), [](const api::Pod* other) { return other->phase == "Running"; }))
    return false;
  complain(context,
           {"FailedAllocation",
            "claim \"" + claim.metadata.key() + "\" still has device " + bad->name.text() +
                ", which could not be prepared: the pod waits until the last pod that uses the claim is gone, and the "
                "claim is allocated anew",
            bad->name.text()},
           out);
  out.requeue_in(std::chrono::seconds(1));
  return true;
}

}  // namespace

bool reserve_claims(const PodContext& context, const nodes::NodeChoice& choice, ReconcileResult& out) {
  bool busy = false;
  for (const protocol::ClaimState& state : context.state.claims) {
    if (state.of_group ? state.reserved_for_group : state.reserved) {
      // kube-scheduler must see the reservation before it sees the pod ungated: otherwise it would write its own
      // reservation and fail. Its watches are about as old as ours.
      busy = busy || (context.role == Role::kGated && !is_releasing(context) && !state.reserved_in_stream);
      continue;
    }
    const api::ResourceClaim& claim = *state.claim;
    if (claim.status.reserved_for.size() >= api::kMaxReservedFor) {
      complain(context,
               {"FailedAllocation",
                "claim \"" + claim.metadata.key() + "\" has " + std::to_string(api::kMaxReservedFor) +
                    " consumers, which is the most a claim can have",
                "full"},
               out);
      busy = busy || !is_releasing(context);
      continue;
    }
    busy = true;
    if (!state.of_group && waits_to_be_freed(context, claim, out)) continue;
    if (state.of_group) {
      reserve_for_group(context, state, choice, out);
      continue;
    }
    if (!state.left) out.add(Note{context.pod.metadata.uid, std::string(kReadyNote), ready_for(claim)});
    if (!pauses(context, claim, out))
      reserve_with_others(context, claim, choice, out);
    else if (choice.nodes.size() == 1)
      out.add(HoldPlace{assumed_on(context, std::string(choice.nodes.front()))});
  }
  return busy;
}

void forget_ready(const PodContext& context, ReconcileResult& out) {
  const std::string& uid = context.pod.metadata.uid;
  if (context.view.note(uid, kReadyNote)) out.add(Note{uid, std::string(kReadyNote), ""});
}

bool enlist_pod(const PodContext& context, ReconcileResult& out) {
  bool busy = false;
  for (const protocol::ClaimState& state : context.state.claims) {
    if (state.listed || !state.reserved) continue;
    const api::ResourceClaim& claim = *state.claim;
    busy = true;
    const std::vector<const api::Pod*> others =
        state.of_group ? unlisted_of_group(context, claim) : unlisted_beside(context, claim);
    if (enlist(context.view, context.pod, claim, others, out) != Enlisting::kFull) continue;
    complain(context,
             {"FailedAllocation",
              "claim \"" + claim.metadata.key() +
                  "\" has more pods than can be listed as its users; give some pods a claim of their own",
              "users"},
             out);
    busy = !is_releasing(context);
  }
  return busy;
}

}  // namespace dra::allocation
