// What is said to people about pods that wait: the first condition at the pod's turn, and an outage that lasts.
#include "pkg/manager/run/runner_fixture.h"

namespace dra::manager::runner_test {

namespace {

Write condition_of(const api::Pod& pod) {
  Write word;
  word.object = ref_of(pod);
  word.subresource = "status";
  word.purpose = "show-waiting";
  word.for_people = true;
  return word;
}

// Shows an outage as the allocation controller does.
class Talking : public Scripted {
 public:
  std::vector<Key> wait_with(const Key& key) override {
    const auto found = companions.find(key.object);
    return found == companions.end() ? std::vector<Key>() : found->second;
  }
  std::map<std::string, std::vector<Key>> companions;
  std::string_view name() const override { return "talking"; }
  std::optional<Write> show_outage(const View& view, const Key& key, const std::string& sentence) override {
    sentences.push_back(sentence);
    return condition_of(*view.pod(key.object));
  }
  std::vector<std::string> sentences;
};

}  // namespace

class RunnerWordTest : public RunnerTest {
 protected:
  // Pods that say why they wait, until they have said it.
  void wait_in(const std::string& ns, int first, int count) {
    scripted.next = [this](const View& in_view, const Key& key) {
      ReconcileResult outcome;
      const api::Pod& pod = *in_view.pod(key.object);
      if (notified.contains(key.object)) {
        outcome.park = Park{{"devices"}, 0, "", ""};
        return outcome;
      }
      outcome.at_its_turn.emplace_back(condition_of(pod));
      outcome.turn_since = pod.metadata.creation_timestamp;
      outcome.park = Park{{"devices"}, 0, "", ""};
      return outcome;
    };
    runner.observe_writes([this](std::string_view, const Write& word) {
      notified.emplace(word.object.store_key(), clock.mono_now() - began);
    });
    for (int i = first; i < first + count; ++i) {
      auto pod = std::make_shared<api::Pod>();
      pod->metadata.ns = ns;
      pod->metadata.name = "p" + std::to_string(i);
      pod->metadata.uid = ns + pod->metadata.name;
      pod->metadata.creation_timestamp = std::to_string(100'000 + i);
      pods_core.answer({std::shared_ptr<const api::Pod>(pod), pod->metadata, 5});
      poke(pod->metadata.name, ns);
    }
  }
  Duration last() const {
    Duration latest{};
    for (const auto& [key, at] : notified) latest = std::max(latest, at);
    return latest;
  }

  MonoTime began = clock.mono_now();
  std::map<std::string, Duration> notified;
};

TEST_F(RunnerWordTest, AHundredPodsAreToldWithinASecond) {
  wait_in("d", 0, 100);
  reactor.advance(1s);
  EXPECT_EQ(notified.size(), 100u);
}

TEST_F(RunnerWordTest, FiveThousandPodsOfTenNamespacesWithinTwoMinutes) {
  for (int n = 0; n < 10; ++n) wait_in("n" + std::to_string(n), n * 500, 500);
  reactor.advance(120s);
  EXPECT_EQ(notified.size(), 5000u);
  EXPECT_GE(last(), 95s) << "not faster than the rate";
}

TEST_F(RunnerWordTest, FiveThousandPodsOfOneNamespaceWithin510Seconds) {
  wait_in("d", 0, 5000);
  reactor.advance(510s);
  EXPECT_EQ(notified.size(), 5000u);
  EXPECT_GE(last(), 480s);
  EXPECT_LE(scripted.passes.size(), 2 * 5000u + 100) << "each looks at its pod twice: when it comes, and at its turn";
}

TEST_F(RunnerWordTest, APodThatHasWaitedForLongerGoesFirst) {
  wait_in("d", 1000, 400);
  reactor.advance(1s);
  wait_in("d", 0, 1);
  reactor.advance(200ms);
  EXPECT_TRUE(notified.contains("d/p0"));
  EXPECT_LT(notified.size(), 120u);
}

// A parked pod whose turn has not come is parked; one that was notified waits for the answer, which runs it.
TEST_F(RunnerWordTest, APodThatIsNotToldYetIsParked) {
  wait_in("d", 0, 150);
  reactor.advance(50ms);
  EXPECT_GE(runner.figures().front().parked, 50u);
  EXPECT_LE(runner.figures().front().parked, 51u);
}

// ---- outages

class RunnerOutageWordTest : public RunnerWordTest {
 protected:
  RunnerOutageWordTest() { runner.add(talking.parts()); }
  // Every pod's claim is refused with this.
  void refuse(const Error& error, int count) {
    server.failures.emplace("mark", error);
    scripted.next = [this](const View&, const Key& key) {
      ReconcileResult outcome;
      Write marks = write("mark", key.object.substr(2));
      marks.subresource = "status";
      if (!notes.settled.contains(marks.object.name)) outcome.add(marks);
      return outcome;
    };
    for (int i = 0; i < count; ++i) put_and_poke("p" + std::to_string(i), 0);
  }
  size_t conditions() const {
    return static_cast<size_t>(std::count_if(server.log.begin(), server.log.end(),
                                             [](const std::string& one) { return one.starts_with("show-waiting"); }));
  }
  Talking talking;
  std::vector<Handle> kept;
};

TEST_F(RunnerOutageWordTest, EveryPodThatWaitsForAWebhookIsToldOnce) {
  refuse(Error(Code::kUnavailable, 500, "InternalError", "failed calling webhook \"deny.example.com\""), 100);
  reactor.advance(14s);
  const size_t asked = server.log.size();
  EXPECT_TRUE(notes.events.empty());
  reactor.advance(13s);
  ASSERT_EQ(notes.events.size(), 100u);
  EXPECT_EQ(conditions(), 100u);
  EXPECT_NE(notes.events[0].find("RequestsFail: the pod waits because the API server has not done \"patch "
                                 "ResourceClaim/status\" for 15 s: failed calling webhook \"deny.example.com\"; it is "
                                 "tried again at least every 8 s"),
            std::string::npos)
      << notes.events[0];
  EXPECT_EQ(talking.sentences.size(), 100u);
  EXPECT_LE(server.log.size() - asked, 100u + 2 * 2 * 3) << "nothing else is asked for";
  reactor.advance(10min);
  EXPECT_EQ(notes.events.size(), 100u);
}

// The answer to the condition changes the pod: that must not try what fails, ahead of its turn.
TEST_F(RunnerOutageWordTest, ItsOwnConditionTriesNothing) {
  refuse(Error(Code::kUnavailable, 500, "InternalError", "failed calling webhook"), 20);
  reactor.advance(14s);
  const size_t passes = scripted.passes.size();
  runner.observe_writes([this](std::string_view, const Write& word) {
    if (word.purpose != "show-waiting") return;
    const std::string key = word.object.store_key();
    kept.push_back(reactor.after(5ms, [this, key] {
      const api::Pod before = *view.pod(key);
      api::Pod after = before;
      after.metadata.resource_version = "9";
      after.conditions.push_back({"PodScheduled", "False", "SchedulerError", "", "", 0});
      after.metadata.managed_fields.push_back({.manager = "dra-controller-manager-allocation"});
      runner.changed(Changed<api::Pod>{&before, &after});
    }));
  });
  reactor.advance(4s);
  EXPECT_EQ(conditions(), 20u);
  EXPECT_LE(scripted.passes.size() - passes, 2u) << "the outage's own pace";
  // Another change of the pod is reconciled as ever.
  const api::Pod before = *view.pod("d/p3");
  api::Pod after = before;
  after.metadata.labels["a"] = "b";
  const size_t now = scripted.passes.size();
  runner.changed(Changed<api::Pod>{&before, &after});
  reactor.advance(1ms);
  EXPECT_EQ(scripted.passes.size(), now + 1);
}

// Members of a group wait for one of them; those that were placed meanwhile do not.
TEST_F(RunnerOutageWordTest, ThoseThatWaitWithAKeyAreToldToo) {
  talking.next = [](const View&, const Key& key) {
    ReconcileResult outcome;
    if (key.object == "d/p0") outcome.add(write("mark", "p0"));
    return outcome;
  };
  for (int i = 1; i < 10; ++i) talking.companions["d/p0"].push_back(pod_key("d/p" + std::to_string(i)));
  server.failures.emplace("mark", Error(Code::kUnavailable, 500, "InternalError", "failed calling webhook"));
  for (int i = 0; i < 10; ++i) put_and_poke("p" + std::to_string(i), 0);
  auto bound = std::make_shared<api::Pod>();
  bound->node_name = "n1";
  pods_core.answer(entry_of("p9", "p9-uid", 6, bound));
  reactor.advance(20s);
  EXPECT_EQ(notes.events.size(), 9u);
  EXPECT_EQ(conditions(), 9u);
  reactor.advance(10min);
  EXPECT_EQ(notes.events.size(), 9u);
}

// The write had no answer, and the object cannot be read: the key has not failed yet.
TEST_F(RunnerOutageWordTest, APodWhoseWriteCannotBeSettledIsTold) {
  server.unreachable = 1'000'000;
  server.read_error = Error(Code::kUnavailable, 500, "InternalError", "etcdserver: request timed out");
  refuse(Error(Code::kUnavailable, "connection reset"), 3);
  reactor.advance(20s);
  EXPECT_EQ(notes.events.size(), 3u);
  EXPECT_EQ(conditions(), 3u);
}

TEST_F(RunnerOutageWordTest, NothingIsSaidWhileTheServerIsOutOfReach) {
  server.unreachable = 1'000'000;
  refuse(Error(Code::kUnavailable, "connection refused"), 20);
  reactor.advance(5min);
  EXPECT_TRUE(notes.events.empty());
  EXPECT_EQ(conditions(), 0u);
}

}  // namespace dra::manager::runner_test
