#include "controllers/allocation/pod/missing_claim.h"

#include <algorithm>
#include <optional>
#include <string>

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

void watch_missing_claim(const PodContext& context, ReconcileResult& out) {
  const PodState& state = context.state;
  const std::string& uid = context.pod.metadata.uid;
  const std::optional<View::Noted> seen = context.view.note(uid, kMissingNote);
  const std::string id = state.missing ? state.missing->id() : "";
  if (seen ? seen->text != id : !id.empty()) out.add(Note{uid, std::string(kMissingNote), id});
  if (id.empty() || !state.ordinary_wait) return;
  const Duration age = seen && seen->text == id ? seen->age : Duration::zero();
  out.requeue_in(std::max<Duration>(ordinary_absence(*state.missing) - age, std::chrono::milliseconds(100)));
}

}  // namespace dra::allocation
