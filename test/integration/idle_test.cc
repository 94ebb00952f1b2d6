// A cluster in which nothing happens, and keys that cannot succeed: the limits of the manager's activity.
//
// DRA_IDLE_CLAIMS: claims in the idle cluster (400).
#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "test/integration/cluster.h"

namespace dra::integration::idle_test {

using namespace std::chrono_literals;

// Ten minutes; on a real control plane DRA_REAL_PATIENCE.
TEST(Idle, TenMinutesWithoutAWriteButLeaseRenewals) {
  const size_t claims = from_environment("DRA_IDLE_CLAIMS", 400);
  ClusterOptions options;
  options.components.scheduler_allocates = false;
  options.nodes = (claims + 7) / 8;
  options.devices = 8;
  Cluster cluster(options);
  cluster.api().create(claim_template("one-gpu"));
  ProcessOptions process;
  process.manager = Cluster::manager_options();
  process.elect = true;
  Process& manager = cluster.start("m1", process);
  // One pod more than devices: it waits all the time.
  for (size_t i = 0; i <= claims; ++i)
    cluster.api().create(pod("p" + std::to_string(i), {from_template("gpu", "one-gpu")}));
  const bool real = !cluster.plane().simulated();
  ASSERT_TRUE(cluster.eventually([&] { return cluster.watchdog().bound_pods() == claims; }, real ? 600s : 60s));
  cluster.pass(30s);
  const auto before = manager.guard().seen();
  Duration idle = 10min;
  while (!cluster.can_wait(idle)) idle -= 1s;
  cluster.pass(idle);
  size_t renewals = 0;
  for (const auto& [point, count] : manager.guard().seen()) {
    const size_t more = count - (before.contains(point) ? before.at(point) : 0);
    if (point == "lease/update")
      renewals = more;
    else
      EXPECT_EQ(more, 0u) << point;
  }
  EXPECT_GE(renewals, static_cast<size_t>(idle / 2s * 235 / 300));
  EXPECT_LE(renewals, static_cast<size_t>(idle / 2s + 1));
  std::printf("%zu claims, %lld s: %zu lease renewals and no other write\n", claims, static_cast<long long>(idle / 1s),
              renewals);
}

// Attempts of one key whose write always fails in some way.
struct Attempts {
  size_t first_ten_seconds = 0;
  size_t longest_run_later = 0;  // most attempts in any 30 s after two minutes
};

Attempts attempts_with(const client::Fault& fault) {
  ClusterOptions options;
  options.nodes = 1;
  options.components.scheduler_allocates = false;
  Cluster cluster(options);
  cluster.api().create(claim_template("one-gpu"));
  ProcessOptions process;
  process.manager = Cluster::manager_options();
  Process& manager = cluster.start("m1", process, false);
  std::vector<MonoTime> tried;
  manager.network().set_plan([&](const client::Request& request, bool) {
    const bool hit = request.method == "PATCH" && request.target.find("/resourceclaims/") != std::string::npos;
    if (hit) tried.push_back(cluster.plane().reactor().clock().mono_now());
    return hit ? fault : client::Fault{};
  });
  manager.start();
  cluster.pass(1s);
  cluster.api().create(pod("p", {from_template("gpu", "one-gpu")}));
  const MonoTime begin = cluster.plane().reactor().clock().mono_now();
  cluster.pass(10min);
  Attempts result;
  for (size_t i = 0; i < tried.size(); ++i) {
    if (tried[i] - begin < 10s) ++result.first_ten_seconds;
    if (tried[i] - begin < 2min) continue;
    size_t run = 1;
    while (i + run < tried.size() && tried[i + run] - tried[i] < 30s) ++run;
    result.longest_run_later = std::max(result.longest_run_later, run);
  }
  return result;
}

TEST(Attempts, AreFewAndGetFewer) {
  if (!Cluster({.nodes = 0}).can_wait(10min)) GTEST_SKIP() << "needs more real time than DRA_REAL_PATIENCE";
  const auto refused = [](int status, const char* reason) {
    client::Fault fault;
    fault.kind = client::Fault::Kind::kAnswer;
    fault.answer.status = status;
    fault.answer.body = std::string(R"({"kind":"Status","status":"Failure","reason":")") + reason + R"(","code":)" +
                        std::to_string(status) + "}";
    return fault;
  };
  client::Fault unreachable;
  unreachable.kind = client::Fault::Kind::kRefuse;
  const std::pair<const char*, client::Fault> cases[] = {
      {"409", refused(409, "Conflict")},    {"403", refused(403, "Forbidden")},
      {"422", refused(422, "Invalid")},     {"500", refused(500, "InternalError")},
      {"503", refused(503, "Unavailable")}, {"429", refused(429, "TooManyRequests")},
      {"connection refused", unreachable}};
  for (const auto& [name, fault] : cases) {
    const Attempts attempts = attempts_with(fault);
    std::printf("%s: %zu attempts in the first 10 s, at most %zu in 30 s after 2 minutes\n", name,
                attempts.first_ten_seconds, attempts.longest_run_later);
    EXPECT_GE(attempts.first_ten_seconds, 1u) << name;
    EXPECT_LE(attempts.first_ten_seconds, 12u) << name;
    // A lost race backs off per key; any other failure is retried once in 8 s, for all objects of one cause together.
    EXPECT_LE(attempts.longest_run_later, name == std::string_view("409") ? 1u : 4u) << name;
  }
}

}  // namespace dra::integration::idle_test
