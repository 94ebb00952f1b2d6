#include "pkg/manager/audit.h"

#include <algorithm>
#include <optional>
#include <set>

#include "pkg/log/log.h"
#include "pkg/reconcile/pod_claims.h"
#include "pkg/reconcile/proof.h"
#include "pkg/reconcile/writes.h"

namespace dra::manager {

namespace {

using FindingKind = inventory::AuditFinding::Kind;

std::string finding_name(const inventory::AuditFinding& finding) {
  std::string name = std::string(inventory::audit_kind_name(finding.kind)) + " " + finding.device.text() + " " +
                     finding.counter_set + " " + finding.name;
  for (const std::string& claim : finding.claims) name += " " + claim;
  return name;
}

}  // namespace

void Audit::start(Duration period) {
  reporting_ = true;
  period_ = period;
  timer_ = reactor_.after(period_, [this] {
    run();
    start(period_);
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

// A mark outlives its allocation where kube-controller-manager cleans up, so an outdated one alone is no news. It is
// when the pod that the mark names, and that was let go with what was proven, has another allocation now.
void Audit::check_mark(const api::ResourceClaim& claim) {
  if (!reconcile::is_mark_outdated(claim)) return;
  const std::string_view uid = reconcile::proven_for(claim);
  const bool let_go =
      std::any_of(claim.status.reserved_for.begin(), claim.status.reserved_for.end(), [&](const auto& consumer) {
        if (consumer.uid != uid) return false;
        const auto pod = stores_.pods->get(claim.metadata.ns + "/" + consumer.name);
        return pod && pod->metadata.uid == uid && pod->scheduling_gates.empty();
      });
  if (!let_go) return;
  log::error("An allocation was replaced under its proof",
             {{"claim", log::ObjectRef{claim.metadata.ns, claim.metadata.name}}});
  events_.emit({reconcile::ref_of(claim), true, "AllocationReplaced", "Audit",
                "the allocation is not the one that was proven: somebody else replaced it, and nobody proved that its "
                "devices are free; delete the pods that use the claim if two pods share a device",
                ""});
}

size_t Audit::run() {
  const std::vector<inventory::AuditFinding> findings = inventory_.audit();
  size_t over_committed = 0, differences = differences_to_claims() + differences_to_slices();
  std::map<std::string, bool> standing;
  for (const inventory::AuditFinding& finding : findings) {
    finding.kind == FindingKind::kDrift ? ++differences : ++over_committed;
    standing[finding_name(finding)] = true;
  }
  report(findings);
  // What is mended may be told again when it comes back.
  for (auto told = reported_.begin(); told != reported_.end();)
    told = standing.contains(told->first) ? std::next(told) : reported_.erase(told);
  instruments_.set_over_committed(static_cast<double>(over_committed));
  if (differences > 0) instruments_.add_audit_differences(static_cast<double>(differences));
  return findings.size();
}

void Audit::report(const std::vector<inventory::AuditFinding>& findings) {
  for (const inventory::AuditFinding& finding : findings) {
    if (!reported_.emplace(finding_name(finding), true).second) continue;
    log::error(finding.kind == FindingKind::kDrift ? "Derived state differs from the same rebuilt" : "Handed out twice",
               {{"kind", inventory::audit_kind_name(finding.kind)}, {"finding", finding.message}});
    if (finding.kind == FindingKind::kDrift) continue;
    for (const auto& claim : stores_.claims->list_stream()) {
      if (!std::binary_search(finding.claims.begin(), finding.claims.end(), claim->metadata.uid)) continue;
      events_.emit({reconcile::ref_of(*claim), true, "DeviceOverCommitted", "Audit", finding.message, ""});
    }
  }
}

// The holders of the inventory against those that the claims in the stream say.
size_t Audit::differences_to_claims() const {
  size_t differences = 0, holdings = 0;
  for (const auto& claim : stores_.claims->list_stream()) {
    if (!claim->status.allocation) continue;
    std::set<inventory::DeviceName> devices;
    for (const api::DeviceRequestAllocationResult& result : claim->status.allocation->results)
      if (!result.admin_access) devices.insert({result.driver, result.pool, result.device});
    holdings += devices.size();
    for (const inventory::DeviceName& device : devices) {
      const std::vector<inventory::Holder> holders = inventory_.holders(device);
      const bool known = std::any_of(holders.begin(), holders.end(), [&](const inventory::Holder& holder) {
        return holder.claim_uid == claim->metadata.uid && holder.observed;
      });
      if (known) continue;
      ++differences;
      log::error("The inventory misses a holder",
                 {{"claim", log::ObjectRef{claim->metadata.ns, claim->metadata.name}}, {"device", device.text()}});
    }
  }
  // Every holder that the claims say and that is known was counted: what the inventory has beyond these are ghosts.
  const size_t known = holdings - differences, held = inventory_.observed_holdings();
  if (held > known) {
    log::error("The inventory has holders that no claim says", {{"holders", held - known}});
    differences += held - known;
  }
  return differences;
}

// Some pools against the same built anew from their slices.
size_t Audit::differences_to_slices() {
  const std::vector<inventory::PoolInfo> pools = inventory_.pools();
  size_t differences = 0, at = 0;
  while (at < pools.size() && reconcile::pool_key(pools[at].driver, pools[at].name) < next_pool_) ++at;
  for (size_t i = 0; i < std::min(kPoolsARound, pools.size()); ++i, ++at) {
    const inventory::PoolInfo& pool = pools[at % pools.size()];
    const std::string key = reconcile::pool_key(pool.driver, pool.name);
    inventory::Inventory anew(inventory_.features());
    for (const auto& slice : stores_.slices->by_index("pool", key)) anew.apply_slice(*slice);
    const std::optional<inventory::PoolInfo> rebuilt = anew.pool(pool.driver, pool.name);
    const bool same = rebuilt && rebuilt->devices == pool.devices && rebuilt->generation == pool.generation &&
                      rebuilt->state == pool.state && rebuilt->seen_slices == pool.seen_slices &&
                      rebuilt->obsolete_slices == pool.obsolete_slices &&
                      anew.usage(rebuilt->id).tainted == inventory_.usage(pool.id).tainted;
    if (same) continue;
    ++differences;
    log::error("A pool differs from the same built anew from its slices", {{"pool", key}});
  }
  next_pool_ = pools.empty() ? "" : reconcile::pool_key(pools[at % pools.size()].driver, pools[at % pools.size()].name);
  return differences;
}

}  // namespace dra::manager
