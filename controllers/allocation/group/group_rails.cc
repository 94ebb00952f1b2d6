// G9: a group's members are on the same rails when they are marked. Another manager may have placed some of them.
#include <algorithm>

#include "controllers/allocation/group/group_reconcile.h"
#include "controllers/allocation/members/rails.h"
#include "controllers/allocation/pod/held_alignment.h"
#include "controllers/allocation/pod/rails_report.h"
#include "controllers/allocation/pod/report.h"
#include "pkg/protocol/pod_pairs.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

bool GroupReconcile::pairs_are_read() {
  for (const Member& bad : pods_) {
    std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
    for (const protocol::ClaimState& claim : bad.context.state.claims) claims.push_back(claim.claim);
    const alignment::PodPairs read = pairs_of_pod(bad.context.pod, claims);
    if (!read.refusal) continue;
    for (Member& member : pods_) {
      const std::string whose = &member == &bad ? "" : "of member " + bad.context.pod.metadata.key() + ": ";
      const std::string text = whose + read.refusal->message;
      say_waiting(member.context, {"FailedAllocation", text, text}, Fit::kNowhere, member.out);
    }
    count_failure(first_.context, "GroupWaits", first_.out);
    if (!committed_) withdraw();
    return false;
  }
  return true;
}

bool GroupReconcile::rails_are_read(const PodRails& rails) {
  for (Member& member : pods_) report_rails(member.context, rails, member.out);
  if (!rails.read.refusal) return true;
  if (!committed_) withdraw();
  return false;
}

bool GroupReconcile::held_pairs_hold() {
  for (const Member& member : pods_) {
    if (!member.held || member.settled) continue;
    const std::string why = unmet_pairs(member.context);
    if (why.empty()) continue;
    if (withdraw()) {
      count_failure(first_.context, "LostRace", first_.out);
      return false;
    }
    say("member " + member.context.pod.metadata.key() + ": " + why);
    first_.out.requeue_in(std::chrono::seconds(10));
    return false;
  }
  return true;
}

bool GroupReconcile::rails_hold() {
  if (!tools_.options.prove_rails || hints_.no_rails) return true;
  const RailsProof proof(view_, tools_.inventory, *asks_for_rails_);
  if (proof.holds()) return true;
  const bool must_leave = std::any_of(pods_.begin(), pods_.end(), [&](const Member& member) {
    return member.held && proof.must_leave(member.context.pod);
  });
  if (must_leave && withdraw()) {
    count_failure(first_.context, "LostRace", first_.out);
    return false;
  }
  say(proof.why());
  first_.out.requeue_in(std::chrono::seconds(1));
  return false;
}

}  // namespace dra::allocation
