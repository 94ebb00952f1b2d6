// Audit: everything derived from tables and holders, worked out again and compared.
#include <algorithm>

#include "pkg/inventory/core.h"

namespace dra::inventory {

std::string_view audit_kind_name(AuditFinding::Kind kind) {
  switch (kind) {
    case AuditFinding::Kind::kDeviceOverCommitted:
      return "DeviceOverCommitted";
    case AuditFinding::Kind::kCounterOverCommitted:
      return "CounterOverCommitted";
    case AuditFinding::Kind::kCapacityOverCommitted:
      return "CapacityOverCommitted";
    case AuditFinding::Kind::kDrift:
      break;
  }
  return "Drift";
}

class Audit {
 public:
  Audit(const Core& core, Layer layer, std::vector<AuditFinding>& findings)
      : core_(core), layer_(layer), findings_(findings) {}

  void pool(const Pool& pool, bool with_drift) {
    std::vector<Amount> consumed(pool.counters_.size(), 0);
    std::vector<std::vector<std::string>> users(pool.counters_.size());
    for (const auto& [name, list] : pool.holders) {
      std::vector<const HolderRef*> counted = counted_holders(list);
      if (counted.empty()) continue;
      uint32_t number = pool.find_device(name);
      if (number == kNone || !pool.shareable(number)) exclusive(pool, name, counted);
      if (number == kNone) continue;
      if (pool.shareable(number)) shared(pool, number, list, counted);
      pool.for_each_named(name, [&](uint32_t device) {
        for (const CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use) {
          consumed[use->counter] += use->amount;
          for (const HolderRef* holder : counted) users[use->counter].push_back(core_.claim(holder->claim).uid);
        }
      });
    }
    for (size_t c = 0; c < consumed.size(); ++c) {
      if (c == Pool::kUnpublished) continue;
      const Counter& counter = pool.counters_[c];
      if (consumed[c] > counter.total && consumed[c] > 0) over_counter(pool, counter, consumed[c], users[c]);
      if (with_drift && consumed[c] != counter.consumed)
        drift(pool, "counter " + text(counter.set) + "/" + text(counter.name) + " was kept as " +
                        amount_text(counter.consumed) + " consumed, holders make it " + amount_text(consumed[c]));
    }
    if (with_drift) check_masks(pool);
  }

 private:
  std::string text(StrId id) const { return std::string(core_.strings().text(id)); }

  std::vector<const HolderRef*> counted_holders(const std::vector<HolderRef>& list) const {
    std::vector<const HolderRef*> counted;
    for (const HolderRef& holder : list)
      if (layer_ == Layer::kAll || holder.observed) counted.push_back(&holder);
    return counted;
  }

  AuditFinding& add(AuditFinding::Kind kind, const Pool& pool, std::string device) {
    AuditFinding& finding = findings_.emplace_back();
    finding.kind = kind;
    finding.device = {pool.driver_text, pool.name_text, std::move(device)};
    return finding;
  }

  static void set_claims(AuditFinding& finding, std::vector<std::string> uids) {
    std::sort(uids.begin(), uids.end());
    uids.erase(std::unique(uids.begin(), uids.end()), uids.end());
    finding.claims = std::move(uids);
  }

  std::vector<std::string> uids_of(const std::vector<const HolderRef*>& holders) const {
    std::vector<std::string> uids;
    for (const HolderRef* holder : holders) uids.push_back(core_.claim(holder->claim).uid);
    return uids;
  }

  // Different claims on one device that cannot be shared. One claim twice (with two shares) is one holder too many,
  // too.
  void exclusive(const Pool& pool, StrId name, const std::vector<const HolderRef*>& holders) {
    if (holders.size() < 2) return;
    bool all_shared =
        std::all_of(holders.begin(), holders.end(), [](const HolderRef* h) { return h->share != kNoStr; });
    if (all_shared && pool.find_device(name) == kNone)
      return;  // the device is gone: nothing says it could not be shared
    AuditFinding& finding = add(AuditFinding::Kind::kDeviceOverCommitted, pool, text(name));
    set_claims(finding, uids_of(holders));
    finding.message = "device " + finding.device.text() + " is held " + std::to_string(holders.size()) +
                      " times, but cannot be shared";
  }

