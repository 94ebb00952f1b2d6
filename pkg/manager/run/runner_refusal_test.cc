// What the server refuses or does not answer: reported once, retried by cause.
#include "pkg/manager/run/runner_fixture.h"

namespace dra::manager::runner_test {

TEST_F(RunnerTest, KeysThatComeDueWhileThereIsNoRoomForAPassWaitInSilence) {
  Scripted second;
  runner.add(second.parts());
  second.next = [](const View&, const Key&) {
    ReconcileResult outcome;
    outcome.requeue_in(1s);
    return outcome;
  };
  poke("early");
  reactor.advance(10ms);
  second.next = nullptr;
  server.mute = true;
  scripted.next = [](const View&, const Key& key) {
    ReconcileResult outcome;
    outcome.add(write("long", key.object));
    return outcome;
  };
  for (size_t i = 0; i < Runner::kMaxRuns + 10; ++i) poke("p" + std::to_string(i), "n" + std::to_string(i % 9));
  const size_t looks = second.passes.size();
  reactor.advance(2s);  // CheckFailed if tasks keep making tasks
  EXPECT_LE(reactor.run_until_idle(1000), 1000u);
  server.unmute();
  reactor.advance(1s);
  EXPECT_EQ(server.in_flight.size(), 0u);
  EXPECT_GT(second.passes.size(), looks) << "and come to their right then";
  EXPECT_TRUE(runner.idle());
}

// 800 pods whose writes are refused: reported once, few requests, and done within 10 s of its end.
TEST_F(RunnerTest, AnOutageIsReportedOnceAndRetriedSoonAfterItsEnd) {
  constexpr size_t kPods = 800;
  for (const Error& error : {Error(Code::kPermissionDenied, 403, "Forbidden", "cannot patch resource"),
                             Error(Code::kUnavailable, 500, "InternalError", "failed calling webhook"),
                             Error(Code::kUnavailable, "connection refused")}) {
    SCOPED_TRACE(error.message());
    server.log.clear();
    server.failures.emplace("mark", error);
    server.unreachable = error.http_status() == 0 ? 1'000'000 : 0;
    std::vector<OutageReport> reports;
    runner.observe_outages([&](const OutageReport& report) { reports.push_back(report); });
    scripted.next = [&](const View&, const Key& key) {
      ReconcileResult outcome;
      Write marks = write("mark", key.object.substr(2));
      if (!notes.settled.contains(marks.object.name)) outcome.add(marks);
      return outcome;
    };
    notes.settled.clear();
    for (size_t i = 0; i < kPods; ++i) poke("p" + std::to_string(i));
    reactor.advance(20s);
    const auto asked = server.log.size();
    EXPECT_LE(asked, 2 * kPods + 40) << "each once, then one in 8 s";
    reactor.advance(10min);
    EXPECT_LE(server.log.size() - asked, 2 * 600u / 8 + 10);
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].failure.error.message(), error.message());
    server.failures.clear();
    server.unreachable = 0;
    reactor.advance(10s);
    EXPECT_EQ(notes.settled.size(), kPods);
    ASSERT_EQ(reports.size(), 2u);
    EXPECT_TRUE(reports[1].over);
    EXPECT_TRUE(runner.idle());
  }
}

TEST_F(RunnerTest, AQuotaIsToldToThePodAsWhatItIs) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.ns = "d";
  pod->metadata.name = "p";
  pod->metadata.uid = "p-uid";
  pods_core.answer(entry_of("p", "p-uid", 5, pod));
  const std::string why =
      "resourceclaims \"a\" is forbidden: exceeded quota: claims, requested: 1, used: 5, limited: 5";
  server.failures.emplace("create", Error(Code::kResourceExhausted, 403, "Forbidden", why));
  scripted.next = [this](const View&, const Key&) {
    ReconcileResult outcome;
    if (notes.settled.empty()) {
      Write made = write("create", "a");
      made.verb = Verb::kCreate;
      outcome.add(made);
    }
    return outcome;
  };
  poke("p");
  reactor.advance(5min);
  EXPECT_EQ(notes.events.back(), "WriteRefused: the API server refuses to create: " + why);
  EXPECT_EQ(notes.events.size(), 2u) << "the object and the pod, once";
  EXPECT_LE(scripted.passes.size(), 50u);
  server.failures.clear();
  reactor.advance(9s);
  EXPECT_FALSE(notes.settled.empty()) << "soon after there is room in the quota";
}

TEST_F(RunnerTest, AnEventThatWasDroppedIsNotTakenAsTold) {
  scripted.next = [](const View& v, const Key&) {
    ReconcileResult outcome;
    emit_once(v, outcome, {{Kind::kPod, "d", "p", "p-uid"}, true, "DeletionWaits", "Wait", "for devices", ""});
    return outcome;
  };
  notes.full = true;
  poke("p");
  reactor.advance(1s);
  EXPECT_TRUE(notes.events.empty());
  notes.full = false;
  for (int i = 0; i < 3; ++i) {
    poke("p");
    reactor.advance(1s);
  }
  EXPECT_EQ(notes.events, std::vector<std::string>{"DeletionWaits: for devices"});
}

