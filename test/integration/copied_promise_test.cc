// Promises (--preemption=on) that somebody with the right to write pods/status, which the role edit has not, copies to
// other pods, or writes again later: each says what is true of another pod or another time, so it evicts nobody and
// keeps nothing.
#include <gtest/gtest.h>

#include <functional>

#include "pkg/protocol/promise.h"
#include "test/integration/preempting.h"

namespace dra::integration::copied_promise_test {

using namespace std::chrono_literals;

class CopiedPromise : public Preempting {
 protected:
  // The promise of the pod, proven, as soon as the server has it; nobody has gone yet.
  Json record_of(const std::string& name) {
    EXPECT_TRUE(within(20s, [&] { return protocol::has_promise(*get_pod(name)); }));
    const Json status = api().get(Api::path("Pod", name))["status"];
    for (const Json& condition : status["conditions"])
      if (condition["type"] == std::string(protocol::kPromiseCondition)) {
        Json proven = condition;
        proven["status"] = "True";
        return proven;
      }
    return {};
  }
  // What pod high0 was promised, whose proof the server refuses, in a full cluster.
  Json promised_to_high0(const Names& running) {
    begin_preempting(1);
    fill(running);
    block_proofs();
    create("high0");
    return record_of("high0");
  }
  void write(const Json& record, const std::string& name) {
    Json status = api().get(Api::path("Pod", name))["status"];
    Json conditions = Json::array();
    for (const Json& condition : status["conditions"])
      if (condition["type"] != record["type"]) conditions.push_back(condition);
    conditions.push_back(record);
    api().merge(Api::path("Pod", name) + "/status", {{"status", {{"conditions", conditions}}}});
  }
  bool ends(const std::string& name) {
    return soon([&] { return !protocol::has_promise(*get_pod(name)); });
  }

  const Names low_{"low0", "low1", "low2", "low3"};
};

// The promise names the claims of the other pod. Each of the two gets a place of its own, for one victim each.
TEST_F(CopiedPromise, ToAPodOfTheSamePriority) {
  const Json record = promised_to_high0(low_);
  create("high1");
  pass(3s);
  write(record, "high1");
  pass(10s);
  EXPECT_EQ(gone(low_), Names{}) << "neither is proven";
  unblock();
  EXPECT_TRUE(within(60s, [&] { return bound("high0") && bound("high1"); })) << cluster().verdict();
  EXPECT_EQ(gone(low_).size(), 2u);
  EXPECT_EQ(writes("preemption/preempt"), 2u);
}

TEST_F(CopiedPromise, ToAPodThatMayEvictNobody) {
  const Json record = promised_to_high0(low_);
  for (const char* name : {"low4", "never0"}) {
    create(name);
    pass(3s);
    write(record, name);
    EXPECT_TRUE(ends(name)) << name;
  }
  api().remove_now(Api::path("Pod", "high0"));
  unblock();
  EXPECT_TRUE(never([&] { return !gone(low_).empty() || bound("low4") || bound("never0"); }, 60s));
}

// Written again onto a pod of the same name, after the first one has run and gone: pods and claims are others by then.
TEST_F(CopiedPromise, ToALaterPodOfTheName) {
  const Json record = promised_to_high0(low_);
  unblock();
  ASSERT_TRUE(within(30s, [&] { return bound("high0"); }));
  const Names victims = gone(low_);
  ASSERT_EQ(victims.size(), 1u);
  api().remove_now(Api::path("Pod", "high0"));
  create(victims.front());  // its owner makes it anew
  ASSERT_TRUE(within(30s, [&] { return bound(victims.front()); }));
  // The administrator takes the label away: no promise is made any more, and none counts.
  api().merge(Api::path("Namespace", "default"),
              {{"metadata", {{"labels", {{"dra-controller-manager/preemption", nullptr}}}}}});
  create("high0");
  pass(3s);
  write(record, "high0");
  EXPECT_TRUE(ends("high0"));
  EXPECT_TRUE(never([&] { return !gone(low_).empty() || bound("high0"); }, 60s));
  // Whoever fits is placed as before: nothing is kept.
  api().remove_now(Api::path("Pod", "low0"));
  EXPECT_TRUE(within(30s, [&] { return bound("high0"); })) << cluster().verdict();
  EXPECT_EQ(writes("preemption/preempt"), 1u);
}

// The record of another victim, with the uid that it has: nobody goes whom the choice of now does not name.
TEST_F(CopiedPromise, WithAnotherVictim) {
  Json record = promised_to_high0({"low0", "mid1", "mid2", "mid3"});
  std::string text = record["message"];
  const std::string victim = "default/low0/" + get_pod("low0")->metadata.uid;
  const size_t at = text.find(victim);
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, victim.size(), "default/mid1/" + get_pod("mid1")->metadata.uid);
  record["message"] = text;
  write(record, "high0");
  pass(5s);
  unblock();
  EXPECT_TRUE(within(60s, [&] { return bound("high0"); })) << cluster().verdict();
  EXPECT_EQ(gone({"low0", "mid1", "mid2", "mid3"}), Names{"low0"});
}

// Nothing but the record itself says whose it is where there are no claims. Neither copy makes anybody go, although it
// says that it is proven: the first while its owner waits, the second when that one was made anew.
TEST_F(CopiedPromise, OfCpuToAnotherPodAndToALaterOneOfTheName) {
  begin_preempting(1);
  fill_cpu({"low0", "low1"});
  api().merge(Api::path("Node", "n0"),
              {{"spec", {{"taints", {{{"key", "ours"}, {"value", "y"}, {"effect", "NoSchedule"}}}}}}});
  block_proofs();
  create_cpu("high0", "30");
  const Json record = record_of("high0");
  create_cpu("high1", "30");
  pass(3s);
  write(record, "high1");
  pass(10s);
  EXPECT_EQ(gone({"low0", "low1"}), Names{});
  api().remove_now(Api::path("Pod", "high1"));
  api().remove_now(Api::path("Pod", "high0"));
  create_cpu("high0", "30");
  pass(100ms);
  write(record, "high0");
  pass(10s);
  EXPECT_EQ(gone({"low0", "low1"}), Names{});
  EXPECT_TRUE(reasons().contains("PromiseEnded"));
  unblock();
  EXPECT_TRUE(within(60s, [&] { return bound("high0"); })) << cluster().verdict();
  EXPECT_EQ(gone({"low0", "low1"}).size(), 1u);
}

// Written again onto the pod itself, which has what it was promised: it ends, and nobody else goes.
TEST_F(CopiedPromise, ToItsOwnPodAfterTheVictimWent) {
  const Json record = promised_to_high0(low_);
  unblock();
  ASSERT_TRUE(within(30s, [&] { return running("high0"); }));
  const Names victims = gone(low_);
  create("low4");
  pass(3s);
  write(record, "high0");
  EXPECT_TRUE(ends("high0"));
  api().remove_now(Api::path("Pod", "high0"));
  EXPECT_TRUE(within(30s, [&] { return bound("low4"); })) << "what it had is kept for nobody";
  EXPECT_EQ(gone(low_), victims);
}

}  // namespace dra::integration::copied_promise_test
