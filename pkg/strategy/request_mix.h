// RequestMix: what requests have recently asked for, per kind of device, and the prices that follow from it.
//
//   mix.note(Seen{claim_hash, kind, cells, count, cpu_milli});   // once a request, found or not
//   if (mix.stale()) mix.refresh();
//   const Kind& kind = mix.kind(k);                     // prices and CPU per device, as of the last refresh
//
// A request counts once, however often it is decided again. Old requests fade: after kMemory newer ones a request
// counts half. Prices are recomputed after 100 requests, then whenever half as many again have come, and then every
// kMemory requests: rarely, because everything derived from them is then recomputed too. A restarted manager notes what
// the claims in the cluster ask for (pkg/manager/request_mix_seed.h).
//
// Deterministic; one thread; bounded by kMaxKinds and kMaxRemembered.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "pkg/strategy/prices.h"

namespace dra::strategy {

struct Seen {
  uint64_t claim = 0;  // a hash of the claim's uid and request
  uint32_t kind = 0;
  uint32_t cells = kCells;  // of each device; kCells: a whole one
  uint32_t count = 1;       // devices
  int64_t cpu_milli = 0;    // that the pod requests beside them; negative: not known
};

struct Kind {
  PriceTable prices = price_rests({});
  // How much CPU of a node goes with one device of this kind; 0: not known yet.
  int64_t cpu_milli_per_device = 0;
};

class RequestMix {
 public:
  static constexpr size_t kMaxKinds = 64;
  static constexpr size_t kMemory = 20'000;  // requests
  static constexpr size_t kMaxRemembered = 1 << 16;

  void note(const Seen& seen);
  // Enough has changed for prices to be recomputed.
  bool stale() const { return noted_ >= refresh_at_; }
  void refresh();
  // A kind that no request has asked for has plain prices.
  const Kind& kind(uint32_t kind) const { return kind < kinds_.size() ? kinds_[kind] : plain_; }
  // Grows with every refresh.
  uint64_t version() const { return version_; }
  uint64_t noted() const { return noted_; }

 private:
  struct Counts {
    Demand devices{};
    double cpu_milli = 0;
    double whole_devices = 0;
  };
  bool remember(uint64_t claim);

  std::vector<Counts> counts_;
  std::vector<Kind> kinds_;
  Kind plain_;
  double weight_ = 1;  // of the next request: grows, so that older ones fade
  uint64_t noted_ = 0;
  uint64_t refresh_at_ = 100;
  uint64_t version_ = 1;
  std::unordered_set<uint64_t> newer_, older_;  // claims that have been counted
};

}  // namespace dra::strategy
