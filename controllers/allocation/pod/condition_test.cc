// The condition that says why a pod waits: its text, and how rarely it is written.
#include "controllers/allocation/pod/condition.h"

#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "pkg/base/timestamp.h"

namespace dra::allocation::condition_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;

class ConditionTest : public AllocationTest {
 protected:
  // A pod that wants more devices than there are, and has waited for this long.
  api::Pod put_waiting(Duration age, int count = 3, bool gated = true) {
    api::Pod pod = make_pod("p", {"c"}, gated);
    pod.metadata.creation_timestamp = format_rfc3339(view.time - age);
    view.put(pod);
    if (!view.claim("default/c")) put(make_claim("c", count));
    return pod;
  }
  // Runs one reconcile and carries out its effects; true: the condition was written.
  bool step() {
    pass();
    remember();
    bool written = false;
    for (const Effect& effect : last.effects) {
      if (const Event* said = std::get_if<Event>(&effect))
        view.notes[{said->regarding.uid, "said/" + said->reason}] = {"said", view.time};
      if (const Note* note = std::get_if<Note>(&effect)) {
        if (note->text.empty())
          view.notes.erase({note->uid, note->topic});
        else
          view.notes[{note->uid, note->topic}] = {note->text, view.time};
      }
      const Write* one = std::get_if<Write>(&effect);
      if (!one || one->purpose != "show-waiting") continue;
      written = true;
      const nlohmann::json condition = nlohmann::json::parse(one->body)["status"]["conditions"][0];
      api::Pod pod = *view.pod("default/p");
      std::erase_if(pod.conditions,
                    [&](const api::Condition& c) { return c.type == condition["type"].get<std::string>(); });
      api::Condition& now = pod.conditions.emplace_back();
      now.type = condition["type"].get<std::string>();
      now.status = condition["status"].get<std::string>();
      now.reason = condition["reason"].get<std::string>();
      now.message = condition["message"].get<std::string>();
      view.put(pod);
    }
    return written;
  }
  const api::Condition& condition() const { return view.pod("default/p")->conditions.at(0); }
  // Makes one device fewer available.
  void hold(int device) { allocated("x" + std::to_string(device), "n1", "gpu-" + std::to_string(device), false, {}); }
};

TEST_F(ConditionTest, SaysWhatTheEventSaysOnceThePodHasWaited) {
  put_waiting(10s);
  EXPECT_FALSE(step());
  EXPECT_LE(*last.requeue_after, 20s);
  EXPECT_TRUE(last.park);
  const std::string note =
      "no node can provide 3 x gpu: never fits, as no node has more than 2 of the 4 devices of class gpu, 4 usable";
  view.time += 21s;
  EXPECT_TRUE(step());
  EXPECT_FALSE(last.park) << "what happens until the answer would be missed";
  EXPECT_EQ(condition().type, "dra-controller-manager/Allocated");
  EXPECT_EQ(condition().status, "False");
  EXPECT_EQ(condition().reason, "Unschedulable");
  EXPECT_EQ(condition().message, note);
  EXPECT_FALSE(step());
  EXPECT_TRUE(last.park);
}

TEST_F(ConditionTest, PodsThatWeBindGetKubeSchedulersCondition) {
  options.mode = Mode::kBind;
  api::Pod pod = put_waiting(60s, 3, false);
  pod.scheduler_name = "ours";
  view.put(pod);
  EXPECT_TRUE(step());
  EXPECT_EQ(condition().type, "PodScheduled");
  EXPECT_EQ(condition().reason, "Unschedulable");
}