  void shared(const Pool& pool, uint32_t number, const std::vector<HolderRef>& list,
              const std::vector<const HolderRef*>& counted) {
    bool whole = std::any_of(counted.begin(), counted.end(),
                             [](const HolderRef* h) { return h->share == kNoStr && h->consumed.empty(); });
    if (whole && counted.size() > 1) {
      AuditFinding& finding = add(AuditFinding::Kind::kDeviceOverCommitted, pool, text(pool.device_name(number)));
      set_claims(finding, uids_of(counted));
      finding.message = "device " + finding.device.text() + " is held as a whole and by others";
    }
    std::vector<Amount> sums = pool.sum_consumed(number, list, layer_);
    const CapacityShape& shape = pool.shape(number);
    for (size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] <= shape.entries[i].amount) continue;
      AuditFinding& finding = add(AuditFinding::Kind::kCapacityOverCommitted, pool, text(pool.device_name(number)));
      set_claims(finding, uids_of(counted));
      finding.name = shape.entries[i].name;
      finding.message = "capacity " + finding.name + " of device " + finding.device.text() + " is " +
                        amount_text(shape.entries[i].amount) + ", holders consume " + amount_text(sums[i]);
    }
  }

  void over_counter(const Pool& pool, const Counter& counter, Amount consumed, const std::vector<std::string>& uids) {
    AuditFinding& finding = add(AuditFinding::Kind::kCounterOverCommitted, pool, "");
    finding.counter_set = text(counter.set);
    finding.name = text(counter.name);
    set_claims(finding, uids);
    finding.message = "counter " + finding.counter_set + "/" + finding.name + " of pool " + pool.driver_text + "/" +
                      pool.name_text + " is " + amount_text(counter.total) + ", holders consume " +
                      amount_text(consumed);
  }

  void drift(const Pool& pool, std::string what) {
    AuditFinding& finding = add(AuditFinding::Kind::kDrift, pool, "");
    finding.message = "pool " + pool.driver_text + "/" + pool.name_text + ": " + std::move(what);
  }

  void check_masks(const Pool& pool) {
    for (uint32_t d = 0; d < pool.size(); ++d) {
      auto it = pool.holders.find(pool.device_name(d));
      bool held = it != pool.holders.end() && !it->second.empty();
      bool share = pool.shareable(d);
      bool used = held && (!share || std::any_of(it->second.begin(), it->second.end(), [](const HolderRef& h) {
                    return h.share == kNoStr && h.consumed.empty();
                  }));
      bool free = !used && (held || pool.counters_fit(d));
      if (held != test_bit(pool.charged(), d) || used != test_bit(pool.in_use(), d) ||
          free != test_bit(pool.available(), d))
        drift(pool, "the kept state of device " + text(pool.device_name(d)) + " differs from its holders");
      std::vector<Amount> sums = held && share ? pool.sum_consumed(d, it->second, Layer::kAll) : std::vector<Amount>();
      const std::vector<Amount>* kept = pool.shared(d);
      if (kept != nullptr ? *kept != sums : !sums.empty())
        drift(pool, "the kept consumption of device " + text(pool.device_name(d)) + " differs from its holders");
    }
  }

  const Core& core_;
  Layer layer_;
  std::vector<AuditFinding>& findings_;
};

namespace {
void sort_findings(std::vector<AuditFinding>& findings) {
  std::sort(findings.begin(), findings.end(), [](const AuditFinding& a, const AuditFinding& b) {
    return std::tie(a.kind, a.device, a.counter_set, a.name) < std::tie(b.kind, b.device, b.counter_set, b.name);
  });
}
}  // namespace

std::vector<AuditFinding> Inventory::audit() const {
  std::vector<AuditFinding> findings;
  Audit audit(*core_, Layer::kAll, findings);
  for (PoolId id = 0; id < core_->pool_slots(); ++id)
    if (const Pool* pool = core_->pool(id)) audit.pool(*pool, true);
  sort_findings(findings);
  return findings;
}

std::vector<AuditFinding> Inventory::over_commitments(std::span<const std::string> claim_uids, Layer layer) const {
  std::vector<PoolId> pools;
  for (const std::string& uid : claim_uids) {
    const Core::ClaimUse* claim = core_->find_claim(uid);
    for (size_t i = 0; claim != nullptr && i < claim->held.size(); ++i) pools.push_back(claim->held[i].pool);
  }
  std::sort(pools.begin(), pools.end());
  pools.erase(std::unique(pools.begin(), pools.end()), pools.end());
  std::vector<AuditFinding> findings;
  Audit audit(*core_, layer, findings);
  for (PoolId id : pools) audit.pool(*core_->pool(id), false);
  std::erase_if(findings, [&](const AuditFinding& finding) {
    return std::none_of(claim_uids.begin(), claim_uids.end(), [&](const std::string& uid) {
      return std::binary_search(finding.claims.begin(), finding.claims.end(), uid);
    });
  });
  sort_findings(findings);
  return findings;
}

}  // namespace dra::inventory
