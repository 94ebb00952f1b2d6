#include "controllers/allocation/pod/not_honoured.h"

#include <algorithm>
#include <vector>

#include "controllers/allocation/protocol.h"
#include "pkg/alignment/bears.h"
#include "pkg/base/strings.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/users.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// We place it, or wait until we may.
bool is_placed_here(const api::Pod& pod, const Options& options) {
  return options.mode != Mode::kObserve &&
         (carries_our_gate(pod) || (options.mode == Mode::kBind && is_ours_to_bind(pod, options)));
}

std::string what_to_do(const Options& options) {
  if (options.mode == Mode::kObserve) return "run the manager with --scheduling=gate or bind";
  const std::string gate = "make the pod anew with the scheduling gate " + std::string(kAllocationGate);
  return options.mode == Mode::kBind && !options.scheduler_names.empty()
             ? gate + ", or with schedulerName " + options.scheduler_names.front()
             : gate;
}

}  // namespace

std::optional<std::string> not_honoured(const View& view, const api::Pod& pod, const Options& options) {
  if (pod.resource_claims.empty() || pod.terminal() || pod.metadata.deleting() || is_placed_here(pod, options))
    return std::nullopt;
  std::string what;
  if (const std::string_view own = alignment::first_annotation(pod.metadata.annotations); !own.empty())
    what = "annotation " + std::string(own);
  for (const std::string& key : claim_keys_of(pod)) {
    const api::ResourceClaim* claim = view.claim(key);
    if (claim == nullptr) continue;
    // Its gate was lifted here, or it was bound here.
    if (is_user(*claim, pod.metadata.uid) || (is_allocated_by_us(*claim) && is_reserved_for(*claim, pod.metadata.uid)))
      return std::nullopt;
    if (const std::string_view own = alignment::first_annotation(claim->metadata.annotations);
        !own.empty() && what.empty())
      what = "annotation " + std::string(own) + " of claim " + quote(key);
  }
  if (what.empty()) return std::nullopt;
  return what;
}

void warn_not_honoured(const View& view, const api::Pod& pod, const Options& options, ReconcileResult& out) {
  if (view.last_event(pod.metadata.uid, "PairsNotHonoured")) return;
  const std::optional<std::string> what = not_honoured(view, pod, options);
  if (!what) return;
  const std::string by = options.mode == Mode::kObserve
                             ? "this manager only observes"
                             : "scheduler " + quote(pod.scheduler_name) + " places the pod, and not this manager";
  out.add(Event{ref_of(pod), true, "PairsNotHonoured", "Allocate",
                *what + " has no effect: " + by + ", so that the devices may be on different roots or rails; " +
                    what_to_do(options),
                ""});
}

}  // namespace dra::allocation
