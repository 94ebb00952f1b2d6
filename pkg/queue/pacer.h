// Pacer: limits how many keys per second may begin something costly, in the order in which they asked.
//
// A token bucket with a waiting line. A key that asks when no token is free joins the line; let_in() returns the keys
// whose turn has come and reserves a token for each until it asks again. A key that no longer wants to enter leaves and
// frees its place or token. The line is bounded by the number of distinct keys that asked.
//
// Not thread-safe: one thread owns it. It sets no timers: the owner calls let_in() at next_due().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"

namespace dra::queue {

class Pacer {
 public:
  // per_second > 0, burst >= 1; the bucket starts full. The clock must outlive this.
  Pacer(const Clock& clock, double per_second, double burst);

  // True: go ahead, a token is taken. False: the key waits in line.
  bool enter(std::string_view key);
  // The key no longer wants to enter.
  void leave(std::string_view key);
  // The keys whose turn has come; each has a token reserved for its next enter().
  std::vector<std::string> let_in();
  // When the next key in line may be let in; nullopt if none waits.
  std::optional<MonoTime> next_due() const;
  size_t waiting() const { return line_.size(); }

 private:
  double tokens_now() const;
  bool take();

  const Clock& clock_;
  double per_second_;
  double burst_;
  double tokens_;
  MonoTime counted_at_;
  uint64_t sequence_ = 0;
  std::map<uint64_t, std::string> line_;
  std::unordered_map<std::string, uint64_t, StringHash, std::equal_to<>> places_;
  std::unordered_set<std::string, StringHash, std::equal_to<>> granted_;
};

}  // namespace dra::queue
