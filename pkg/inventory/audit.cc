// Audit: recomputes everything derived from tables and holders, and compares. It visits claim by claim (anything
// over-committed has a holder), then device by device, so that it can stop anywhere and resume later.
#include <algorithm>
#include <set>

#include "pkg/inventory/device_index.h"
#include "pkg/inventory/inventory.h"

namespace dra::inventory {

class Audit {
 public:
  // `asked`, sorted: only findings that concern one of these claims; empty: all.
  Audit(const DeviceIndex& device_index, Layer layer, std::vector<AuditFinding>& findings,
        std::vector<ClaimIndex> asked = {})
      : device_index_(device_index), layer_(layer), findings_(findings), asked_(std::move(asked)) {}

  // Over-commitments among the devices that a claim holds and the counter sets they use. An audit of all claims
  // (`everybody`) reports each one at the first of its holders; otherwise each is reported once in the lifetime of this
  // object. Returns how many devices and holders were visited.
  size_t claim(ClaimIndex index, bool everybody) {
    size_t work = 1;
    for (const DeviceIndex::HeldRef& ref : device_index_.claim(index).held) {
      if (!everybody && !seen_devices_.emplace(ref.pool, ref.device).second) continue;
      work += device(*device_index_.pool(ref.pool), ref.device, everybody ? index : kNone);
    }
    return work;
  }

  // Checks the cached state of the devices from `first` on, and of the counter sets whose first user is among them.
  size_t kept_state(const Pool& pool, uint32_t first, uint32_t end) {
    size_t work = 0;
    if (first == 0) work += pool.slices().size() / 8 + check_pool(pool);
    for (uint32_t d = first; d < end; ++d) {
      ++work;
      check_device(pool, d);
      if (pool.uses_begin(d) == pool.uses_end(d)) continue;
      for_each_set(pool, d, [&](StrId set, const Pool::CounterSet& counters) {
        if (counters.users.front() == pool.ref_of(d)) work += check_set(pool, set, counters);
      });
    }
    return work;
  }

 private:
  // Holders for a finding. There can be thousands of them, and each of these asks about itself.
  class Holders {
   public:
    explicit Holders(const Audit& audit) : audit_(&audit) {}
    void add(const std::vector<const HolderRef*>& holders) {
      for (const HolderRef* holder : holders) {
        if (audit_->is_asked(holder->claim))
          asked_.push_back(holder->claim);
        else
          add_other(holder->claim);
      }
    }
    void add(const Holders& more) {
      asked_.insert(asked_.end(), more.asked_.begin(), more.asked_.end());
      for (const ClaimIndex claim : more.others_) add_other(claim);
    }
    // Of different claims; empty: no finding that concerns those that were asked about.
    std::vector<ClaimIndex> claims() && {
      if (!audit_->asked_.empty() && asked_.empty()) return {};
      keep_different(asked_);
      keep_different(others_);
      asked_.insert(asked_.end(), others_.begin(), others_.end());
      return std::move(asked_);
    }

   private:
    void add_other(ClaimIndex claim) {
      if (enough_) return;
      others_.push_back(claim);
      if (others_.size() < 2 * kMaxClaimsOfFinding) return;
      keep_different(others_);
      enough_ = others_.size() == kMaxClaimsOfFinding;
    }
    static void keep_different(std::vector<ClaimIndex>& claims) {
      std::sort(claims.begin(), claims.end());
      claims.erase(std::unique(claims.begin(), claims.end()), claims.end());
      if (claims.size() > kMaxClaimsOfFinding) claims.resize(kMaxClaimsOfFinding);
    }

    const Audit* audit_;
    std::vector<ClaimIndex> asked_;
    std::vector<ClaimIndex> others_;  // may contain one several times
    bool enough_ = false;
  };
  struct Drawn {
    Amount amount = 0;
    Holders holders;
  };

  std::string text(StrId id) const { return std::string(device_index_.strings().text(id)); }

  std::vector<const HolderRef*> counted_holders(const Pool& pool, StrId name) const {
    std::vector<const HolderRef*> counted;
    auto it = pool.holders.find(name);
    for (size_t i = 0; it != pool.holders.end() && i < it->second.size(); ++i)
      if (layer_ == Layer::kAll || it->second[i].observed) counted.push_back(&it->second[i]);
    return counted;
  }

