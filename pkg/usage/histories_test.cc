// Random histories of claims, with restarts, changes of leaders and API servers that cannot be reached, against an
// oracle that knows when each claim began and ended.
//
// The leader under test is as the manager's: it sees changes when the server can be reached, writes each minute if it
// can, and goes on from what was written. Time is simulated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <tuple>

#include "pkg/base/random.h"
#include "pkg/usage/ledger.h"
#include "test/support/environment.h"

namespace dra::usage::histories_test {

constexpr int64_t kS = Ledger::kSecond;
constexpr int64_t kEnd = 24 * 3600 * kS;

struct Claim {
  std::string uid, ns;
  int64_t begin = 0, end = 0;
  int64_t nanos = 0;
  bool has_time = true;  // of its allocation
};

// A term of leadership; the server cannot be reached in `outages`, at most 60 s each.
struct Term {
  int64_t begin = 0, end = 0;
  std::vector<std::pair<int64_t, int64_t>> outages;

  // When what happens at `at` is seen.
  int64_t seen(int64_t at) const {
    for (const auto& [from, to] : outages)
      if (at >= from && at < to) return to;
    return at;
  }
};

struct History {
  std::vector<Claim> claims;
  std::vector<Term> terms;

  explicit History(uint64_t seed) {
    SeededRandom random(seed);
    for (int card = 0; card < 8; ++card) {
      int64_t at = 0;
      while (true) {
        at += static_cast<int64_t>(random.below(40 * 60)) * kS;
        // From half a minute to four hours, the short ones often.
        const double minutes = 0.5 * std::pow(480.0, random.unit());
        const int64_t end = at + static_cast<int64_t>(minutes * 60) * kS;
        if (at >= kEnd) break;
        const int64_t sizes[] = {kWholeCard, kWholeCard / 2, kWholeCard / 7, 3 * (kWholeCard / 7)};
        claims.push_back({"c" + std::to_string(card) + "-" + std::to_string(claims.size()),
                          "team-" + std::to_string(random.below(4)), at, end, sizes[random.below(4)],
                          random.below(20) != 0});
        at = end;
      }
    }
    int64_t at = 0;
    while (at < kEnd) {
      Term term{at, at + static_cast<int64_t>(600 + random.below(5 * 3600)) * kS, {}};
      term.end = std::min(term.end, kEnd);
      for (int64_t from = term.begin; random.below(3) != 0;) {
        from += static_cast<int64_t>(120 + random.below(3600)) * kS;
        const int64_t to = std::min(from + static_cast<int64_t>(random.below(61)) * kS, term.end);
        if (from >= to) break;
        term.outages.emplace_back(from, to);
        from = to;
      }
      at = term.end + static_cast<int64_t>(random.below(61)) * kS;  // nobody leads
      if (at >= kEnd) term.end = kEnd;
      terms.push_back(std::move(term));
    }
  }
};

std::vector<Use> uses_of(const Claim& claim) {
  Use use;
  use.labels = {claim.ns, "gpu", "gpu.example.com", "Job"};
  use.devices = 1;
  use.parts = {{claim.uid, claim.nanos}};
  return {use};
}

struct Written {
  Record record;
  int64_t as_of = 0;
};

// One term: what is written at its last successful minute.
std::optional<Written> lead(const History& history, const Term& term, const std::optional<Written>& before) {
  Ledger ledger(term.begin);
  if (before) ledger.restore(before->record, before->as_of);
  for (const Claim& claim : history.claims)
    if (claim.begin <= term.begin && claim.end > term.begin)
      ledger.hold(claim.uid, uses_of(claim), claim.has_time ? claim.begin : term.begin, term.begin);
  ledger.settle_absent(term.begin);
  int64_t last = term.begin;
  for (int64_t at = term.begin; at <= term.end; at += 60 * kS)
    if (term.seen(at) == at) last = at;
  if (term.end == kEnd) last = kEnd;  // to compare at the end of the day
  std::vector<std::pair<int64_t, std::pair<const Claim*, bool>>> events;
  for (const Claim& claim : history.claims) {
    const int64_t begun = term.seen(claim.begin), ended = term.seen(claim.end);
    // What begins and ends within an outage is never seen.
    if (begun == ended && begun != claim.begin) continue;
    if (claim.begin > term.begin && begun <= last) events.push_back({begun, {&claim, true}});
    if (claim.end > term.begin && ended <= last) events.push_back({ended, {&claim, false}});
  }
  std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first, a.second.second) < std::tuple(b.first, b.second.second);
  });
  for (const auto& [at, what] : events) {
    const auto& [claim, begins] = what;
    if (begins)
      ledger.hold(claim->uid, uses_of(*claim), claim->has_time ? claim->begin : at, at);
    else
      ledger.release(claim->uid, at);
  }
  const Result<std::string> text = to_text(ledger.record(last));
  if (!text) return std::nullopt;
  Result<Record> record = parse_record(*text);
  if (!record) return std::nullopt;
  return Written{std::move(*record), last};
}

TEST(Histories, AreWithinOnePercentOfTheOracle) {
  const uint64_t first = test::number_from("DRA_SEED", 1), cases = test::number_from("DRA_USAGE_HISTORIES", 1000);
  double worst = 0, worst_of_team = 0;
  size_t changes = 0, claims = 0;
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const History history(seed);
    std::optional<Written> written;
    std::map<std::string, double> totals;
    for (const Term& term : history.terms) {
      written = lead(history, term, written);
      ASSERT_TRUE(written);
      std::map<std::string, double> now;
      for (const GroupTotal& group : written->record.groups) now[group.labels.ns] += group.card_seconds;
      // What is exported is what was written: it never goes down, whoever leads.
      for (const auto& [ns, seconds] : totals) ASSERT_GE(now[ns], seconds - 0.01) << ns;
      totals = std::move(now);
    }
    ASSERT_EQ(written->as_of, kEnd);
    std::map<std::string, double> oracle;
    double all = 0, counted = 0;
    for (const Claim& claim : history.claims) {
      const double seconds = static_cast<double>(std::min(claim.end, kEnd) - claim.begin) / kS;
      oracle[claim.ns] += seconds * static_cast<double>(claim.nanos) / kWholeCard;
    }
    for (const auto& [ns, seconds] : oracle) {
      all += seconds;
      counted += totals[ns];
      worst_of_team = std::max(worst_of_team, std::abs(totals[ns] - seconds) / seconds);
      ASSERT_NEAR(totals[ns], seconds, 0.01 * seconds) << ns;
    }
    worst = std::max(worst, std::abs(counted - all) / all);
    ASSERT_NEAR(counted, all, 0.01 * all);
    changes += history.terms.size() - 1;
    claims += history.claims.size();
  }
  std::printf("%llu histories, %zu claims, %zu changes of leader: at most %.3f %% off, a team %.3f %%\n",
              static_cast<unsigned long long>(cases), claims, changes, 100 * worst, 100 * worst_of_team);
  RecordProperty("worst", std::to_string(worst));
}

}  // namespace dra::usage::histories_test
