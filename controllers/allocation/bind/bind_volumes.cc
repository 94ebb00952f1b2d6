// Volumes that wait for their first consumer, bound before the pod is, as by kube-scheduler's VolumeBinding plugin: an
// unbound claim that a volume fits gets that volume (the volume's claimRef); any other claim gets its node
// (volume.kubernetes.io/selected-node), for which the provisioner makes a volume. kube-controller-manager binds both.
//
// The mark below records on the object for which node, and since when, this was requested. It shows that a
// selected-node which has disappeared was given up by the provisioner, and it keeps the time limit across restarts.
#include <nlohmann/json.hpp>

#include "controllers/allocation/bind/bind_steps.h"
#include "controllers/allocation/causes.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

using Json = nlohmann::json;

// "<node> <time>" on a claim or a volume; one of the annotations that pkg/api keeps.
constexpr const char* kVolumeBindingAnnotation = "dra-controller-manager/volume-binding";
constexpr const char* kBoundByController = "pv.kubernetes.io/bound-by-controller";
constexpr Duration kLimit = std::chrono::seconds(600);  // kube-scheduler's bindTimeoutSeconds
constexpr Duration kWaitWorthAnEvent = std::chrono::seconds(30);

std::string mark(const std::string& node, WallTime now) {
  return node + " " + format_rfc3339(now);
}

// Since when the node is requested on the object; nothing when it is not, or when somebody else wrote nonsense.
std::optional<Timestamp> asked_since(const api::ObjectMeta& metadata, const std::string& node, WallTime now) {
  const auto found = metadata.annotations.find(kVolumeBindingAnnotation);
  Timestamp since;
  if (found == metadata.annotations.end() || !found->second.starts_with(node + " ") ||
      !parse_rfc3339(found->second.substr(node.size() + 1), since) || since > Timestamp(now) + std::chrono::minutes(1))
    return std::nullopt;
  return since;
}

Write patch(Kind kind, const api::ObjectMeta& metadata, Json body, const char* purpose) {
  Write write;
  write.verb = Verb::kMergePatch;
  write.object = ref_of(kind, metadata);
  write.resource_version = metadata.resource_version;
  write.purpose = purpose;
  body["metadata"]["uid"] = metadata.uid;
  body["metadata"]["resourceVersion"] = metadata.resource_version;
  write.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  return write;
}

Write write_selected_node(const api::PersistentVolumeClaim& claim, const std::string& node, WallTime now) {
  return patch(
      Kind::kVolumeClaim, claim.metadata,
      {{"metadata",
        {{"annotations", {{api::kSelectedNodeAnnotation, node}, {kVolumeBindingAnnotation, mark(node, now)}}}}}},
      "select-node");
}

Write write_unmarked(Kind kind, const api::ObjectMeta& metadata) {
  return patch(kind, metadata, {{"metadata", {{"annotations", {{kVolumeBindingAnnotation, nullptr}}}}}},
               "unmark-volume");
}

Write write_claim_ref(const nodes::VolumeNeeds::Pair& pair, const std::string& node, WallTime now) {
  const api::ObjectMeta& claim = pair.claim->metadata;
  Json annotations{{kVolumeBindingAnnotation, mark(node, now)}};
  // kube-controller-manager does not release a volume that somebody reserved for the claim by name.
  if (!pair.volume->claim_ref) annotations[kBoundByController] = "yes";
  return patch(Kind::kVolume, pair.volume->metadata,
               {{"metadata", {{"annotations", std::move(annotations)}}},
                {"spec",
                 {{"claimRef",
                   {{"apiVersion", "v1"},
                    {"kind", "PersistentVolumeClaim"},
                    {"namespace", claim.ns},
                    {"name", claim.name},
                    {"uid", claim.uid},
                    {"resourceVersion", claim.resource_version}}}}}},
               "bind-volume");
}

// What all claims of the pod wait for.
class Waiting {
 public:
  explicit Waiting(const BindContext& context) : node_(context.node), now_(context.view.now()) {}

  void provision(const api::PersistentVolumeClaim& claim) {
    const auto selected = claim.metadata.annotations.find(api::kSelectedNodeAnnotation);
    const std::optional<Timestamp> since = asked_since(claim.metadata, node_, now_);
    const bool is_selected = selected != claim.metadata.annotations.end() && selected->second == node_;
    if (since && !is_selected) {
      given_up_ =
          "the provisioner took node " + node_ + " back from persistentvolumeclaim " + quote(claim.metadata.name);
      unmark_.push_back(write_unmarked(Kind::kVolumeClaim, claim.metadata));
    } else if (!since) {
      writes_.push_back(write_selected_node(claim, node_, now_));
    } else {
      wait_since(*since, "persistentvolumeclaim " + quote(claim.metadata.name) + " to be provisioned");
      if (now_ - *since >= kLimit) unmark_.push_back(write_unmarked(Kind::kVolumeClaim, claim.metadata));
    }
  }

  void bind(const nodes::VolumeNeeds::Pair& pair) {
    const auto& ref = pair.volume->claim_ref;
    const std::optional<Timestamp> since = asked_since(pair.volume->metadata, node_, now_);
    if (!ref || ref->uid.empty() || !since) return writes_.push_back(write_claim_ref(pair, node_, now_));
    wait_since(*since, "persistentvolumeclaim " + quote(pair.claim->metadata.name) + " to be bound to " +
                           quote(pair.volume->metadata.name));
    if (now_ - *since >= kLimit) unmark_.push_back(write_unmarked(Kind::kVolume, pair.volume->metadata));
  }

  StepAnswer answer() && {
    if (given_up_.empty() && !what_.empty() && now_ - since_ >= kLimit)
      given_up_ = "waited 10 minutes on node " + node_ + " for " + what_;
    if (!given_up_.empty()) {
      StepAnswer answer = StepAnswer::give_up("FailedScheduling", "binding volumes: " + given_up_);
      answer.writes = std::move(unmark_);
      return answer;
    }
    const bool long_enough = !what_.empty() && now_ - since_ >= kWaitWorthAnEvent;
    StepAnswer answer =
        StepAnswer::wait(long_enough ? reconcile::EventReason("WaitingForVolumes") : reconcile::EventReason(),
                         "devices are allocated on node " + node_ + "; waits, for 10 minutes at most, for " + what_);
    if (!what_.empty()) answer.requeue_after = since_ + (long_enough ? kLimit : kWaitWorthAnEvent) - now_;
    answer.writes = std::move(writes_);
    return answer;
  }

 private:
  void wait_since(Timestamp since, std::string what) {
    if (!what_.empty() && since >= since_) return;
    since_ = since;
    what_ = std::move(what);
  }

  const std::string& node_;
  const WallTime now_;
  std::vector<Write> writes_, unmark_;
  Timestamp since_;
  std::string what_, given_up_;  // what waits longest; why it is given up
};

}  // namespace

StepAnswer bind_volumes(const BindContext& context) {
  const nodes::VolumeNeeds needs = context.nodes.volumes(context.pod, context.node);
  if (needs.done()) return StepAnswer::done();
  Waiting waiting(context);
  for (const nodes::VolumeNeeds::Claim& claim : needs.provision) waiting.provision(*claim);
  for (const nodes::VolumeNeeds::Pair& pair : needs.bind) waiting.bind(pair);
  return std::move(waiting).answer();
}

}  // namespace dra::allocation
