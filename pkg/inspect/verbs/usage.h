// usage: who holds how much now, who used how much since the manager counts, and in a period that a Prometheus knows.
// Pure; the period's figures come as the text that a Prometheus answered.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"
#include "pkg/usage/record.h"

namespace dra::inspect {

// What the rows of an answer are.
enum class UsageBy : uint8_t { kNamespace, kClass, kDriver, kOwner, kAll };
// "namespaces", "classes", "drivers", "owners", "all"; nothing for another word.
std::optional<UsageBy> usage_by(std::string_view word);
const std::vector<std::string>& usage_words();

struct UsageQuestion {
  UsageBy by = UsageBy::kNamespace;
  std::string ns;  // of this namespace alone; empty: all
};

// The totals that the leader wrote, or why they are not known.
struct UsageTotals {
  std::optional<usage::Record> record;
  std::string why_not;
};

// Held now, by the claims of the state, and the totals beside it.
Answer usage_now(const State& state, const UsageQuestion& question, const UsageTotals& totals);

// ---- a period

// "36h", "7d", "1w2d": as Prometheus writes durations; at most ten years.
Result<std::string> usage_period(std::string_view text);
// What to ask a Prometheus: `metric` is "device_seconds" or "card_seconds". `recorded`: of the chart's recording rules.
std::string usage_query(std::string_view metric, std::string_view period, bool recorded);

struct UsageOfPeriod {
  usage::Labels labels;
  double device_seconds = 0, card_seconds = 0;
};
// One answer of /api/v1/query, added to what is there. Errors: it is no such answer, or the query failed there.
Result<size_t> add_usage_answer(std::string_view text, bool cards, std::vector<UsageOfPeriod>& out);
Answer usage_of_period(const std::vector<UsageOfPeriod>& found, const UsageQuestion& question,
                       const std::string& period, bool recorded);

}  // namespace dra::inspect
