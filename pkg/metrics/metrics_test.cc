#include "pkg/metrics/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/base/check.h"

namespace dra::metrics_test {

using metrics::kMaxTableSeries;
using metrics::LabelValues;
using metrics::Registry;
using metrics::Table;

TEST(Metrics, TextIsCompleteAndInAFixedOrder) {
  Registry registry;
  registry.gauge("zz_depth", "[ALPHA] Depth.").set(2);
  auto& requests = registry.counters("rest_client_requests_total", "[ALPHA] Requests.", {"code", "method"});
  requests.with({"200", "GET"}).increment();
  requests.with({"200", "GET"}).increment(2);
  requests.with({"409", "a\"b\\c\n"}).increment();
  registry.histogram("took_seconds", "[ALPHA] Time.", {0.1, 1}).observe(0.5);
  EXPECT_EQ(registry.text(), R"(# HELP rest_client_requests_total [ALPHA] Requests.
# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",method="GET"} 3
rest_client_requests_total{code="409",method="a\"b\\c\n"} 1
# HELP took_seconds [ALPHA] Time.
# TYPE took_seconds histogram
took_seconds_count 1
took_seconds_sum 0.5
took_seconds_bucket{le="0.1"} 0
took_seconds_bucket{le="1"} 1
took_seconds_bucket{le="+Inf"} 1
# HELP zz_depth [ALPHA] Depth.
# TYPE zz_depth gauge
zz_depth 2
)");
}

TEST(Metrics, MisuseIsRefusedByName) {
  Registry registry;
  EXPECT_THROW(registry.counter("bad-name", "x"), CheckFailed);
  EXPECT_THROW(registry.counter("a_total", "two\nlines"), CheckFailed);
  EXPECT_THROW(registry.counter("a_total", "back\\slash"), CheckFailed);
  EXPECT_THROW(registry.counters("a_total", "x", {"le"}), CheckFailed);
  EXPECT_THROW(registry.histogram("h", "x", {1, 0.5}), CheckFailed);
  auto& family = registry.counters("b_total", "x", {"l"});
  EXPECT_THROW(family.with({}), CheckFailed);
  EXPECT_THROW(family.with({"v"}).increment(-1), CheckFailed);
  EXPECT_THROW(registry.gauge("b_total", "x"), CheckFailed);
  EXPECT_THROW(registry.counters("b_total", "x", {"other"}), CheckFailed);
  EXPECT_EQ(&registry.counters("b_total", "x", {"l"}), &family);
}

TEST(Metrics, ChildrenAreBounded) {
  Registry registry;
  auto& family = registry.counters("c_total", "x", {"l"});
  for (size_t i = 0; i < metrics::kMaxChildren + 50; ++i) family.with({std::to_string(i)}).increment();
  EXPECT_EQ(family.with({"overflow"}).value(), 50);
  EXPECT_NE(registry.text().find("c_total{l=\"overflow\"} 50\n"), std::string::npos);
}

TEST(Metrics, RemovedChildrenAreNotServed) {
  Registry registry;
  auto& family = registry.gauges("g", "x", {"l"});
  family.with({"a"}).set(1);
  family.remove({"a"});
  family.remove({"never"});
  EXPECT_EQ(registry.text().find("g{"), std::string::npos);
}

TEST(Metrics, ARefreshIsDoneInSteps) {
  Registry registry;
  EXPECT_TRUE(registry.refresh_some());
  int steps = 0, once = 0;
  registry.before_collect_in_steps([&] { return ++steps % 3 == 0; });
  registry.before_collect([&] { ++once; });
  for (const bool last : {false, false, false, true, false}) EXPECT_EQ(registry.refresh_some(), last);
  EXPECT_EQ(std::pair(steps, once), std::pair(4, 1));
  registry.refresh();
  EXPECT_EQ(std::pair(steps, once), std::pair(6, 2)) << "all of it";
}

TEST(Metrics, GaugesCanBeComputedWhenAsked) {
  Registry registry;
  auto& gauge = registry.gauge("g", "x");
  int calls = 0;
  registry.before_collect([&] { gauge.set(++calls); });
  registry.text();
  EXPECT_NE(registry.text().find("\ng 2\n"), std::string::npos);
}

TEST(Metrics, ProcessFiguresAreThere) {
  Registry registry;
  registry.add_process_metrics();
  std::string text = registry.text();
  EXPECT_NE(text.find("# TYPE process_cpu_seconds_total counter"), std::string::npos);
  EXPECT_GT(registry.gauge("process_resident_memory_bytes", "Resident memory size in bytes.").value(), 1e5);
  EXPECT_GE(registry.gauge("process_open_fds", "Number of open file descriptors.").value(), 3);
}

TEST(Metrics, ExponentialBuckets) {
  EXPECT_EQ(metrics::exponential_buckets(1, 2, 4), (std::vector<double>{1, 2, 4, 8}));
}

TEST(Metrics, ATableIsReplacedAtOnce) {
  Registry registry;
  Table& totals = registry.counter_table("t_seconds_total", "[ALPHA] Seconds.", {"who"});
  EXPECT_EQ(registry.text(), "") << "no series yet";
  totals.replace({{{"a"}, 2.5}, {{"b"}, 1}});
  EXPECT_EQ(registry.text(),
            "# HELP t_seconds_total [ALPHA] Seconds.\n# TYPE t_seconds_total counter\n"
            "t_seconds_total{who=\"a\"} 2.5\nt_seconds_total{who=\"b\"} 1\n");
  totals.replace({{{"b\"\n"}, 3}});
  EXPECT_EQ(registry.text(),
            "# HELP t_seconds_total [ALPHA] Seconds.\n# TYPE t_seconds_total counter\n"
            "t_seconds_total{who=\"b\\\"\\n\"} 3\n");
  EXPECT_THROW(totals.replace({{{"a", "b"}, 1}}), CheckFailed);
  std::map<LabelValues, double> many;
  for (size_t i = 0; i < kMaxTableSeries + 100; ++i) many[{std::to_string(i)}] = 1;
  totals.replace(many);
  const std::string text = registry.text();
  EXPECT_EQ(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), kMaxTableSeries + 2);
  EXPECT_EQ(&registry.counter_table("t_seconds_total", "[ALPHA] Seconds.", {"who"}), &totals);
  EXPECT_THROW(registry.gauge_table("t_seconds_total", "[ALPHA] Seconds.", {"who"}), CheckFailed);
}

}  // namespace dra::metrics_test
