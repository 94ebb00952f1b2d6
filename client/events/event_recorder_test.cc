#include "client/events/event_recorder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/testing/fake_server.h"
#include "client/testing/fault.h"
#include "pkg/base/timestamp.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::client::event_recorder_test {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::FakeServer;

const std::string kPath = "/apis/events.k8s.io/v1/events";

struct World {
  explicit World(RecorderOptions options = {}) {
    options.instance = "dra-controller-manager-host";
    recorder = std::make_unique<EventRecorder>(reactor, client, random, options);
    server.on_request = [this](const Request& r) { ++writes[r.method]; };
  }
  ManualClock clock;
  SimReactor reactor{clock};
  FakeServer server{reactor};
  InProcessTransport inner{reactor, server};
  FaultTransport network{reactor, inner, {}};
  RestClient client{network};
  SeededRandom random{1};
  std::unique_ptr<EventRecorder> recorder;
  std::map<std::string, int> writes;

  static EventRequest event(const std::string& pod, const std::string& note) {
    EventRequest e;
    e.regarding = {"v1", "Pod", "ns", pod, "uid-" + pod, "7"};
    e.warning = true;
    e.reason = "CannotAllocate";
    e.action = "Allocate";
    e.note = note;
    return e;
  }
  std::vector<json> events() {
    std::vector<json> all;
    for (auto& [key, version] : server.snapshot(kPath)) {
      auto slash = key.find('/');
      all.push_back(json::parse(server.get(kPath, key.substr(0, slash), key.substr(slash + 1))));
    }
    return all;
  }
};

TEST(EventRecorder, WritesWhatTheApiRequires) {
  World w;
  w.recorder->record(World::event("a", "no node"));
  w.reactor.run_until_idle();
  auto all = w.events();
  ASSERT_EQ(all.size(), 1u);
  const json& e = all[0];
  EXPECT_EQ(e["regarding"],
            json::parse(
                R"({"apiVersion":"v1","kind":"Pod","namespace":"ns","name":"a","uid":"uid-a","resourceVersion":"7"})"));
  EXPECT_EQ(e["type"], "Warning");
  EXPECT_EQ(e["reason"], "CannotAllocate");
  EXPECT_EQ(e["action"], "Allocate");
  EXPECT_EQ(e["note"], "no node");
  EXPECT_EQ(e["reportingController"], "dra-controller-manager");
  EXPECT_EQ(e["reportingInstance"], "dra-controller-manager-host");
  EXPECT_EQ(e["eventTime"], format_rfc3339_micro(w.clock.wall_now()));
  EXPECT_FALSE(e.contains("series"));
  EXPECT_EQ(e["metadata"]["name"].get<std::string>().rfind("a.", 0), 0u);
}

TEST(EventRecorder, ClusterScopedObjectsAndLongTexts) {
  World w;
  EventRequest e = World::event("", std::string(1023, 'x') + "\xc3\xa9tail");
  e.regarding = {"v1", "Node", "", std::string(253, 'n'), "u", ""};
  e.action = "";
  w.recorder->record(e);
  w.reactor.run_until_idle();
  auto all = w.events();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["metadata"]["namespace"], "default");
  EXPECT_EQ(all[0]["note"], std::string(1023, 'x'));
  EXPECT_LE(all[0]["metadata"]["name"].get<std::string>().size(), 253u);
  EXPECT_EQ(all[0]["action"], "CannotAllocate");
}

TEST(EventRecorder, SeriesCountInMemoryAndAreRefreshed) {
  World w;
  for (int i = 0; i < 100; ++i) {
    w.recorder->record(World::event("a", "same"));
    w.reactor.advance(60s);
  }
  // 100 minutes: created, turned into a series, refreshed every half hour.
  EXPECT_EQ(w.writes["POST"], 1);
  EXPECT_GE(w.writes["PATCH"], 3);
  EXPECT_LE(w.writes["PATCH"], 5);
  w.reactor.advance(10min);  // silence: the final count
  auto all = w.events();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["series"]["count"], 100);
  w.recorder->record(World::event("a", "same"));
  w.reactor.run_until_idle();
  EXPECT_EQ(w.events().size(), 2u);  // a new series after the silence
}

TEST(EventRecorder, TheSecondWhileTheFirstIsUnderWayIsNotLost) {
  World w;
  w.recorder->record(World::event("a", "same"));
  w.recorder->record(World::event("a", "same"));
  w.recorder->record(World::event("a", "same"));
  w.reactor.run_until_idle();
  EXPECT_EQ(w.events()[0]["series"]["count"], 3);
}

TEST(EventRecorder, AFloodAboutOneObjectIsStopped) {
  World w;
  for (int i = 0; i < 1000; ++i) w.recorder->record(World::event("a", "note " + std::to_string(i)));
  w.recorder->record(World::event("b", "another object"));
  w.reactor.run_until_idle();
  EXPECT_EQ(w.events().size(), 26u);
  EXPECT_EQ(w.recorder->stats().over_budget, 975u);
  w.reactor.advance(11min);
  for (int i = 0; i < 10; ++i) w.recorder->record(World::event("a", "later " + std::to_string(i)));
  w.reactor.run_until_idle();
  EXPECT_EQ(w.events().size(), 28u);
}

