#include "controllers/lifecycle/identities.h"

#include "pkg/inventory/device_index.h"
#include "pkg/inventory/noted.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/writes.h"

namespace dra::lifecycle {

using namespace protocol;
using namespace reconcile;

void note_identities(const View& view, const inventory::Inventory& inventory, const api::ResourceClaim& claim,
                     std::deque<WallTime>& lately, ReconcileResult& out) {
  const inventory::DeviceIndex& index = inventory.device_index();
  if (!index.silicon().rules().annotations || (needs_proof(claim) && !is_proven(claim))) return;
  const std::string name(identity::kIdentitiesAnnotation);
  const auto noted = claim.metadata.annotations.find(name);
  const std::string value = inventory::identities_to_note(index, claim);
  if (noted == claim.metadata.annotations.end() ? value.empty() : value == noted->second && !value.empty()) return;
  // A clock that was set back does not stop it.
  while (!lately.empty() && (view.now() - lately.front() > std::chrono::minutes(1) || lately.front() > view.now()))
    lately.pop_front();
  if (lately.size() >= kMostNotesAMinute) {
    out.requeue_in(std::chrono::seconds(10));
    return;
  }
  lately.push_back(view.now());
  const std::optional<std::string> wanted = value.empty() ? std::nullopt : std::optional(value);
  out.add(write_metadata(claim, claim.metadata.finalizers, {{name, wanted}}, "note-identities"));
}

}  // namespace dra::lifecycle
