// Who used what, through whole managers: leaders that are killed, cut off and overlap, and an object that somebody
// else changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "pkg/usage/record.h"
#include "test/integration/cluster.h"
#include "test/support/environment.h"

namespace dra::integration::usage_test {

using namespace std::chrono_literals;

constexpr const char* kObject = "/api/v1/namespaces/kube-system/configmaps/dra-controller-manager-usage";

ProcessOptions counting() {
  ProcessOptions options;
  options.manager = Cluster::manager_options();
  options.manager.usage = manager::ManagerOptions::LeaseRef{"kube-system", "dra-controller-manager-usage"};
  return options;
}

// The sum of a metric's series; nothing if it has none.
std::optional<double> served(Process& process, const std::string& name) {
  std::istringstream text(process.registry().text());
  std::optional<double> sum;
  for (std::string line; std::getline(text, line);)
    if (line.starts_with(name + "{") || line.starts_with(name + " "))
      sum = sum.value_or(0) + std::stod(line.substr(line.rfind(' ')));
  return sum;
}

// A cluster, and how long its claims really held devices, by the clock of the test.
struct Fleet {
  Cluster cluster;
  std::map<std::string, MonoTime> held;  // pods, since when
  double seconds = 0;                    // of pods that are gone
  double most = 0;                       // served so far, by any process
  std::ofstream dump;                    // what a Prometheus would scrape, if DRA_USAGE_OPENMETRICS names a file

  explicit Fleet(uint64_t seed = 1, bool embedded = true) : cluster(options_of(seed, embedded)) {
    cluster.api().create(claim_template("one-gpu"));
  }

  static ClusterOptions options_of(uint64_t seed, bool embedded) {
    ClusterOptions options;
    options.seed = seed;
    options.nodes = 4;
    options.devices = 8;
    options.embedded = embedded;
    options.components.scheduler_allocates = false;
    return options;
  }

  MonoTime now() { return cluster.plane().clock().mono_now(); }
  void begin(const std::string& name) {
    cluster.api().create(pod(name, {from_template("gpu", "one-gpu")}));
    held[name] = now();
  }
  void end(const std::string& name) {
    cluster.api().remove_now(Api::path("Pod", name));
    seconds += std::chrono::duration<double>(now() - held.at(name)).count();
    held.erase(name);
  }
  double oracle() {
    double all = seconds;
    for (const auto& [name, since] : held) all += std::chrono::duration<double>(now() - since).count();
    return all;
  }
  double unix_now() {
    return std::chrono::duration<double>(cluster.plane().clock().wall_now().time_since_epoch()).count();
  }
  // With the labels that scraping adds, and the time.
  void dump_series(const char* name, const std::string& text) {
    std::istringstream lines(text);
    const std::string target = "instance=\"" + std::string(name) + "\",job=\"dra\"";
    char time[40];
    std::snprintf(time, sizeof time, " %.3f\n", unix_now());
    dump << "dra_build_info{" << target << "} 1" << time;
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("dra_usage_") && line.find('{') != std::string::npos)
        dump << line.insert(line.find('{') + 1, target + ",") << time;
  }
  // What a Prometheus that scrapes all processes would see; it must never go down.
  void scrape(std::initializer_list<const char*> processes) {
    for (const char* name : processes)
      if (cluster.running(name) && dump.is_open()) dump_series(name, cluster.process(name).registry().text());
    for (const char* name : processes)
      if (cluster.running(name))
        if (const auto value = served(cluster.process(name), "dra_usage_card_seconds_total")) {
          EXPECT_GE(*value, most - 0.01) << "served by " << name;
          most = std::max(most, *value);
        }
  }
  usage::Record written() {
    const Json object = cluster.api().get(kObject);
    const auto record = usage::parse_record(object["data"]["usage.json"].get<std::string>());
    EXPECT_TRUE(record) << record.error().message();
    return record ? *record : usage::Record{};
  }
};

