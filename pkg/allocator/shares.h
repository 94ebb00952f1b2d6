// Shares: how much of the time each namespace, and all of them together, may spend on decisions that take long.
//
// A bucket of processor time for each: a namespace has kBurst at hand and gets kPart of the time that passes; all
// namespaces together have theirs. Whoever has used up its bucket is asked to come back later, and until then gets
// slices of kShortSlice steps, which are enough for ordinary claims; a namespace that owes more than kMostOwed gets
// none. Namespaces that have a full bucket again are forgotten. One thread.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>

#include "pkg/base/clock.h"

namespace dra::allocator {

class Shares {
 public:
  static constexpr uint64_t kShortSlice = 1'000;  // steps

  explicit Shares(const Clock* clock) : clock_(clock) {}

  static constexpr Duration kMostOwed = std::chrono::seconds(1);

  // Time until the namespace may have a full slice; zero: now.
  Duration wait(const std::string& ns) { return std::max(wait_for_all(), wait_for(ns)); }
  // The same for what it has spent itself.
  Duration wait_for(const std::string& ns);
  // A slice of the namespace took that long.
  void charge(const std::string& ns, Duration took);

 private:
  struct Bucket {
    double nanos = 0;  // at hand; below zero: owed
    MonoTime at{};
  };
  struct Rate {
    double part;   // of the time that passes
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
