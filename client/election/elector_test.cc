#include "client/election/elector.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/testing/fake_server.h"
#include "client/testing/fault.h"
#include "pkg/base/random.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::client::elector_test {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::FakeServer;

const std::string kPath = "/apis/coordination.k8s.io/v1/leases";

struct World {
  ManualClock clock;
  SimReactor reactor{clock};
  FakeServer server{reactor};
  InProcessTransport inner{reactor, server};
  SeededRandom random{1};

  json lease() const {
    std::string text = server.get(kPath, "kube-system", "lock");
    return text.empty() ? json() : json::parse(text)["spec"];
  }
};

// One process, with its own network and its own log of terms.
struct Candidate {
  Candidate(World& w, const std::string& id, uint64_t seed = 5)
      : world(w), random(seed), network(w.reactor, w.inner, {}), client(network) {
    ElectorOptions options;
    options.name = "lock";
    options.identity = id;
    options.labels = {{"name", "manager"}};
    options.annotations = [this] { return notes; };
    ElectorCallbacks on;
    on.on_started = [this] {
      ++terms;
      log += "+";
    };
    on.on_stopped = [this](const std::string& why) {
      log += "-";
      last_why = why;
      stopped_at = world.clock.mono_now();
    };
    on.on_annotations_changed = [this](const auto& ours, const auto& now) { changes.emplace_back(ours, now); };
    elector = std::make_unique<Elector>(w.reactor, client, random, options, on);
  }
  World& world;
  SeededRandom random;
  FaultTransport network;
  RestClient client;
  std::unique_ptr<Elector> elector;
  std::map<std::string, std::string> notes;
  std::vector<std::pair<std::map<std::string, std::string>, std::map<std::string, std::string>>> changes;
  int terms = 0;
  std::string log;
  std::string last_why;
  MonoTime stopped_at{};

  void disconnect() {
    network.set_plan([](const Request&, bool) {
      Fault fault;
      fault.kind = Fault::Kind::kHang;
      return fault;
    });
  }
};

TEST(Elector, CreatesTheLeaseAndRenewsIt) {
  World w;
  Candidate a(w, "a");
  a.elector->start();
  w.reactor.run_until_idle();
  EXPECT_TRUE(a.elector->leading());
  EXPECT_EQ(w.lease()["holderIdentity"], "a");
  EXPECT_EQ(w.lease()["leaseDurationSeconds"], 15);
  auto first = w.lease()["renewTime"];
  w.reactor.advance(1min);
  EXPECT_NE(w.lease()["renewTime"], first);
  EXPECT_EQ(w.lease()["leaseTransitions"], 0);
  EXPECT_EQ(w.lease()["acquireTime"], first);
  EXPECT_EQ(a.log, "+");
}

TEST(Elector, TellsWhatOthersWroteWhileItLeads) {
  World w;
  const auto annotate = [&](const char* annotations) {
    json now = json::parse(w.server.get(kPath, "kube-system", "lock"));
    now["metadata"]["annotations"] = json::parse(annotations);
    w.server.put(kPath, "kube-system", "lock", now.dump());
  };
  Candidate a(w, "a"), b(w, "b");
  a.notes = b.notes = {{"kept", "x"}};
  a.elector->start();
  w.reactor.run_until_idle();
  b.elector->start();
  w.reactor.advance(1min);
  EXPECT_TRUE(a.changes.empty()) << "its own renewals";
  annotate(R"({"kept":"y","why":"chart"})");
  w.reactor.advance(5s);
  ASSERT_EQ(a.changes.size(), 1u);
  EXPECT_EQ(a.changes[0].first, (std::map<std::string, std::string>{{"kept", "x"}}));
  EXPECT_EQ(a.changes[0].second, (std::map<std::string, std::string>{{"kept", "y"}, {"why", "chart"}}));
  w.reactor.advance(1min);
  EXPECT_EQ(a.changes.size(), 1u);
  EXPECT_TRUE(b.changes.empty()) << "who does not lead has written nothing";
}

