#include "pkg/manager/report/audit.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "pkg/log/log.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/writes.h"

namespace dra::manager {

namespace {

using FindingKind = inventory::AuditFinding::Kind;

// Without its claims, which can be thousands that come one by one.
std::string finding_name(const inventory::AuditFinding& finding) {
  return std::string(inventory::audit_kind_name(finding.kind)) + " " + finding.device.text() + " " +
         finding.counter_set + " " + finding.name + (finding.kind == FindingKind::kDrift ? " " + finding.message : "");
}

}  // namespace

void Audit::start(Duration period) {
  reporting_ = true;
  period_ = period;
  timer_ = reactor_.after(period_, [this] {
    begin();
    next_piece();
  });
}

void Audit::stop() {
  reporting_ = false;
  timer_.cancel();
}

void Audit::check(const api::ResourceClaim& claim) {
  if (!reporting_ || !claim.status.allocation) return;
  check_mark(claim);
  const std::string uid = claim.metadata.uid;
  report(inventory_.over_commitments(std::span<const std::string>(&uid, 1), inventory::Layer::kObserved));
}

// A mark outlives its allocation where kube-controller-manager cleans up, so an outdated mark alone is not reported. It
// is when the pod that the mark names was ungated with the proven allocation and now has another one.
void Audit::check_mark(const api::ResourceClaim& claim) {
  if (!protocol::is_mark_outdated(claim)) return;
  const std::string_view uid = protocol::proven_for(claim);
  const bool ungated =
      std::any_of(claim.status.reserved_for.begin(), claim.status.reserved_for.end(), [&](const auto& consumer) {
        if (consumer.uid != uid) return false;
        const auto pod = stores_.pods->get(claim.metadata.ns + "/" + consumer.name);
        return pod && pod->metadata.uid == uid && pod->scheduling_gates.empty();
      });
  if (!ungated) return;
  log::error("An allocation was replaced under its proof",
             {{"claim", log::ObjectRef{claim.metadata.ns, claim.metadata.name}}});
  events_.emit({protocol::ref_of(claim), true, "AllocationReplaced", "Audit",
                "the allocation is not the one that was proven: somebody else replaced it, and nobody proved that its "
                "devices are free; delete the pods that use the claim if two pods share a device",
                ""});
}

size_t Audit::run() {
  begin();
  while (!piece()) {
  }
  const size_t findings = cycle_.standing.size();
  end();
  return findings;
}

void Audit::next_piece() {
  if (piece()) {
    const Duration took = reactor_.clock().mono_now() - cycle_.begun;
    end();
    timer_ = reactor_.after(std::max(period_ - took, Duration::zero()), [this] {
      begin();
      next_piece();
    });
    return;
  }
  timer_ = reactor_.after(Duration::zero(), [this] { next_piece(); });
}

void Audit::begin() {
  cycle_ = Cycle();
  cycle_.begun = reactor_.clock().mono_now();
}

bool Audit::piece() {
  const MonoTime begun = reactor_.clock().mono_now();
  switch (cycle_.part) {
    case Part::kUse: {
      std::vector<inventory::AuditFinding> findings;
      const bool whole = inventory_.audit_piece(cycle_.place, kWorkAPiece, findings);
      for (const inventory::AuditFinding& finding : findings) {
        cycle_.differences += finding.kind == FindingKind::kDrift;
        cycle_.standing[finding_name(finding)] = finding.kind != FindingKind::kDrift;
      }
      report(findings);
      if (!whole) break;
      cycle_.version = inventory_.version();
      cycle_.part = Part::kClaims;
      break;
    }
    case Part::kClaims:
      compare_claims();
      break;
    case Part::kGhosts:
      look_for_ghosts();
      break;
    case Part::kSlices:
      compare_slices();
      break;
    case Part::kDone:
      break;
  }
  ++cycle_.pieces;
  cycle_.longest = std::max(cycle_.longest, reactor_.clock().mono_now() - begun);
  return cycle_.part == Part::kDone;
}

void Audit::end() {
  // A finding that is gone may be reported again when it comes back.
  for (auto finding = reported_.begin(); finding != reported_.end();)
    finding = cycle_.standing.contains(finding->first) ? std::next(finding) : reported_.erase(finding);
  const auto over_committed =
      std::count_if(cycle_.standing.begin(), cycle_.standing.end(), [](const auto& finding) { return finding.second; });
  instruments_.set_over_committed(static_cast<double>(over_committed));
  if (cycle_.differences > 0) instruments_.add_audit_differences(static_cast<double>(cycle_.differences));
  const Duration took = reactor_.clock().mono_now() - cycle_.begun;
  instruments_.set_audit_times(std::chrono::duration<double>(took).count(),
                               std::chrono::duration<double>(cycle_.longest).count());
  log::v(3, "Audit", {{"took", took}, {"pieces", cycle_.pieces}, {"longestPiece", cycle_.longest}});
  cycle_ = Cycle();
}

void Audit::report(const std::vector<inventory::AuditFinding>& findings) {
  ToNotify to_notify;
  for (const inventory::AuditFinding& finding : findings) {
    const auto [reported, is_new] = reported_.try_emplace(finding_name(finding));
    Notified& notified = reported->second;
    const bool more = add_to_notify(finding, notified, to_notify);
    if (is_new || more)
      log::error(
          finding.kind == FindingKind::kDrift ? "Derived state differs from the same rebuilt" : "Handed out twice",
          {{"kind", inventory::audit_kind_name(finding.kind)}, {"finding", finding.message}});
  }
  for (const auto& [uid, finding] : to_notify)
    if (const auto claim = allocated_claim(stores_, uid))
      events_.emit({protocol::ref_of(*claim), true,
                    finding->kind == FindingKind::kDeviceConflict || finding->kind == FindingKind::kShareConflict
                        ? reconcile::EventReason("DeviceConflict")
                        : reconcile::EventReason("DeviceOverCommitted"),
                    "Audit", finding->message, ""});
}

bool Audit::add_to_notify(const inventory::AuditFinding& finding, Notified& notified, ToNotify& to_notify) {
  bool more = false;
  for (const std::string& uid : finding.claims) {
    if (notified.size() >= kMostNotified) break;
    const uint64_t hash = std::hash<std::string>{}(uid);
    if (std::find(notified.begin(), notified.end(), hash) != notified.end()) continue;
    notified.push_back(hash);
    to_notify.emplace_back(uid, &finding);
    more = true;
  }
  return more;
}

// Compares the inventory's holders with those that the claims in the stream name.
void Audit::compare_claims() {
  const auto claims = stores_.claims->list_stream_after(cycle_.claim, kClaimsAPiece);
  for (const auto& claim : claims) compare_claim(*claim);
  if (!claims.empty()) cycle_.claim = claims.back()->metadata.key();
  if (claims.size() < kClaimsAPiece) cycle_.part = Part::kGhosts;
}

void Audit::compare_claim(const api::ResourceClaim& claim) {
  if (const auto number = inventory_.claim_number(claim.metadata.uid)) {
    if (cycle_.in_stream.size() <= *number) cycle_.in_stream.resize(*number + 1);
    cycle_.in_stream[*number] = true;
  }
  std::set<inventory::DeviceName> said;
  for (size_t i = 0; claim.status.allocation && i < claim.status.allocation->results.size(); ++i) {
    const api::DeviceRequestAllocationResult& result = claim.status.allocation->results[i];
    if (!result.admin_access) said.insert({result.driver, result.pool, result.device});
  }
  const std::vector<inventory::DeviceName> known = inventory_.observed_devices(claim.metadata.uid);
  std::vector<inventory::DeviceName> different;
  std::set_symmetric_difference(said.begin(), said.end(), known.begin(), known.end(), std::back_inserter(different));
  cycle_.differences += different.size();
  for (const inventory::DeviceName& device : different)
    log::error(said.contains(device) ? "The inventory misses a holder"
                                     : "The inventory has a holder that its claim does not say",
               {{"claim", log::ObjectRef{claim.metadata.ns, claim.metadata.name}}, {"device", device.text()}});
}

// Finds holders whose claim the stream does not have, and has not had since the comparison began.
void Audit::look_for_ghosts() {
  for (size_t looked = 0; looked < kWorkAPiece; ++looked, ++cycle_.ghost) {
    if (cycle_.ghost >= inventory_.claim_numbers()) {
      const size_t slices = stores_.slices->objects().size();
      cycle_.slices_left = slices + 1;  // plus the wrap from the last to the first
      if (slices != inventory_.slice_count()) {
        ++cycle_.differences;
        log::error("The inventory has other slices than the stream",
                   {{"inventory", inventory_.slice_count()}, {"stream", slices}});
      }
      cycle_.part = Part::kSlices;
      return;
    }
    if (cycle_.ghost < cycle_.in_stream.size() && cycle_.in_stream[cycle_.ghost]) continue;
    const std::string uid = inventory_.claim_unchanged_since(cycle_.ghost, cycle_.version);
    const size_t held = uid.empty() ? 0 : inventory_.observed_devices(uid).size();
    if (held == 0) continue;
    cycle_.differences += held;
    log::error("The inventory has holders that no claim says", {{"uid", uid}, {"holders", held}});
  }
}

// Compares some slices with what the inventory keeps of them.
void Audit::compare_slices() {
  for (size_t devices = 0; devices < kDevicesAPiece;) {
    if (cycle_.slices_left == 0 || cycle_.devices_left == 0) {
      cycle_.part = Part::kDone;
      return;
    }
    const auto next = stores_.slices->list_stream_after(next_slice_, 1);
    --cycle_.slices_left;
    next_slice_ = next.empty() ? "" : next.front()->metadata.key();
    if (next.empty()) continue;  // continue from the beginning
    const size_t count = next.front()->devices.size() + 1;
    devices += count;
    cycle_.devices_left -= std::min(cycle_.devices_left, count);
    if (inventory_.matches(*next.front())) continue;
    ++cycle_.differences;
    log::error("What is kept of a slice differs from the slice", {{"slice", next.front()->metadata.name}});
  }
}

}  // namespace dra::manager
