// A bad network between the manager and the API server: refused, lost, hanging, throttled and failing requests, watches
// that are cut, expire, fall silent or repeat events. At the end everything must be as if nothing had happened.
//
// In a short run each kind of fault meets every third scenario in turn. DRA_FAULT_SEEDS: this many seeds for each kind
// in each scenario.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "test/integration/scenario.h"

namespace dra::integration::fault_test {

using client::Fault;
using client::FaultPlan;
using client::FaultRates;
using namespace std::chrono_literals;

// Answers a share of the writes with this status, without sending them.
FaultPlan answered_with(Random& random, double share, int status, const std::string& reason, int retry_after = 0) {
  return [&random, share, status, reason, retry_after](const client::Request& request, bool streamed) {
    Fault fault;
    fault.delay_request = Duration(random.below(10'000'000));
    fault.delay_answer = Duration(random.below(10'000'000));
    const bool write = !streamed && request.method != "GET";
    if (!write || random.unit() >= share) return fault;
    fault.kind = Fault::Kind::kAnswer;
    fault.answer.status = status;
    fault.answer.retry_after_seconds = retry_after;
    fault.answer.body = R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":")" + reason +
                        R"(","message":"injected","code":)" + std::to_string(status) + "}";
    return fault;
  };
}

FaultPlan rates(Random& random, FaultRates chosen) {
  chosen.max_delay = 20ms;
  return client::random_faults(random, chosen);
}

struct Kind {
  const char* name;
  FaultPlan (*plan)(Random&);
};

const Kind kKinds[] = {
    {"Conflict409", [](Random& r) { return answered_with(r, 0.2, 409, "Conflict"); }},
    {"Throttled429", [](Random& r) { return answered_with(r, 0.1, 429, "TooManyRequests", 1); }},
    {"Throttled429WithoutRetryAfter", [](Random& r) { return answered_with(r, 0.2, 429, "TooManyRequests"); }},
    {"InternalError500", [](Random& r) { return answered_with(r, 0.2, 500, "InternalError"); }},
    {"Unavailable503", [](Random& r) { return answered_with(r, 0.2, 503, "ServiceUnavailable"); }},
    {"GatewayTimeout504", [](Random& r) { return answered_with(r, 0.1, 504, "Timeout"); }},
    {"Refused", [](Random& r) { return rates(r, {.refuse = 0.2}); }},
    {"AnswerLost", [](Random& r) { return rates(r, {.lose_answer = 0.2}); }},
    {"TimeOut", [](Random& r) { return rates(r, {.hang = 0.03}); }},
    {"WatchCut", [](Random& r) { return rates(r, {.cut = 0.8}); }},
    {"WatchExpired410", [](Random& r) { return rates(r, {.expire = 0.8}); }},
    {"WatchSilent", [](Random& r) { return rates(r, {.silent = 0.3}); }},
    {"WatchRepeats", [](Random& r) { return rates(r, {.duplicate = 1}); }},
    {"Everything",
     [](Random& r) {
       return rates(r, {.refuse = 0.03,
                        .lose_answer = 0.03,
                        .hang = 0.01,
                        .throttle = 0.03,
                        .server_error = 0.03,
                        .cut = 0.2,
                        .expire = 0.2,
                        .silent = 0.05,
                        .duplicate = 0.2});
     }},
};

class Faults : public testing::TestWithParam<Kind> {};

TEST_P(Faults, EveryScenarioEndsWell) {
  const auto list = seeds("DRA_FAULT_SEEDS", 1);
  const bool short_run = std::getenv("DRA_FAULT_SEEDS") == nullptr;
  auto turn = std::find_if(std::begin(kKinds), std::end(kKinds),
                           [](const Kind& kind) { return kind.name == GetParam().name; }) -
              std::begin(kKinds);
  Duration longest{};
  for (const Scenario& scenario : scenarios()) {
    if (short_run && turn++ % 3 != 0) continue;
    for (const uint64_t seed : list) {
      RunOptions options;
      options.seed = seed;
      options.network = GetParam().plan;
      // Time-outs of 30 s, a watch that is silent for 90 s before it is given up, and back-offs in addition.
      options.patience = 600s;
      const RunReport report = run(scenario, options);
      longest = std::max(longest, report.longest_stage);
      EXPECT_EQ(report.findings, "") << scenario.name << ", " << GetParam().name << ", seed " << seed;
    }
  }
  std::printf("%s: longest stage %.1f s\n", GetParam().name, std::chrono::duration<double>(longest).count());
}

INSTANTIATE_TEST_SUITE_P(Network, Faults, testing::ValuesIn(kKinds), [](const auto& kind) { return kind.param.name; });

}  // namespace dra::integration::fault_test