// A renewal writes the whole object: what the chart, or an administrator, has put there stays.
TEST(Elector, LabelsAndAnnotationsOfOthersStayAndItsOwnFollow) {
  World w;
  const auto metadata = [&] { return json::parse(w.server.get(kPath, "kube-system", "lock"))["metadata"]; };
  w.server.put(kPath, "kube-system", "lock", R"({"metadata":{"labels":{"team":"infra"},"annotations":{"why":"chart"}},
    "spec":{"holderIdentity":"","leaseDurationSeconds":1}})");
  Candidate a(w, "a");
  a.notes = {{"mode", "gate"}, {"shared", "x"}};
  a.elector->start();
  w.reactor.run_until_idle();
  ASSERT_TRUE(a.elector->leading());
  EXPECT_EQ(metadata()["labels"], (json{{"team", "infra"}, {"name", "manager"}}));
  EXPECT_EQ(metadata()["annotations"], (json{{"why", "chart"}, {"mode", "gate"}, {"shared", "x"}}));
  a.notes = {{"mode", "bind"}, {"shared", ""}};
  w.reactor.advance(5s);
  EXPECT_EQ(metadata()["annotations"], (json{{"why", "chart"}, {"mode", "bind"}}));
  a.elector->stop([] {});
  w.reactor.run_until_idle();
  EXPECT_EQ(metadata()["labels"], (json{{"team", "infra"}, {"name", "manager"}}));
}

TEST(Elector, AStandbyTakesOverOneLeaseDurationAfterTheLastRenewalItSaw) {
  World w;
  Candidate a(w, "a", 1);
  Candidate b(w, "b", 2);
  a.elector->start();
  w.reactor.run_until_idle();
  b.elector->start();
  w.reactor.advance(1min);
  EXPECT_FALSE(b.elector->leading());
  EXPECT_EQ(b.elector->leader(), "a");
  a.disconnect();
  MonoTime cut = w.clock.mono_now();
  ASSERT_TRUE(w.reactor.run_until([&] { return b.elector->leading(); }, 1min));
  EXPECT_GE(w.clock.mono_now() - cut, 12s);
  EXPECT_LE(w.clock.mono_now() - cut, 25s);
  EXPECT_EQ(a.log, "+-");
  EXPECT_LE(a.stopped_at - cut, 10s);
  EXPECT_EQ(w.lease()["leaseTransitions"], 1);
}

TEST(Elector, AnUnknownHolderAtStartIsWaitedOut) {
  World w;
  w.server.put(
      kPath, "kube-system", "lock",
      R"({"spec":{"holderIdentity":"old","leaseDurationSeconds":15,"renewTime":"2001-01-01T00:00:00.000000Z"}})");
  Candidate a(w, "a");
  a.elector->start();
  w.reactor.advance(14900ms);
  EXPECT_FALSE(a.elector->leading());
  w.reactor.advance(5s);
  EXPECT_TRUE(a.elector->leading());
}

TEST(Elector, AReleasedLeaseIsTakenAtOnce) {
  World w;
  w.server.put(kPath, "kube-system", "lock", R"({"spec":{"holderIdentity":"","leaseDurationSeconds":1}})");
  Candidate a(w, "a");
  a.elector->start();
  w.reactor.run_until_idle();
  EXPECT_TRUE(a.elector->leading());
}

TEST(Elector, StopReleasesAndTheNextNeedNotWait) {
  World w;
  Candidate a(w, "a", 1);
  Candidate b(w, "b", 2);
  a.elector->start();
  w.reactor.run_until_idle();
  b.elector->start();
  w.reactor.advance(5s);
  bool done = false;
  a.elector->stop([&] { done = true; });
  EXPECT_EQ(a.log, "+-");
  w.reactor.run_until_idle();
  EXPECT_TRUE(done);
  EXPECT_EQ(w.lease()["holderIdentity"], "");
  w.reactor.advance(4500ms);
  EXPECT_TRUE(b.elector->leading());
}

