// Pacer: lets at most so many keys a second begin something costly, in the order in which they asked.
//
// A token bucket with a line in front of it. A key that asks without a token waiting for it joins the line; let_in()
// says whose turn has come, and the token is kept for that key until it asks again. A key that no longer wants in gives
// its place, or its token, back. The line is bounded by the number of distinct keys that asked.
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
  // The key wants in no longer.
  void leave(std::string_view key);
  // The keys whose turn has come; each holds a token for its next enter().
  std::vector<std::string> let_in();
  // When the next key in line may be let in; nothing while none waits.
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
