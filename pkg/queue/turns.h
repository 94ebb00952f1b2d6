// Turns: who may go next when many keys want to be notified at once: a few at once, then so many a second, so
// many of one namespace, and those that wait for the longest first.
//
//   if (turns.enter(key, "team-a", "2026-05-01T10:00:00Z")) ...   // go ahead
//   else ...                                                      // the key waits; let_in() returns it later
//
// Two token buckets: one for all keys, one for each namespace; each has `burst` tokens at first. As soon as keys wait
// because the bucket of all is empty, no namespace has more than one token: from then on each goes at its own pace.
//
// As with Pacer, let_in() reserves a turn for each key that it returns until the key enters or leaves; the owner calls
// it at next_due(). Bounded by kMost keys: further ones are refused and may ask again. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"

namespace dra::queue {

class Turns {
 public:
  static constexpr size_t kMost = 100'000;

  struct Rates {
    double burst = 100;
    double per_second = 50;
    double of_namespace = 10;  // a second
  };

  // The clock must outlive this.
  Turns(const Clock& clock, Rates rates) : clock_(clock), rates_(rates), all_{rates.burst, clock.mono_now()} {}

  // True: go ahead. False: the key waits. Keys with a smaller `since` go first.
  bool enter(std::string_view key, const std::string& ns, const std::string& since);
  // The key no longer wants a turn.
  void leave(std::string_view key);
  void clear();
  // The keys whose turn has come.
  std::vector<std::string> let_in();
  // When the next key may be let in; nullopt if none waits.
  std::optional<MonoTime> next_due() const;
  size_t waiting() const { return places_.size(); }

 private:
  struct Bucket {
    double tokens = 0;
    MonoTime at{};
  };
  struct Namespace {
    Bucket bucket;
    std::set<std::pair<std::string, std::string>> line;  // since, key
  };
  struct Place {
    std::string ns, since;
  };

  double tokens_of(const Bucket& bucket, double per_second) const;
  void take(Bucket& bucket, double per_second);
  Duration until_token(const Bucket& bucket, double per_second) const;
  Namespace& namespace_of(const std::string& name);
  // The namespace whose oldest key is the oldest of those that have a token; null: none has.
  Namespace* next();
  void forget_idle();
  std::optional<MonoTime> find_due() const;

  const Clock& clock_;
  const Rates rates_;
  Bucket all_;
  std::map<std::string, Namespace, std::less<>> namespaces_;
  std::unordered_map<std::string, Place, StringHash, std::equal_to<>> places_;
  std::unordered_set<std::string, StringHash, std::equal_to<>> granted_;
  // Asked for far more often than it changes.
  mutable std::optional<MonoTime> due_;
  mutable bool due_known_ = true;
};

}  // namespace dra::queue
