#include "controllers/lifecycle/health.h"

#include <algorithm>
#include <set>

#include "pkg/protocol/device_health.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/writes.h"

namespace dra::lifecycle {

using namespace protocol;
using namespace reconcile;

namespace {

constexpr std::string_view kTopic = "device-trouble";
constexpr std::string_view kNone = "none";
constexpr size_t kMaxNamed = 3;  // devices that an event names

// The text that changes only when the troubles do: without words and times.
std::string signature_of(const std::vector<DeviceTrouble>& troubles) {
  std::set<std::string> parts;
  for (const DeviceTrouble& trouble : troubles)
    parts.insert(std::string(trouble_name(trouble.kind)) + " " + trouble.device);
  std::string text;
  for (const std::string& part : parts) text += part + "\n";
  return text.empty() ? std::string(kNone) : text;
}

std::string note_of(const std::vector<DeviceTrouble>& troubles) {
  std::string text;
  for (size_t i = 0; i < std::min(troubles.size(), kMaxNamed); ++i)
    text += (i == 0 ? "" : "; ") + std::string(trouble_name(troubles[i].kind)) + ": device " + troubles[i].device +
            ": " + troubles[i].why + (troubles[i].since.empty() ? "" : " (since " + troubles[i].since + ")");
  if (troubles.size() > kMaxNamed) text += "; and " + std::to_string(troubles.size() - kMaxNamed) + " more";
  return text;
}

// Records an event about what changed since the last event about this object.
void record(const View& view, const Ref& about, const std::vector<DeviceTrouble>& troubles, ReconcileResult& outcome) {
  const std::optional<std::string> last = view.last_event(about.uid, "DeviceTrouble");
  const std::string signature = signature_of(troubles);
  if (last ? *last == signature : troubles.empty()) return;
  if (troubles.empty()) {
    outcome.add(Event{about, false, "DeviceTrouble", "Observe", "the devices are as they should be again", signature});
    return;
  }
  outcome.add(Event{about, true, "DeviceTrouble", "Observe", note_of(troubles), signature});
  for (const DeviceTrouble& trouble : troubles)
    outcome.add(Metric{Metric::Type::kCounter,
                       "dra_device_troubles_total",
                       {{"trouble", std::string(trouble_name(trouble.kind))}},
                       1});
}

// Of all claims of the pod, so that it does not matter which claim is reconciled.
std::vector<DeviceTrouble> troubles_of_pod(const View& view, const api::Pod& pod) {
  std::vector<DeviceTrouble> all;
  if (pod.unhealthy_devices.empty()) return all;
  for (const std::string& key : claim_keys_of(pod)) {
    const api::ResourceClaim* claim = view.claim(key);
    if (!claim) continue;
    std::vector<DeviceTrouble> some = troubles_of(pod, *claim);
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  return all;
}

// Drops troubles that may pass by themselves and have not lasted long enough. False: what was reported of this claim
// may still hold, while something new must last first.
bool settle(const View& view, const api::ResourceClaim& claim, std::vector<DeviceTrouble>& troubles,
            ReconcileResult& outcome) {
  std::vector<DeviceTrouble> passing;
  std::copy_if(troubles.begin(), troubles.end(), std::back_inserter(passing),
               [](const DeviceTrouble& trouble) { return may_pass(trouble.kind); });
  const std::optional<View::Noted> noted = view.note(claim.metadata.uid, kTopic);
  if (passing.empty()) {
    if (noted) outcome.add(Note{claim.metadata.uid, std::string(kTopic), ""});
    return true;
  }
  const std::string signature = signature_of(passing);
  const bool same = noted && noted->text == signature;
  if (!same) outcome.add(Note{claim.metadata.uid, std::string(kTopic), signature});
  const Duration age = same ? noted->age : Duration::zero();
  if (age >= kTroubleLasts) return true;
  outcome.requeue_in(kTroubleLasts - age);
  std::erase_if(troubles, [](const DeviceTrouble& trouble) { return may_pass(trouble.kind); });
  return view.last_event(claim.metadata.uid, "DeviceTrouble").value_or(std::string(kNone)) == kNone;
}

}  // namespace

void report_device_troubles(const View& view, const inventory::Inventory& inventory, const api::ResourceClaim& claim,
                            ReconcileResult& outcome) {
  // Nobody has the devices, or the claim is being deleted: that does not show that the trouble is over.
  if (!claim.status.allocation || claim.status.reserved_for.empty() || claim.metadata.deleting()) return;
  std::vector<DeviceTrouble> troubles = troubles_of(claim, &inventory);
  if (settle(view, claim, troubles, outcome)) record(view, ref_of(claim), troubles, outcome);
  for (const api::ResourceClaimConsumerReference& consumer : claim.status.reserved_for) {
    if (!is_pod_reference(consumer)) continue;
    const api::Pod* pod = view.pod(claim.metadata.ns + "/" + consumer.name);
    if (pod && pod->metadata.uid == consumer.uid && !pod->done())
      record(view, ref_of(*pod), troubles_of_pod(view, *pod), outcome);
  }
}

}  // namespace dra::lifecycle