// Autoscalers read it, so it does not wait for half a minute; what is not known to fit nowhere does.
TEST_F(ConditionTest, PodsThatWeBindGetItAtOnce) {
  options.mode = Mode::kBind;
  api::Pod pod = put_waiting(1s, 3, false);
  pod.scheduler_name = "ours";
  view.put(pod);
  EXPECT_TRUE(step());
  EXPECT_EQ(last.turn_since, pod.metadata.creation_timestamp) << "older ones first";
  EXPECT_FALSE(last.park) << "the answer runs it";
  EXPECT_EQ(
      condition().message,
      "no node can provide 3 x gpu: never fits, as no node has more than 2 of the 4 devices of class gpu, 4 usable");
  EXPECT_FALSE(step());
  EXPECT_TRUE(last.park);
  // Later sentences at their old pace.
  nodes.refused = {"n1", "n2"};
  EXPECT_FALSE(step());
  EXPECT_LE(*last.requeue_after, 30s);
  // Somebody took it away: not written again and again.
  pod = *view.pod("default/p");
  pod.conditions.clear();
  view.put(pod);
  EXPECT_FALSE(step());
  view.time += 31s;
  EXPECT_TRUE(step());
}

TEST_F(ConditionTest, APodThatNoNodeTakesGetsItAtOnceToo) {
  options.mode = Mode::kBind;
  api::Pod pod = make_pod("p", {}, false);
  pod.scheduler_name = "ours";
  pod.metadata.creation_timestamp = format_rfc3339(view.time);
  view.put(pod);
  nodes.refused = {"n1", "n2"};
  EXPECT_TRUE(step());
  EXPECT_EQ(condition().message, "0/2 nodes are available: 2 Insufficient cpu.");
}

TEST_F(ConditionTest, WhatIsNotDecidedIsNotUnschedulable) {
  options.mode = Mode::kBind;
  api::Pod pod = put_waiting(1s, 1, false);
  pod.scheduler_name = "ours";
  view.put(pod);
  // Another pod holds both: a conflict, which may go away.
  put(allocated("c", "n1", "gpu-0", false, {"p"}));
  allocated("other", "n1", "gpu-0", false, {"q"});
  EXPECT_FALSE(step());
  EXPECT_EQ(event().reason, "DeviceConflict");
  EXPECT_TRUE(last.at_its_turn.empty());
}

// What keeps the key waiting is no reason to add nodes: another reason than Unschedulable.
TEST_F(ConditionTest, AnOutageIsShownAsWhatItIs) {
  options.mode = Mode::kBind;
  api::Pod pod = put_waiting(1s, 1, false);
  pod.scheduler_name = "ours";
  view.put(pod);
  test::WholeController binds(parts(options, inventory, allocator, nodes));
  const auto shown = [&](test::WholeController& by) {
    const std::optional<Write> made = by.show_outage(view, pod_key("default/p"), "the webhook fails");
    return made ? nlohmann::json::parse(made->body)["status"]["conditions"][0] : nlohmann::json();
  };
  EXPECT_EQ(shown(binds)["type"], "PodScheduled");
  EXPECT_EQ(shown(binds)["reason"], "SchedulerError");
  EXPECT_EQ(shown(binds)["status"], "False");
  EXPECT_EQ(shown(binds)["message"], "the webhook fails");
  pod.scheduler_name = "others";
  view.put(pod);
  EXPECT_TRUE(shown(binds).is_null());
  options.mode = Mode::kGate;
  test::WholeController gates(parts(options, inventory, allocator, nodes));
  put_waiting(1s, 1, true);
  EXPECT_EQ(shown(gates)["type"], "dra-controller-manager/Allocated");
  EXPECT_EQ(shown(gates)["reason"], "RequestsFail");
}

TEST_F(ConditionTest, PodsOfOthersGetNone) {
  options.mode = Mode::kBind;
  api::Pod pod = put_waiting(60s, 3, false);
  pod.scheduler_name = "others";
  view.put(pod);
  EXPECT_EQ(pass(), "");
  options.mode = Mode::kObserve;
  EXPECT_FALSE(step()) << "observe mode writes nothing";
}