  static ClaimIndex first_of(const std::vector<const HolderRef*>& holders) {
    ClaimIndex first = kNone;
    for (const HolderRef* holder : holders) first = std::min(first, holder->claim);
    return first;
  }

  // A device can have thousands of holders, and each of them asks: the answer should not cost a list of all.
  bool has_earlier_holder(const Pool& pool, StrId name, ClaimIndex claim) const {
    const auto it = pool.holders.find(name);
    return it != pool.holders.end() && std::any_of(it->second.begin(), it->second.end(), [&](const HolderRef& holder) {
             return holder.claim < claim && (layer_ == Layer::kAll || holder.observed);
           });
  }

  bool is_asked(ClaimIndex claim) const { return std::binary_search(asked_.begin(), asked_.end(), claim); }

  // Nullptr: the finding concerns no claim that was asked about.
  AuditFinding* add(AuditFinding::Kind kind, const Pool& pool, std::string device, Holders holders) {
    const std::vector<ClaimIndex> claims = std::move(holders).claims();
    if (claims.empty()) return nullptr;
    AuditFinding& finding = findings_.emplace_back();
    finding.kind = kind;
    finding.device = {pool.driver_text, pool.name_text, std::move(device)};
    for (const ClaimIndex claim : claims) finding.claims.push_back(device_index_.claim(claim).uid);
    std::sort(finding.claims.begin(), finding.claims.end());
    return &finding;
  }

  Holders of(const std::vector<const HolderRef*>& counted) const {
    Holders holders(*this);
    holders.add(counted);
    return holders;
  }

  // `asked`: report only if this claim is the first holder; kNone: any holder.
  size_t device(const Pool& pool, StrId name, ClaimIndex asked) {
    if (asked != kNone && has_earlier_holder(pool, name, asked)) return 1;
    const std::vector<const HolderRef*> counted = counted_holders(pool, name);
    if (counted.empty()) return 1;
    size_t work = counted.size();
    same_silicon(pool, name, asked != kNone);
    const uint32_t number = pool.find_device(name);
    if (number == kNone || !pool.shareable(number)) exclusive(pool, name, number, counted);
    if (number == kNone) return work;
    if (pool.shareable(number)) shared(pool, number, counted);
    pool.for_each_named(name, [&](uint32_t named) {
      if (pool.uses_begin(named) == pool.uses_end(named)) return;
      for_each_set(pool, named, [&](StrId set, const Pool::CounterSet& counters) {
        if (asked != kNone || seen_sets_.emplace(pool.id, set).second) work += over_set(pool, counters, asked);
      });
    });
    return work;
  }

  // All holders of one name are one claim, and those of the other are claims that it owns (shadows of a composite).
  bool are_one_owners(const Silicon::Double& pair) const {
    const auto owned = [&](const std::vector<ClaimIndex>& claims, const std::vector<ClaimIndex>& by) {
      return std::all_of(claims.begin(), claims.end(), [&](ClaimIndex claim) {
        return std::all_of(by.begin(), by.end(), [&](ClaimIndex owner) { return device_index_.owns(owner, claim); });
      });
    };
    return owned(pair.claims, pair.other_claims) || owned(pair.other_claims, pair.claims);
  }

  // Another name of the same hardware is held. In an audit of everybody, each pair is reported at its first name.
  void same_silicon(const Pool& pool, StrId name, bool everybody) {
    for (const Silicon::Double& pair : device_index_.silicon().doubles(pool, name, layer_ == Layer::kObserved)) {
      if (everybody && pair.other < pair.device) continue;
      if (are_one_owners(pair)) continue;
      const auto [first, second] = std::minmax(pair.device, pair.other);
      if (!everybody && !seen_pairs_.emplace(first, second).second) continue;
      std::vector<HolderRef> holders;
      for (const auto* claims : {&pair.claims, &pair.other_claims})
        for (const ClaimIndex claim : *claims) holders.emplace_back().claim = claim;
      std::vector<const HolderRef*> all;
      for (const HolderRef& holder : holders) all.push_back(&holder);
      AuditFinding* finding = add(AuditFinding::Kind::kDeviceConflict, pool, text(name), of(all));
      if (finding == nullptr) continue;
      finding->device = first;
      finding->message = "device " + first.text() + " is held, and is the same hardware as " + second.text() + " (" +
                         pair.value + "), which is held too";
    }
  }