TEST(Elector, StopEndsEvenIfTheServerDoesNotAnswer) {
  World w;
  Candidate a(w, "a");
  a.elector->start();
  w.reactor.run_until_idle();
  a.disconnect();
  bool done = false;
  a.elector->stop([&] { done = true; });
  w.reactor.advance(2100ms);
  EXPECT_TRUE(done);
  EXPECT_EQ(w.lease()["holderIdentity"], "a");
}

TEST(Elector, AnotherHolderSeenEndsTheTermAtOnce) {
  World w;
  Candidate a(w, "a");
  a.elector->start();
  w.reactor.advance(10s);
  w.server.put(kPath, "kube-system", "lock", R"({"spec":{"holderIdentity":"thief"}})");
  MonoTime taken = w.clock.mono_now();
  w.reactor.advance(5s);
  EXPECT_EQ(a.log, "+-");
  EXPECT_LE(a.stopped_at - taken, 2100ms);
  EXPECT_NE(a.last_why.find("thief"), std::string::npos);
}

TEST(Elector, ADeletedLeaseEndsTheTermAndIsMadeAnew) {
  World w;
  Candidate a(w, "a");
  a.elector->start();
  w.reactor.advance(10s);
  w.server.erase(kPath, "kube-system", "lock");
  w.reactor.advance(10s);
  EXPECT_EQ(a.log, "+-+");
}

TEST(Elector, TimesAreValidated) {
  EXPECT_TRUE(validate({15s, 10s, 2s}).has_value());
  EXPECT_FALSE(validate({10s, 10s, 2s}).has_value());
  EXPECT_FALSE(validate({15s, 2400ms, 2s}).has_value());
  EXPECT_FALSE(validate({15s, 10s, 500ms}).has_value());
  EXPECT_FALSE(validate({15500ms, 10s, 2s}).has_value());
  EXPECT_NE(validate({15s, 10s, 0s}).error().message().find("--leader-elect-retry-period"), std::string::npos);
}

TEST(Elector, BrokenLeasesAreNotTakenForOurs) {
  for (const char* text : {"", "[]", "null", "{\"spec\":7}", "{\"spec\":{\"holderIdentity\":7}}"}) {
    auto record = parse_lease(text);
    if (record) {
      EXPECT_TRUE(record->holder.empty()) << text;
    }
  }
}

// Three candidates, each behind its own bad network: two never lead at once, and when the network recovers one leads.
// All share the reactor's clock, so a term must end by its own deadline before the lease can pass to another
// candidate.
TEST(Elector, NeverTwoLeadersWhateverTheNetworkDoes) {
  int terms = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World w;
    SeededRandom chaos(seed);
    std::vector<std::unique_ptr<Candidate>> all;
    for (int i = 0; i < 3; ++i) {
      all.push_back(std::make_unique<Candidate>(w, "c" + std::to_string(i), seed * 10 + static_cast<uint64_t>(i)));
      all.back()->elector->start();
    }
    auto leaders = [&] {
      int count = 0;
      for (auto& c : all) count += c->elector->leading() ? 1 : 0;
      return count;
    };
    for (int step = 0; step < 60; ++step) {
      auto& victim = *all[chaos.below(3)];
      FaultRates rates;
      switch (chaos.below(4)) {
        case 0:
          victim.disconnect();
          break;
        case 1:
          victim.network.set_plan({});
          break;
        default:
          rates.refuse = rates.lose_answer = rates.hang = rates.throttle = rates.server_error = 0.15;
          rates.max_delay = 4s;
          victim.network.set_plan(random_faults(victim.random, rates));
      }
      for (int i = 0; i < 60; ++i) {
        w.reactor.advance(100ms);
        ASSERT_LE(leaders(), 1) << "at step " << step;
      }
    }
    for (auto& c : all) c->network.set_plan({});
    w.reactor.advance(1min);
    EXPECT_EQ(leaders(), 1);
    for (auto& c : all) terms += c->terms;
  }
  EXPECT_GT(terms, 100);  // the chaos did change leaders
}

}  // namespace dra::client::elector_test
