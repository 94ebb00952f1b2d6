// NamespaceBudget: the processor time that each namespace, and all of them together, may spend on long decisions.
//
// Each has a token bucket of processor time: a namespace can save up 100 ms and receives 20 % of the time that passes
// (kNamespace); all together have a bucket of their own (kAll). A namespace whose bucket is empty is asked to call
// later, and until then gets slices of kShortSlice steps, enough for ordinary claims; one that owes more than kMostOwed
// gets none. Namespaces with a full bucket are forgotten. One thread.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>

#include "pkg/base/clock.h"

namespace dra::allocator {

class NamespaceBudget {
 public:
  static constexpr uint64_t kShortSlice = 1'000;  // steps

  explicit NamespaceBudget(const Clock* clock) : clock_(clock) {}

  static constexpr Duration kMostOwed = std::chrono::seconds(1);

  // Time until the namespace may have a full slice; zero: now.
  Duration wait(const std::string& ns) { return std::max(wait_for_all(), wait_for(ns)); }
  // The same, counting only its own use.
  Duration wait_for(const std::string& ns);
  // Charges a slice of this duration to the namespace.
  void charge(const std::string& ns, Duration took);

 private:
  struct Bucket {
    double nanos = 0;  // available; below zero: owed
    MonoTime at{};
  };
  struct Rate {
    double part;   // share of the passing time
    double burst;  // nanoseconds
  };
  static constexpr Rate kNamespace = {0.2, 100e6};
  static constexpr Rate kAll = {0.5, 200e6};
  static constexpr size_t kMaxNamespaces = 1024;

  Duration wait_for_all();
  static void fill(Bucket& bucket, const Rate& rate, MonoTime now);
  static Duration owed(const Bucket& bucket, const Rate& rate);

  const Clock* clock_;  // null: nobody waits
  Bucket all_{kAll.burst, {}};
  std::unordered_map<std::string, Bucket> namespaces_;
};

}  // namespace dra::allocator