TEST(Usage, IsCountedWrittenAndServed) {
  Fleet fleet;
  Process& m1 = fleet.cluster.start("m1", counting());
  fleet.cluster.pass(2s);
  for (const char* name : {"a", "b", "c"}) fleet.begin(name);
  ASSERT_TRUE(fleet.cluster.eventually([&] { return fleet.cluster.watchdog().held_devices() == 3; }, 30s));
  EXPECT_EQ(served(m1, "dra_usage_devices"), 3);
  EXPECT_EQ(served(m1, "dra_usage_cards"), 3);
  fleet.cluster.pass(100s);
  fleet.end("b");
  fleet.cluster.pass(120s);
  const double oracle = fleet.oracle();
  const usage::Record record = fleet.written();
  ASSERT_EQ(record.groups.size(), 1u);
  EXPECT_EQ(record.groups[0].labels, (usage::Labels{"default", "gpu", kDriver, "Pod"}));
  const double since =
      std::chrono::duration<double>(Timestamp(fleet.cluster.plane().clock().wall_now()) - record.as_of).count();
  EXPECT_LE(since, 60.5);
  EXPECT_NEAR(record.groups[0].card_seconds, oracle - 2 * since, 3);
  EXPECT_EQ(served(m1, "dra_usage_device_seconds_total"), served(m1, "dra_usage_card_seconds_total"));
  EXPECT_NEAR(*served(m1, "dra_usage_card_seconds_total"), record.groups[0].card_seconds, 0.01);
  EXPECT_EQ(served(m1, "dra_usage_devices"), 2);
  m1.manager().stop_leading();
  EXPECT_EQ(served(m1, "dra_usage_card_seconds_total"), std::nullopt) << "only the leader serves them";
  EXPECT_EQ(served(m1, "dra_usage_devices"), std::nullopt);
}

// Restarts, changes of leader and networks that fail for up to a minute, at random.
TEST(Usage, StaysWithinOnePercentWhoeverLeads) {
  const uint64_t first = test::number_from("DRA_SEED", 1), cases = test::number_from("DRA_USAGE_CLUSTERS", 1);
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Fleet fleet(seed);
    Random& random = fleet.cluster.random();
    // For test/e2e/usage_prometheus_test.py.
    if (const char* file = std::getenv("DRA_USAGE_OPENMETRICS"); file != nullptr && seed == first)
      fleet.dump.open(file);
    std::string leader = "m1";
    fleet.cluster.start(leader, counting());
    fleet.cluster.pass(2s);
    size_t pods = 0;
    for (int minute = 0; minute < 120; ++minute) {
      while (fleet.held.size() < 6 + random.below(3)) fleet.begin("p" + std::to_string(pods++));
      if (random.below(4) == 0) fleet.end(fleet.held.begin()->first);
      if (minute % 20 == 19) {
        const std::string next = leader == "m1" ? "m2" : "m1";
        if (random.below(2) == 0) fleet.cluster.process(leader).manager().finish_leading();
        fleet.cluster.pass(std::chrono::milliseconds(500));
        fleet.cluster.kill(leader);
        fleet.cluster.pass(std::chrono::seconds(random.below(60)));
        leader = next;
        fleet.cluster.start(leader, counting());
      }
      for (int part = 0; part < 4; ++part) {
        fleet.cluster.pass(15s);
        fleet.scrape({"m1", "m2"});
      }
    }
    fleet.cluster.process(leader).manager().finish_leading();
    fleet.cluster.pass(2s);
    double counted = 0;
    for (const usage::GroupTotal& group : fleet.written().groups) counted += group.card_seconds;
    const double oracle = fleet.oracle();
    EXPECT_NEAR(counted, oracle, 0.01 * oracle);
    if (fleet.dump.is_open()) {
      fleet.scrape({"m1", "m2"});
      fleet.dump << "# EOF\n";
      std::printf("until %.3f held %.3f written %.3f\n", fleet.unix_now(), oracle, counted);
    }
    std::printf("seed %llu: %.0f of %.0f card seconds, %.3f %% off\n", static_cast<unsigned long long>(seed), counted,
                oracle, 100 * std::abs(counted - oracle) / oracle);
  }
}

TEST(Usage, TwoThatBothLeadDoNotCountTwice) {
  Fleet fleet;
  fleet.cluster.start("m1", counting());
  fleet.cluster.start("m2", counting());
  fleet.cluster.pass(2s);
  for (const char* name : {"a", "b"}) fleet.begin(name);
  for (int part = 0; part < 120; ++part) {
    fleet.cluster.pass(5s);
    fleet.scrape({"m1", "m2"});
  }
  fleet.cluster.pass(60s);
  double counted = 0;
  for (const usage::GroupTotal& group : fleet.written().groups) counted += group.card_seconds;
  EXPECT_LE(counted, fleet.oracle() * 1.01);
  EXPECT_GE(counted, fleet.oracle() * 0.85) << "the last write is a minute old";
}

