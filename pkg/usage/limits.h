// The bounds of labels and series: what the ledger keeps, and so what its text may have.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dra::usage {

struct Limits {
  static constexpr size_t kMaxNamespaces = 200;
  static constexpr size_t kMaxClasses = 50;
  static constexpr size_t kMaxDrivers = 16;
  static constexpr size_t kMaxOwners = 20;
  static constexpr size_t kMaxShareNames = 64;
  static constexpr size_t kMaxLabelBytes = 253;
  // Series of groups (kSeriesOfGroup each) and of their shares.
  static constexpr size_t kMaxSeries = 2'990;
  static constexpr size_t kSeriesOfGroup = 4;
  static constexpr size_t kMaxShareSeries = 1'900;
  static constexpr int64_t kSecond = 1'000'000'000;
  static constexpr int64_t kIdle = 24 * 3600 * kSecond;
  static constexpr int64_t kMostUnseen = 600 * kSecond;
};

}  // namespace dra::usage