  // Different claims on one device that cannot be shared. One claim twice (with two shares) is also one holder too
  // many.
  void exclusive(const Pool& pool, StrId name, uint32_t number, const std::vector<const HolderRef*>& holders) {
    if (holders.size() < 2) return;
    bool all_shared =
        std::all_of(holders.begin(), holders.end(), [](const HolderRef* h) { return h->share != kNoStr; });
    if (all_shared && number == kNone) return;  // no longer published: it may have been shareable
    AuditFinding* finding = add(AuditFinding::Kind::kDeviceOverCommitted, pool, text(name), of(holders));
    if (finding != nullptr)
      finding->message = "device " + finding->device.text() + " is held " + std::to_string(holders.size()) +
                         " times, but cannot be shared";
  }

  void shared(const Pool& pool, uint32_t number, const std::vector<const HolderRef*>& counted) {
    const StrId name = pool.device_name(number);
    bool whole = std::any_of(counted.begin(), counted.end(),
                             [](const HolderRef* h) { return h->share == kNoStr && h->consumed.empty(); });
    if (whole && counted.size() > 1) {
      AuditFinding* finding = add(AuditFinding::Kind::kDeviceOverCommitted, pool, text(name), of(counted));
      if (finding != nullptr)
        finding->message = "device " + finding->device.text() + " is held as a whole and by others";
    }
    if (const std::string what =
            device_index_.shares().conflict(pool, number, layer_ == Layer::kObserved, !asked_.empty());
        !what.empty()) {
      AuditFinding* finding = add(AuditFinding::Kind::kShareConflict, pool, text(name), of(counted));
      if (finding != nullptr) finding->message = "device " + finding->device.text() + " " + what;
    }
    std::vector<Amount> sums = pool.sum_consumed(number, pool.holders.find(name)->second, layer_);
    const CapacityShape& shape = pool.shape(number);
    for (size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] <= shape.entries[i].amount) continue;
      AuditFinding* finding = add(AuditFinding::Kind::kCapacityOverCommitted, pool, text(name), of(counted));
      if (finding == nullptr) continue;
      finding->name = shape.entries[i].name;
      finding->message = "capacity " + finding->name + " of device " + finding->device.text() + " is " +
                         amount_text(shape.entries[i].amount) + ", holders consume " + amount_text(sums[i]);
    }
  }

  // Calls f for every published set that a device uses, once.
  template <class F>
  void for_each_set(const Pool& pool, uint32_t device, F&& f) const {
    uint32_t local;
    const SliceTable& slice = pool.slice_of(device, &local);
    for (StrId set : pool.sets_of(slice, slice.use_first[local], slice.use_first[local + 1]))
      if (auto it = pool.sets_.find(set); it != pool.sets_.end()) f(set, it->second);
  }

  enum class Naming { kAmounts, kHolders };

  // Recomputes what holders take from a set: by counter, in the order of CounterSet::counters.
  std::vector<Drawn> draw(const Pool& pool, const Pool::CounterSet& set, Naming naming, ClaimIndex* first) const {
    std::vector<Drawn> drawn(set.counters.size(), Drawn{0, Holders(*this)});
    *first = kNone;
    for (DeviceRef user : set.users) {
      const uint32_t device = pool.number_of(user);
      const std::vector<const HolderRef*> counted = counted_holders(pool, pool.device_name(device));
      if (counted.empty()) continue;
      *first = std::min(*first, first_of(counted));
      const Holders holders = naming == Naming::kHolders ? of(counted) : Holders(*this);  // once for all counters
      for (const CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use) {
        for (size_t c = 0; c < drawn.size(); ++c) {
          if (set.counters[c].second != use->counter) continue;
          drawn[c].amount += use->amount;
          drawn[c].holders.add(holders);
        }
      }
    }
    return drawn;
  }

  size_t over_set(const Pool& pool, const Pool::CounterSet& set, ClaimIndex asked) {
    ClaimIndex first = kNone;
    std::vector<Drawn> drawn = draw(pool, set, Naming::kHolders, &first);
    for (size_t c = 0; c < drawn.size() && (asked == kNone || asked == first); ++c) {
      const Counter& counter = pool.counters_[set.counters[c].second];
      if (drawn[c].amount <= counter.total || drawn[c].amount <= 0) continue;
      AuditFinding* finding = add(AuditFinding::Kind::kCounterOverCommitted, pool, "", std::move(drawn[c].holders));
      if (finding == nullptr) continue;
      finding->counter_set = text(counter.set);
      finding->name = text(counter.name);
      finding->message = "counter " + finding->counter_set + "/" + finding->name + " of pool " + pool.driver_text +
                         "/" + pool.name_text + " is " + amount_text(counter.total) + ", holders consume " +
                         amount_text(drawn[c].amount);
    }
    return set.users.size();
  }

  // ---- cached state compared with its sources

  void drift(const Pool& pool, std::string what) {
    AuditFinding& finding = findings_.emplace_back();
    finding.kind = AuditFinding::Kind::kDrift;
    finding.device = {pool.driver_text, pool.name_text, ""};
    finding.message = "pool " + pool.driver_text + "/" + pool.name_text + ": " + std::move(what);
  }

  size_t check_set(const Pool& pool, StrId set_name, const Pool::CounterSet& set) {
    ClaimIndex first = kNone;
    const std::vector<Drawn> drawn = draw(pool, set, Naming::kAmounts, &first);
    for (size_t c = 0; c < drawn.size(); ++c) {
      const Counter& counter = pool.counters_[set.counters[c].second];
      const bool same_counter = counter.set == set_name && counter.name == set.counters[c].first &&
                                counter.total == set.publishers.front().second->counters[c].second;
      if (!same_counter || drawn[c].amount != counter.consumed)
        drift(pool, "counter " + text(set_name) + "/" + text(set.counters[c].first) + " was kept as " +
                        amount_text(counter.consumed) + " of " + amount_text(counter.total) +
                        " consumed, holders make it " + amount_text(drawn[c].amount));
    }
    if (pool.any_groups() && !(set.in_use == pool.add_up_groups(set_name, set)))
      drift(pool, "the kept compatibility groups in use on counter set " + text(set_name) +
                      " differ from those of the devices in use");
    return set.users.size();
  }

  // Checks the order and numbers of the slices that count.
  size_t check_pool(const Pool& pool) {
    int64_t newest = 0;
    size_t seen = 0;
    for (const auto& [name, slice] : pool.slices()) {
      if (seen == 0 || slice->generation > newest) seen = 0, newest = slice->generation;
      seen += slice->generation == newest;
    }
    uint32_t next = 0;
    bool in_order = true;
    for (size_t s = 0; s < pool.live_.size(); ++s) {
      const bool first_stale = s + pool.stale_parts_ == pool.live_.size();
      in_order = in_order && pool.first_[s] == next && pool.parts_[s]->table == pool.live_[s] &&
                 (s == 0 || first_stale || pool.parts_[s]->stale || pool.live_[s - 1]->name < pool.live_[s]->name);
      next += pool.live_[s]->size();
    }
    const bool same = in_order && next == pool.size() && newest == pool.generation &&
                      static_cast<int64_t>(seen) == pool.seen &&
                      static_cast<int64_t>(pool.slices().size() - seen - pool.stale_parts_) == pool.obsolete;
    if (!same) drift(pool, "generation, number or order of its slices differ from what was kept");
    return pool.live_.size() / 8;
  }

  void check_device(const Pool& pool, uint32_t d) {
    const StrId name = pool.device_name(d);
    auto it = pool.holders.find(name);
    bool held = it != pool.holders.end() && !it->second.empty();
    bool share = pool.shareable(d);
    bool used = held && (!share || std::any_of(it->second.begin(), it->second.end(), [](const HolderRef& h) {
                  return h.opaque || (h.share == kNoStr && h.consumed.empty());
                }));
    bool free = !used && (held || pool.fits_in_use(d));
    bool known = false;
    pool.for_each_named(name, [&](uint32_t named) { known = known || named == d; });
    if (!known || held != test_bit(pool.charged(), d) || used != test_bit(pool.in_use(), d) ||
        (free && !pool.is_plugins(d) && !pool.is_excluded(d)) != test_bit(pool.available(), d) ||
        (free && !pool.is_plugins(d)) != test_bit(pool.available(true), d))
      drift(pool, "the kept state of device " + text(name) + " differs from its holders");
    std::vector<Amount> sums = held && share ? pool.sum_consumed(d, it->second, Layer::kAll) : std::vector<Amount>();
    const std::vector<SharedTerms>* terms = pool.shared_terms(d);
    if (held && share ? terms == nullptr || *terms != pool.sum_terms(d, it->second) : terms != nullptr)
      drift(pool, "what was kept of who shares device " + text(name) + " differs from its holders");
    const std::vector<Amount>* kept = pool.shared(d);
    if (kept != nullptr ? *kept != sums : !sums.empty())
      drift(pool, "the kept consumption of device " + text(name) + " differs from its holders");
  }

  const DeviceIndex& device_index_;
  Layer layer_;
  std::vector<AuditFinding>& findings_;
  const std::vector<ClaimIndex> asked_;
  std::set<std::pair<PoolId, StrId>> seen_devices_, seen_sets_;
  std::set<std::pair<DeviceName, DeviceName>> seen_pairs_;
};

