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

// Records an event about what changed since the last event about this object. False: nothing has changed.
bool record(const View& view, const Ref& about, const std::vector<DeviceTrouble>& troubles, ReconcileResult& outcome) {
  const std::optional<std::string> last = view.last_event(about.uid, "DeviceTrouble");
  const std::string signature = signature_of(troubles);
  if (last ? *last == signature : troubles.empty()) return false;
  if (troubles.empty()) {
    outcome.add(Event{about, false, "DeviceTrouble", "Observe", "the devices are as they should be again", signature});
    return false;
  }
  outcome.add(Event{about, true, "DeviceTrouble", "Observe", note_of(troubles), signature});
  return true;
}

void count(const std::vector<DeviceTrouble>& troubles, ReconcileResult& outcome) {
  for (const DeviceTrouble& trouble : troubles)
    outcome.add(Metric{Metric::Type::kCounter,
                       "dra_device_troubles_total",
                       {{"trouble", std::string(trouble_name(trouble.kind))}},
                       1});
}

std::vector<DeviceTrouble> passing_of(const std::vector<DeviceTrouble>& troubles) {
  std::vector<DeviceTrouble> passing;
  std::copy_if(troubles.begin(), troubles.end(), std::back_inserter(passing),
               [](const DeviceTrouble& trouble) { return may_pass(trouble.kind); });
  return passing;
}

// How long the claim has had these troubles, which may pass by themselves.
Duration age_of(const View& view, const api::ResourceClaim& claim, const std::vector<DeviceTrouble>& passing) {
  const std::optional<View::Noted> noted = view.note(claim.metadata.uid, kTopic);
  return noted && noted->text == signature_of(passing) ? noted->age : Duration::zero();
}

// Drops troubles that may pass by themselves and have not lasted long enough. False: what was reported of this claim
// may still hold, while something new must last first.
bool settle(const View& view, const api::ResourceClaim& claim, std::vector<DeviceTrouble>& troubles) {
  const std::vector<DeviceTrouble> passing = passing_of(troubles);
  if (passing.empty() || age_of(view, claim, passing) >= kTroubleLasts) return true;
  std::erase_if(troubles, [](const DeviceTrouble& trouble) { return may_pass(trouble.kind); });
  return view.last_event(claim.metadata.uid, "DeviceTrouble").value_or(std::string(kNone)) == kNone;
}

// Notes since when the claim has the troubles that may pass, and comes back when they have lasted.
void note_passing(const View& view, const api::ResourceClaim& claim, const std::vector<DeviceTrouble>& troubles,
                  ReconcileResult& outcome) {
  const std::vector<DeviceTrouble> passing = passing_of(troubles);
  const std::optional<View::Noted> noted = view.note(claim.metadata.uid, kTopic);
  const std::string signature = passing.empty() ? "" : signature_of(passing);
  if ((noted ? noted->text : "") != signature) outcome.add(Note{claim.metadata.uid, std::string(kTopic), signature});
  const Duration age = age_of(view, claim, passing);
  if (!passing.empty() && age < kTroubleLasts) outcome.requeue_in(kTroubleLasts - age);
}

// Of all claims of the pod, so that it does not matter which claim is reconciled: what its kubelet reports, and what is
// wrong with the claims themselves, which few look at.
void record_for_pod(const View& view, const inventory::Inventory& inventory, const api::Pod& pod,
                    ReconcileResult& outcome) {
  std::vector<DeviceTrouble> all, reported;
  for (const std::string& key : claim_keys_of(pod)) {
    const api::ResourceClaim* claim = view.claim(key);
    if (claim == nullptr || !claim->status.allocation) continue;
    std::vector<DeviceTrouble> some = troubles_of(*claim, &inventory);
    if (!settle(view, *claim, some)) return;
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    if (pod.unhealthy_devices.empty()) continue;
    some = troubles_of(pod, *claim);
    reported.insert(reported.end(), some.begin(), some.end());
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  if (record(view, ref_of(pod), all, outcome)) count(reported, outcome);
}

}  // namespace

void report_device_troubles(const View& view, const inventory::Inventory& inventory, const api::ResourceClaim& claim,
                            ReconcileResult& outcome) {
  // Nobody has the devices, or the claim is being deleted: that does not show that the trouble is over.
  if (!claim.status.allocation || claim.status.reserved_for.empty() || claim.metadata.deleting()) return;
  std::vector<DeviceTrouble> troubles = troubles_of(claim, &inventory);
  note_passing(view, claim, troubles, outcome);
  if (settle(view, claim, troubles) && record(view, ref_of(claim), troubles, outcome)) count(troubles, outcome);
  for (const api::ResourceClaimConsumerReference& consumer : claim.status.reserved_for) {
    if (!is_pod_reference(consumer)) continue;
    const api::Pod* pod = view.pod(claim.metadata.ns + "/" + consumer.name);
    if (pod && pod->metadata.uid == consumer.uid && !pod->done()) record_for_pod(view, inventory, *pod, outcome);
  }
}

}  // namespace dra::lifecycle