TEST_F(RunnerTest, ARefusalIsToldOnce) {
  server.failures.emplace("create", Error(Code::kInvalidArgument, 422, "Invalid", "quota"));
  scripted.next = [](const View&, const Key&) {
    ReconcileResult outcome;
    Write made = write("create", "a");
    made.failure_event = Event{{Kind::kPod, "d", "p", "p-uid"}, true, "FailedResourceClaimCreation", "Create", "x", ""};
    outcome.add(made);
    return outcome;
  };
  poke("p");
  reactor.advance(5s);
  EXPECT_EQ(notes.events, std::vector<std::string>{"FailedResourceClaimCreation: x: quota"});
}

// Without an event of the reconciler's own, one brief event goes to the object and to the pod of the reconcile.
TEST_F(RunnerTest, ARefusalIsToldToTheObjectAndToThePodOfThePass) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.ns = "d";
  pod->metadata.name = "p";
  pod->metadata.uid = "p-uid";
  pods_core.answer(entry_of("p", "p-uid", 5, pod));
  const std::string quoted(5000, 'x');
  server.failures.emplace("mark", Error(Code::kInvalidArgument, 422, "Invalid", "claim " + quoted + " is immutable"));
  server.failures.emplace("name", Error(Code::kInvalidArgument, 422, "Invalid", "no such entry"));
  scripted.next = [this](const View&, const Key&) {
    ReconcileResult outcome;
    outcome.add(write(scripted.passes.size() % 2 == 1 ? "mark" : "name", "a"));  // two that take turns are not news
    return outcome;
  };
  poke("p");
  reactor.advance(1min);
  ASSERT_EQ(notes.events.size(), 4u);
  EXPECT_EQ(notes.events[0], notes.events[1]);
  EXPECT_TRUE(notes.events[0].starts_with("WriteRefused: the API server refuses to mark: claim xxx"))
      << notes.events[0];
  EXPECT_TRUE(notes.events[0].ends_with(" is immutable")) << notes.events[0];
  EXPECT_LT(notes.events[0].size(), 1024u) << "the longest note that an Event may have";
  EXPECT_EQ(notes.events[2], "WriteRefused: the API server refuses to name: no such entry");
}

// A refused write for people blocks nothing: not the remaining writes, not the key, and not the server.
TEST_F(RunnerTest, ARefusedWriteForPeopleIsLeftOut) {
  server.failures.emplace("show", Error(Code::kPermissionDenied, 403, "Forbidden", "no"));
  size_t shown = 0, marked = 0;
  runner.observe_writes(
      [&](std::string_view, const Write& written) { ++(written.purpose == "show" ? shown : marked); });
  scripted.next = [](const View&, const Key& key) {
    ReconcileResult outcome;
    Write show = write("show", key.object.substr(2));
    show.for_people = true;
    outcome.add(show);
    outcome.add(write("mark", key.object.substr(2)));
    return outcome;
  };
  const auto poke_all = [&] {
    for (int i = 0; i < 20; ++i) poke("p" + std::to_string(i));
  };
  poke_all();
  reactor.advance(50s);
  EXPECT_GE(marked, 20u * 2) << "at once, and where it was refused once more";
  EXPECT_LE(shown, 20u) << "those that were under way; then nobody in the namespace for a minute";
  const size_t before = marked;
  poke_all();
  reactor.advance(5s);
  EXPECT_EQ(marked, before + 20) << "nothing else is tried again";
  EXPECT_EQ(runner.outages().ongoing(), 0u);
  server.failures.clear();
  const size_t refused = shown;
  reactor.advance(70s);
  poke_all();
  reactor.advance(1s);
  EXPECT_EQ(shown, refused + 20) << "after a minute it is tried again";
}

// A conflict is a lost race only if somebody else was faster.
TEST_F(RunnerTest, AConflictWithNobodyIsARefusal) {
  for (const bool raced : {true, false}) {
    SCOPED_TRACE(raced);
    scripted.passes.clear();
    server.failures.emplace("mark", Error(Code::kConflict, 409, "Conflict", "the object has been modified"));
    server.presence = Presence::kPresent;
    auto object = std::make_shared<api::ResourceClaim>();
    object->metadata.ns = "d";
    object->metadata.name = "a";
    object->metadata.uid = "a-uid";
    object->metadata.resource_version = raced ? "8" : "9";
    claims_core.answer(entry_of("a", "a-uid", raced ? 8u : 9u, object));
    Write marks = write("mark", "a");
    marks.resource_version = raced ? "7" : "9";
    once({marks});
    poke("p");
    reactor.advance(1s);
    EXPECT_EQ(notes.events, raced ? std::vector<std::string>{}
                                  : std::vector<std::string>{"WriteRefused: the API server refuses to mark: the object "
                                                             "has been modified"});
  }
}

}  // namespace dra::manager::runner_test