namespace {
void sort_findings(std::vector<AuditFinding>& findings) {
  std::sort(findings.begin(), findings.end(), [](const AuditFinding& a, const AuditFinding& b) {
    return std::tie(a.kind, a.device, a.counter_set, a.name) < std::tie(b.kind, b.device, b.counter_set, b.name);
  });
}
}  // namespace

bool Inventory::audit_piece(AuditPlace& at, size_t work, std::vector<AuditFinding>& findings) const {
  Audit audit(*device_index_, Layer::kAll, findings);
  for (size_t done = 0; at.claim < device_index_->claim_slots(); ++at.claim) {
    if (done >= work) return false;
    done += audit.claim(at.claim, true);
  }
  constexpr uint32_t kStretch = 64;
  for (size_t done = 0; at.pool < device_index_->pool_slots();) {
    const Pool* pool = device_index_->pool(at.pool);
    if (pool == nullptr || (at.device > 0 && at.device >= pool->size())) {
      ++at.pool;
      at.device = 0;
      continue;
    }
    if (done >= work) return false;
    const uint32_t end = std::min(pool->size(), at.device + kStretch);
    done += 1 + audit.kept_state(*pool, at.device, end);
    at.device = end;
    if (end > 0) continue;
    ++at.pool;  // without devices
  }
  return true;
}

