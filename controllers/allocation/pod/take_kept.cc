#include "controllers/allocation/pod/take_kept.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "controllers/allocation/kept/kept_claims.h"
#include "controllers/allocation/kept/set_aside.h"
#include "controllers/allocation/pod/report.h"
#include "pkg/base/strings.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

using Claim = std::shared_ptr<const api::ResourceClaim>;

// What lifecycle does not free in time may be in use: it is asked again after this time at the earliest.
constexpr Duration kNotInVain = std::chrono::minutes(1);

// Those that nobody else has asked for lately, nor this pod in vain.
std::vector<Claim> candidates_of(const PodContext& context, const std::string& note) {
  std::vector<Claim> kept = context.tools.kept_claims.below(context.view, context.pod.priority);
  std::erase_if(kept, [&](const Claim& claim) {
    if (context.tools.inventory.assumed(claim->metadata.uid)) return true;
    const auto noted = context.view.note(claim->metadata.uid, kTakenNote);
    if (!noted) return false;
    const bool counts = noted->age < kTakenCounts;
    return noted->text == note ? !counts && noted->age < kNotInVain : counts;
  });
  return kept;
}

// The claims that hold what these allocations need. The others hold what they held before.
std::vector<Claim> in_the_way(const PodContext& context, const allocator::Request& request,
                              const allocator::Decision& decision, const std::vector<Claim>& kept, SetAside& aside) {
  const Supposed supposed(context.tools.inventory, request.claims, decision.results);
  std::vector<Claim> needed;
  for (const Claim& claim : kept) {
    aside.put_back(*claim);
    if (supposed.fits()) continue;
    aside.set_aside(*claim);
    needed.push_back(claim);
  }
  return needed;
}

std::string kept_names(const std::vector<Claim>& claims) {
  std::vector<std::string> names;
  for (const Claim& claim : claims)
    names.push_back(claim->metadata.key() + " (priority " + std::to_string(keep_of(*claim)->priority) + ")");
  return join_some(names, 3);
}

}  // namespace

bool take_kept(const PodContext& context, const allocator::Request& request,
               const std::vector<allocator::NodeId>& order, ReconcileResult& out) {
  const Tools& tools = context.tools;
  if (tools.kept_claims.empty() || (context.role != Role::kGated && context.role != Role::kToBind)) return false;
  const std::string note = taken_note(context.pod);
  const std::vector<Claim> kept = candidates_of(context, note);
  if (kept.empty()) return false;
  std::vector<Claim> needed;
  std::vector<api::AllocationResult> devices;
  {
    SetAside aside(tools.inventory, kept);
    const allocator::FoundNodes found = tools.allocator.find_nodes(request, order, 1);
    if (found.outcome != allocator::Outcome::kFeasible) {
      // A search in slices begins anew with the plain one: only that is gone on with.
      if (found.outcome == allocator::Outcome::kUnfinished) out.requeue_in(std::chrono::seconds(1));
      return false;
    }
    const allocator::Decision& decision = found.decisions.front();
    devices = decision.results;
    needed = in_the_way(context, request, decision, kept, aside);
    // What is not an over-commitment may exclude each other as well (a policy of a class): then it would be in vain.
    const std::vector<allocator::NodeId> node{decision.node};
    if (needed.empty() || tools.allocator.find_nodes(request, node, 1).outcome != allocator::Outcome::kFeasible)
      return false;
  }
  for (const Claim& claim : needed)
    if (const auto noted = context.view.note(claim->metadata.uid, kTakenNote);
        !noted || noted->text != note || noted->age >= kTakenCounts)
      out.add(Note{claim->metadata.uid, std::string(kTakenNote), note});
  tools.kept_claims.hold(context.pod, devices, context.view.now());
  emit_once(context.view, out,
            {ref_of(context.pod), false, "TakesKeptDevices", "Allocate",
             "fits nowhere without devices that claims of a lower priority keep and no pod uses: " +
                 kept_names(needed) + (needed.size() == 1 ? " is freed" : " are freed") + " for this pod of priority " +
                 std::to_string(context.pod.priority),
             ""});
  out.requeue_in(std::chrono::seconds(1));
  return true;
}

}  // namespace dra::allocation