TEST(Usage, AnObjectThatCannotBeReadIsLeftAlone) {
  Fleet fleet;
  const std::string bad = R"({"version":7})";
  const Json object{{"metadata", {{"name", "dra-controller-manager-usage"}}},
                    {"data", {{"usage.json", bad}, {"other", "kept"}}}};
  const Answer made = fleet.cluster.api().call("POST", "/api/v1/namespaces/kube-system/configmaps", object.dump());
  ASSERT_EQ(made.status, 201) << made.body;
  Process& m1 = fleet.cluster.start("m1", counting());
  fleet.cluster.pass(2s);
  fleet.begin("a");
  ASSERT_TRUE(fleet.cluster.eventually([&] { return fleet.cluster.watchdog().held_devices() == 1; }, 30s))
      << "pods are served all the same";
  fleet.cluster.pass(150s);
  EXPECT_EQ(fleet.cluster.api().get(kObject)["data"]["usage.json"], bad);
  EXPECT_EQ(served(m1, "dra_usage_devices"), std::nullopt);
  EXPECT_EQ(served(m1, "dra_usage_as_of_timestamp_seconds"), std::nullopt);
  fleet.cluster.api().remove_now(kObject);
  fleet.cluster.pass(70s);
  EXPECT_EQ(served(m1, "dra_usage_devices"), 1);
  EXPECT_EQ(fleet.written().groups.size(), 1u);
}

TEST(Usage, WhatSomebodyElseWroteIsGoneOnFrom) {
  Fleet fleet;
  Process& m1 = fleet.cluster.start("m1", counting());
  fleet.cluster.pass(2s);
  fleet.begin("a");
  fleet.cluster.pass(130s);
  Json object = fleet.cluster.api().get(kObject);
  std::string text = object["data"]["usage.json"];
  const usage::Record before = fleet.written();
  usage::Record more = before;
  more.writer = "somebody else";
  more.groups[0].card_seconds += 10'000;
  fleet.cluster.api().merge(kObject, {{"data", {{"usage.json", *usage::to_text(more)}, {"other", "kept"}}}});
  fleet.cluster.pass(130s);
  EXPECT_GT(*served(m1, "dra_usage_card_seconds_total"), 10'000 + before.groups[0].card_seconds);
  EXPECT_EQ(fleet.cluster.api().get(kObject)["data"]["other"], "kept");
  // Deleted: made again from what the leader knows.
  fleet.cluster.api().remove_now(kObject);
  fleet.cluster.pass(70s);
  EXPECT_GT(fleet.written().groups[0].card_seconds, 10'000);
}

// A pod gets its history along with its condition: no write more.
TEST(History, IsWrittenAlongWithTheCondition) {
  Fleet fleet(1, false);
  Process& m1 = fleet.cluster.start("m1", counting());
  Json large = claim_template("many", "gpu", 9);
  fleet.cluster.api().create(large);
  fleet.cluster.api().create(pod("waits", {from_template("gpu", "many")}));
  const auto history = [&]() -> std::string {
    const Json found = fleet.cluster.api().get(Api::path("Pod", "waits"));
    const Json none = Json::object();
    return found["metadata"].value("annotations", none).value("dra-controller-manager/history", "");
  };
  ASSERT_TRUE(fleet.cluster.eventually([&] { return !history().empty(); }, 90s));
  EXPECT_NE(history().find("Z "), std::string::npos) << history();
  const std::string before = history();
  const size_t written = m1.guard().seen().at("allocation/show-waiting");
  fleet.cluster.pass(300s);
  EXPECT_EQ(history(), before);
  EXPECT_EQ(m1.guard().seen().at("allocation/show-waiting"), written) << "nothing new, nothing written";
  // Forged by a tenant: shown, and nothing else.
  fleet.cluster.api().merge(
      Api::path("Pod", "waits"),
      {{"metadata", {{"annotations", {{"dra-controller-manager/history", std::string(5000, 'x')}}}}}});
  fleet.cluster.api().create(node("big"));
  fleet.cluster.api().create(slice("big", 12));
  ASSERT_TRUE(fleet.cluster.eventually([&] { return fleet.cluster.watchdog().held_devices() == 9; }, 120s));
  ASSERT_TRUE(fleet.cluster.eventually([&] { return history().find("allocated ") != std::string::npos; }, 60s))
      << history();
  EXPECT_LE(history().size(), 1024u);
  EXPECT_EQ(m1.guard().seen().at("allocation/show-waiting"), written + 1)
      << "the condition, and nothing for the history";
}

}  // namespace dra::integration::usage_test