std::vector<AuditFinding> Inventory::audit() const {
  std::vector<AuditFinding> findings;
  AuditPlace at;
  while (!audit_piece(at, 10'000, findings)) {
  }
  sort_findings(findings);
  return findings;
}

std::vector<AuditFinding> Inventory::over_commitments(std::span<const std::string> claim_uids, Layer layer) const {
  std::vector<AuditFinding> findings;
  std::vector<ClaimIndex> asked;
  for (const std::string& uid : claim_uids)
    if (const std::optional<ClaimIndex> index = device_index_->claim_index(uid)) asked.push_back(*index);
  if (asked.empty()) return findings;
  std::sort(asked.begin(), asked.end());
  Audit audit(*device_index_, layer, findings, asked);
  for (const ClaimIndex claim : asked) audit.claim(claim, false);
  sort_findings(findings);
  return findings;
}

bool Inventory::matches(const api::ResourceSlice& slice) const {
  return device_index_->matches(slice);
}

std::vector<DeviceName> Inventory::observed_devices(std::string_view claim_uid) const {
  std::vector<DeviceName> devices;
  const DeviceIndex::ClaimUse* claim = device_index_->find_claim(claim_uid);
  for (size_t i = 0; claim != nullptr && i < claim->held.size(); ++i) {
    const DeviceIndex::HeldRef& ref = claim->held[i];
    const Pool& pool = *device_index_->pool(ref.pool);
    if (!ref.assumed)
      devices.push_back({pool.driver_text, pool.name_text, std::string(device_index_->strings().text(ref.device))});
  }
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

std::optional<uint32_t> Inventory::claim_number(std::string_view claim_uid) const {
  return device_index_->claim_index(claim_uid);
}

std::string Inventory::claim_unchanged_since(uint32_t number, uint64_t since) const {
  if (number >= device_index_->claim_slots()) return {};
  const DeviceIndex::ClaimUse& claim = device_index_->claim(number);
  return claim.changed <= since ? claim.uid : std::string();
}

uint32_t Inventory::claim_numbers() const {
  return static_cast<uint32_t>(device_index_->claim_slots());
}

}  // namespace dra::inventory