TEST_F(ConditionTest, FiguresAreMendedAfterHalfAMinute) {
  put_waiting(60s);
  ASSERT_TRUE(step());
  view.time += 5min;
  ASSERT_FALSE(step());
  hold(0);  // the message has a new part, so it is written
  ASSERT_TRUE(step());
  view.time += 5min;
  hold(1);
  nodes.names = {"n1", "n2"};
  const std::string before = condition().message;
  EXPECT_FALSE(step()) << "only figures: " << before;
  EXPECT_EQ(*last.requeue_after, 30s);
  view.time += 29s;
  EXPECT_FALSE(step());
  view.time += 1s;
  EXPECT_TRUE(step());
  EXPECT_NE(condition().message, before);
}

TEST_F(ConditionTest, NewsWaitForTheLastWriteToBeHalfAMinuteOld) {
  put_waiting(60s);
  ASSERT_TRUE(step());
  view.time += 10s;
  nodes.refused = {"n1", "n2"};
  EXPECT_FALSE(step());
  EXPECT_EQ(*last.requeue_after, 20s);
  view.time += 20s;
  EXPECT_TRUE(step());
}

// Figures and messages that change every second for an hour.
TEST_F(ConditionTest, NeverMoreThanOneWriteInHalfAMinute) {
  put_waiting(60s);
  size_t writes = 0;
  MonoTime::rep last_write = -60;
  for (int second = 0; second < 3600; ++second) {
    if (second % 2 == 0) allocated("x", "n1", "gpu-0", false, {});
    if (second % 2 == 1) allocated("x", "n2", "gpu-1", false, {});
    nodes.refused = second % 3 == 0 ? std::set<std::string>{"n1", "n2"} : std::set<std::string>{};
    if (step()) {
      EXPECT_GE(second - last_write, 30);
      last_write = second;
      ++writes;
    }
    view.time += 1s;
  }
  EXPECT_LE(writes, 120u);
  EXPECT_GE(writes, 60u);
}

TEST_F(ConditionTest, ANewLeaderDoesNotWriteItAgain) {
  put_waiting(60s);
  ASSERT_TRUE(step());
  view.notes.clear();
  view.emitted.clear();
  view.ages["pod:default/p"] = 0s;
  EXPECT_FALSE(step());
  EXPECT_TRUE(last.park);
}

TEST_F(ConditionTest, TrueIsWrittenOnlyWhereFalseWas) {
  api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  put_waiting(60s);
  EXPECT_EQ(pass(), "lift-gate p");
  api::Pod pod = *view.pod("default/p");
  pod.conditions.push_back({"dra-controller-manager/Allocated", "False", "Unschedulable", "was full", "", 0});
  view.put(pod);
  EXPECT_EQ(pass(), "lift-gate p, show-waiting p");
  const auto written = body(1)["status"]["conditions"][0];
  EXPECT_EQ(written["status"], "True");
  EXPECT_EQ(written["message"], "allocated gpu.example.com/n1/gpu-0 on node n1");
}

TEST_F(ConditionTest, EventsAreRepeatedEveryHalfAnHour) {
  put_waiting(60s);
  ASSERT_TRUE(step());
  size_t events = 0;
  for (int minute = 0; minute < 90; ++minute) {
    view.time += 1min;
    step();
    for (const Effect& effect : last.effects)
      if (const Event* event = std::get_if<Event>(&effect)) events += event->regarding.kind == Kind::kPod;
  }
  EXPECT_EQ(events, 3u);
}

TEST_F(ConditionTest, ControlBytesAndLongNotesAreCut) {
  api::ResourceClaim claim = make_claim("c");
  claim.spec.requests[0].exactly->selectors = {"device.driver == \"" + std::string(1 << 20, '\xc3')};
  view.put(make_pod("p", {"c"}));
  put_waiting(60s);
  put(claim);
  ASSERT_TRUE(step());
  EXPECT_LE(condition().message.size(), 1024u);
}

}  // namespace dra::allocation::condition_test