// The budgets of the objects that were reported last are kept, and making room for one renews no other.
TEST(EventRecorder, AFloodIsStoppedWhileOtherObjectsAreReported) {
  RecorderOptions options;
  options.max_series = 100;
  World w(options);
  const auto record = [&w](const std::string& pod, int i) {
    const bool taken = w.recorder->record(World::event(pod, "note " + std::to_string(i)));
    w.reactor.run_until_idle();
    return taken;
  };
  for (int i = 0; i < 50; ++i) EXPECT_EQ(record("flood", i), i < 25);
  for (int i = 0; i < 99; ++i) EXPECT_TRUE(record("p" + std::to_string(i), 0));
  for (int i = 50; i < 100; ++i) EXPECT_FALSE(record("flood", i)) << "it is the oldest, and known";
  EXPECT_TRUE(record("one-more", 0));
  EXPECT_FALSE(record("flood", 100)) << "it was reported last, p0 is forgotten";
}

TEST(EventRecorder, TheQueueIsBoundedWhenTheServerIsAway) {
  World w;
  Fault refuse;
  refuse.kind = Fault::Kind::kHang;
  w.network.set_plan([&](const Request&, bool) { return refuse; });
  for (int i = 0; i < 20000; ++i) w.recorder->record(World::event("p" + std::to_string(i), "x"));
  EXPECT_LE(w.recorder->queued(), 1000u);
  EXPECT_GT(w.recorder->stats().dropped, 18000u);
}

// A flood of events from one namespace delays another namespace by one event, and only the flood is dropped.
TEST(EventRecorder, NamespacesTakeTurnsAndTheFloodIsWhatIsDropped) {
  World w;
  Fault slow;
  slow.delay_answer = 10ms;
  w.network.set_plan([&](const Request&, bool) { return slow; });
  const auto of = [](const std::string& ns, int i, bool warning) {
    EventRequest e = World::event(ns + std::to_string(i), "x");
    e.regarding.ns = ns;
    e.warning = warning;
    return e;
  };
  for (int i = 0; i < 500; ++i) EXPECT_TRUE(w.recorder->record(of("hostile", i, i % 2 == 0)));
  EXPECT_TRUE(w.recorder->record(of("other", 0, false)));
  w.reactor.advance(35ms);
  bool notified = false;
  for (const json& e : w.events()) notified = notified || e["regarding"]["namespace"] == "other";
  EXPECT_TRUE(notified) << "in its turn";
  slow.kind = Fault::Kind::kHang;
  EXPECT_TRUE(w.recorder->record(of("other", 1, false)));
  for (int i = 1000; i < 5000; ++i) EXPECT_TRUE(w.recorder->record(of("hostile", i, i % 2 == 0)));
  slow.kind = Fault::Kind::kNone;
  w.reactor.advance(1h);
  size_t warnings = 0, normal = 0, others = 0;
  for (const json& e : w.events()) {
    if (e["regarding"]["namespace"] == "other")
      ++others;
    else if (const std::string name = e["regarding"]["name"]; name.size() == 11)
      ++(e["type"] == "Warning" ? warnings : normal);
  }
  EXPECT_EQ(others, 2u);
  EXPECT_GE(warnings, 900u) << "warnings stay";
  EXPECT_LE(normal, 100u);
}

// An event that recurs while its ended series is still being written: no flush() hangs.
TEST(EventRecorder, ASeriesThatIsBeingSentIsNotReplaced) {
  World w;
  Fault slow;
  slow.delay_answer = 10min;
  w.network.set_plan([&](const Request&, bool) { return slow; });
  w.recorder->record(World::event("a", "x"));
  w.reactor.advance(8min);
  w.recorder->record(World::event("a", "x"));
  w.recorder->record(World::event("b", "x"));
  w.reactor.advance(3h);
  EXPECT_EQ(w.events().size(), 2u);
  EXPECT_EQ(w.recorder->queued(), 0u);
}

TEST(EventRecorder, SeriesThatTheServerKnowsMakeRoom) {
  RecorderOptions options;
  options.max_series = 100;
  World w(options);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(w.recorder->record(World::event("p" + std::to_string(i), "x"))) << i;
    w.reactor.run_until_idle();
  }
  EXPECT_EQ(w.events().size(), 1000u);
  EXPECT_EQ(w.recorder->stats().dropped, 0u);
}

TEST(EventRecorder, LostAnswersAndOutagesAreRetriedRefusalsAreNot) {
  World w;
  int asked = 0;
  Fault lost;
  lost.kind = Fault::Kind::kLoseAnswer;
  w.network.set_plan([&](const Request&, bool) { return ++asked <= 2 ? lost : Fault{}; });
  w.recorder->record(World::event("a", "x"));
  w.reactor.advance(1min);
  EXPECT_EQ(w.events().size(), 1u);  // once, although the first answer was lost
  EXPECT_EQ(w.recorder->stats().dropped, 0u);
  Fault forbidden;
  forbidden.kind = Fault::Kind::kAnswer;
  forbidden.answer.status = 403;
  asked = 0;
  w.network.set_plan([&](const Request&, bool) {
    ++asked;
    return forbidden;
  });
  w.recorder->record(World::event("b", "x"));
  w.reactor.advance(5min);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(w.recorder->stats().dropped, 1u);
}

TEST(EventRecorder, FlushWaitsForWhatIsQueuedButNotForEver) {
  World w;
  for (int i = 0; i < 20; ++i) w.recorder->record(World::event("p" + std::to_string(i), "x"));
  bool done = false;
  w.recorder->flush(5s, [&] {
    done = true;
    EXPECT_EQ(w.events().size(), 20u);
  });
  w.reactor.run_until_idle();
  EXPECT_TRUE(done);
  Fault hang;
  hang.kind = Fault::Kind::kHang;
  w.network.set_plan([&](const Request&, bool) { return hang; });
  w.recorder->record(World::event("z", "x"));
  done = false;
  w.recorder->flush(5s, [&] { done = true; });
  w.reactor.advance(5s);
  EXPECT_TRUE(done);
}

}  // namespace dra::client::event_recorder_test
