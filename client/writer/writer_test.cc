#include "client/writer/writer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "client/informer/informer.h"
#include "client/rest/patch.h"
#include "client/testing/fake_server.h"
#include "client/transport/fault.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::client::writer_test {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::FakeServer;

const Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
const std::string kPath = "/apis/coordination.k8s.io/v1/leases";

struct World {
  World() {
    ReflectorOptions options;
    options.resource = kLeases;
    informer = std::make_unique<Informer<api::Lease>>(reactor, watch_network, random, options);
    writer.register_store(kLeases, informer->type(), informer->core());
    informer->start();
    reactor.run_until_idle();
  }
  ManualClock clock;
  SimReactor reactor{clock};
  SeededRandom random{1};
  FakeServer server{reactor};
  InProcessTransport inner{reactor, server};
  FaultTransport watch_network{reactor, inner, {}};
  FaultTransport network{reactor, inner, {}};
  RestClient client{network};
  Writer writer{reactor, client};
  std::unique_ptr<Informer<api::Lease>> informer;

  void put(const std::string& name, const std::string& holder) {
    server.put(kPath, "ns", name, json{{"spec", {{"holderIdentity", holder}}}}.dump());
  }
  static WriteRequest patch(const std::string& name, const std::string& holder, Precondition condition = {}) {
    WriteRequest write;
    write.object = {kLeases, "ns", name, ""};
    write.body = merge_patch({{"spec", {{"holderIdentity", holder}}}}, condition);
    return write;
  }
  std::vector<WriteResult> run(std::vector<WriteRequest> writes) {
    std::optional<std::vector<WriteResult>> got;
    writer.submit(std::move(writes), [&](const std::vector<WriteResult>& r) { got = r; });
    EXPECT_TRUE(reactor.run_until([&] { return got.has_value(); }, 5min));
    return got.value_or(std::vector<WriteResult>{});
  }
  std::string holder(const std::string& name) {
    auto lease = informer->store().get("ns/" + name);
    return lease ? lease->holder_identity : "-";
  }
};

TEST(Writer, AnAnswerIsInTheStoreBeforeTheCallerIsTold) {
  World w;
  Fault late;  // the watch lags
  late.delay_answer = 10s;
  w.put("a", "x");
  w.reactor.run_until_idle();
  w.informer->stop();
  auto results = w.run({World::patch("a", "y")});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].outcome, WriteOutcome::kDone);
  EXPECT_EQ(w.holder("a"), "y");
  EXPECT_EQ(w.informer->store().get_from_stream("ns/a")->holder_identity, "x");
  EXPECT_EQ(w.run({World::patch("a", "y")})[0].outcome, WriteOutcome::kUnchanged);
}

TEST(Writer, PreconditionsAreKeptAndNamed) {
  World w;
  w.put("a", "x");
  w.reactor.run_until_idle();
  auto lease = w.informer->store().get("ns/a");
  w.put("a", "changed");
  EXPECT_EQ(w.run({World::patch("a", "y", {lease->metadata.uid, lease->metadata.resource_version})})[0].outcome,
            WriteOutcome::kLostRace);
  EXPECT_EQ(w.run({World::patch("a", "y", {"other-uid", ""})})[0].outcome, WriteOutcome::kGone);
  EXPECT_EQ(w.run({World::patch("none", "y")})[0].outcome, WriteOutcome::kGone);
  WriteRequest create;
  create.verb = WriteVerb::kCreate;
  create.object = {kLeases, "ns", "a", ""};
  create.body = R"({"metadata":{"name":"a"}})";
  auto exists = w.run({create})[0];
  EXPECT_EQ(exists.outcome, WriteOutcome::kAlreadyExists);
  EXPECT_NE(exists.error.find("\"a\" already exists"), std::string::npos);
}

TEST(Writer, TheFirstFailureDropsTheRestUnsent) {
  World w;
  w.put("a", "x");
  w.put("c", "x");
  int sent = 0;
  w.server.on_request = [&](const Request& r) { sent += r.method == "PATCH" ? 1 : 0; };
  auto results = w.run({World::patch("a", "1"), World::patch("b", "2"), World::patch("c", "3")});
  EXPECT_EQ(results[0].outcome, WriteOutcome::kDone);
  EXPECT_EQ(results[1].outcome, WriteOutcome::kGone);
  EXPECT_EQ(results[2].outcome, WriteOutcome::kNotSent);
  EXPECT_EQ(sent, 2);
}

TEST(Writer, OneWriteInFlightAnObject) {
  World w;
  for (int i = 0; i < 4; ++i) w.put("l" + std::to_string(i), "0");
  Fault slow;
  slow.delay_request = 1s;
  slow.delay_answer = 1s;
  w.network.set_plan([&](const Request&, bool) { return slow; });
  std::multiset<std::string> flying;
  std::map<std::string, std::vector<std::string>> order;
  int done = 0;
  w.server.on_request = [&](const Request& r) {
    if (r.method == "PATCH") order[r.target].push_back(json::parse(r.body)["spec"]["holderIdentity"]);
  };
  for (int i = 0; i < 40; ++i) {
    std::string name = "l" + std::to_string(i % 4);
    w.writer.submit({World::patch(name, std::to_string(i))}, [&](const std::vector<WriteResult>& r) {
      EXPECT_TRUE(r[0].performed());
      ++done;
    });
  }
  w.reactor.run_until_idle();
  EXPECT_EQ(w.writer.in_flight(), 4u);
  w.reactor.advance(100s);
  EXPECT_EQ(done, 40);
  EXPECT_EQ(order.size(), 4u);
  for (auto& [target, values] : order) {
    ASSERT_EQ(values.size(), 10u);
    for (size_t i = 1; i < values.size(); ++i) EXPECT_EQ(std::stoi(values[i]), std::stoi(values[i - 1]) + 4);
  }
}

TEST(Writer, UnknownOutcomesAreSettledByAConfirmation) {
  World w;
  w.put("a", "x");
  w.reactor.run_until_idle();
  w.informer->stop();
  Fault lost;
  lost.kind = Fault::Kind::kLoseAnswer;
  bool once = true;
  w.network.set_plan([&](const Request&, bool) { return std::exchange(once, false) ? lost : Fault{}; });
  auto result = w.run({World::patch("a", "y")})[0];
  EXPECT_EQ(result.outcome, WriteOutcome::kUnknown);
  EXPECT_FALSE(surely_not_performed(result.outcome));
  EXPECT_EQ(w.holder("a"), "x");
  std::optional<Confirmation> found;
  std::string uid = w.informer->store().get("ns/a")->metadata.uid;
  w.writer.confirm({kLeases, "ns", "a", ""}, uid, [&](const Confirmation& c) { found = c; });
  w.reactor.run_until_idle();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->presence, Confirmation::Presence::kPresent);
  EXPECT_EQ(w.holder("a"), "y");
}

// Answers every request with the same text, whatever was asked.
class OneAnswer : public Transport {
 public:
  OneAnswer(Reactor& reactor, std::string body) : reactor_(reactor), body_(std::move(body)) {}
  Handle send(Request, Done done) override {
    reactor_.post([done = std::move(done), body = body_] { done(Response{200, body, "application/json", 0, {}}); });
    return {};
  }
  Handle stream(Request, StreamCallbacks) override { return {}; }

 private:
  Reactor& reactor_;
  std::string body_;
};

TEST(Writer, AnAnswerAboutAnotherObjectIsRefused) {
  World w;
  w.put("a", "x");
  w.reactor.run_until_idle();
  for (const json& meta : {json{{"name", "b"}, {"namespace", "ns"}}, json{{"name", "a"}, {"namespace", "other"}}}) {
    json lease = {{"metadata", meta}, {"spec", {{"holderIdentity", "forged"}}}};
    lease["metadata"]["uid"] = "u";
    lease["metadata"]["resourceVersion"] = "9000";
    OneAnswer transport(w.reactor, lease.dump());
    RestClient client(transport);
    Writer writer(w.reactor, client);
    writer.register_store(kLeases, w.informer->type(), w.informer->core());
    std::optional<std::vector<WriteResult>> written;
    writer.submit({World::patch("a", "y")}, [&](const std::vector<WriteResult>& r) { written = r; });
    std::optional<Confirmation> found;
    writer.confirm({kLeases, "ns", "a", ""}, "", [&](const Confirmation& c) { found = c; });
    w.reactor.run_until_idle();
    ASSERT_TRUE(written && found);
    EXPECT_EQ((*written)[0].outcome, WriteOutcome::kUnknown);
    EXPECT_NE((*written)[0].error.find("not about \"ns/a\""), std::string::npos) << (*written)[0].error;
    EXPECT_EQ(found->presence, Confirmation::Presence::kUnknown);
    EXPECT_EQ(w.holder("a"), "x");
    EXPECT_EQ(w.informer->store().get("ns/b"), nullptr);
    EXPECT_EQ(w.informer->store().get("other/a"), nullptr);
  }
}

TEST(Writer, NamesThatLeadElsewhereAreNotWritten) {
  World w;
  for (const char* name : {"", ".", "..", "a/b", "a\nb"}) {
    const WriteResult result = w.run({World::patch(name, "y")})[0];
    EXPECT_EQ(result.outcome, WriteOutcome::kInvalid) << name;
    EXPECT_NE(result.error.find("not sent"), std::string::npos) << result.error;
  }
}

TEST(Writer, ConfirmedAbsenceAndSuccessors) {
  World w;
  w.put("a", "x");
  w.put("b", "x");
  w.reactor.run_until_idle();
  w.informer->stop();
  std::string uid_a = w.informer->store().get("ns/a")->metadata.uid;
  std::string uid_b = w.informer->store().get("ns/b")->metadata.uid;
  w.server.erase(kPath, "ns", "a");
  w.server.erase(kPath, "ns", "b");
  w.put("b", "successor");
  std::vector<Confirmation> found;
  auto keep = [&](const Confirmation& c) { found.push_back(c); };
  w.writer.confirm({kLeases, "ns", "a", ""}, uid_a, keep);
  w.writer.confirm({kLeases, "ns", "b", ""}, uid_b, keep);
  Fault refuse;
  refuse.kind = Fault::Kind::kRefuse;
  w.reactor.run_until_idle();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].presence, Confirmation::Presence::kAbsent);
  EXPECT_EQ(w.holder("a"), "-");
  EXPECT_NE(found[1].uid, uid_b);
  EXPECT_EQ(w.holder("b"), "successor");
  EXPECT_EQ(w.informer->store().get_from_stream("ns/a")->holder_identity, "x");
  w.network.set_plan([&](const Request&, bool) { return refuse; });
  w.writer.confirm({kLeases, "ns", "b", ""}, uid_b, keep);
  w.reactor.run_until_idle();
  EXPECT_EQ(found[2].presence, Confirmation::Presence::kUnknown);
}

TEST(Writer, Deletions) {
  World w;
  w.put("a", "x");
  w.server.put(kPath, "ns", "held", R"({"metadata":{"finalizers":["f/f"]},"spec":{"holderIdentity":"x"}})");
  w.reactor.run_until_idle();
  w.informer->stop();
  auto remove = [&](const std::string& name, const std::string& uid) {
    WriteRequest write;
    write.verb = WriteVerb::kDelete;
    write.object = {kLeases, "ns", name, ""};
    write.deletion.uid = uid;
    return w.run({write})[0].outcome;
  };
  EXPECT_EQ(remove("a", "wrong"), WriteOutcome::kGone);
  std::string uid = w.informer->store().get("ns/a")->metadata.uid;
  EXPECT_EQ(remove("a", uid), WriteOutcome::kDone);
  EXPECT_EQ(remove("a", uid), WriteOutcome::kUnchanged);  // not found: it is gone, as wanted
  EXPECT_EQ(w.holder("a"), "-");
  EXPECT_EQ(remove("held", ""), WriteOutcome::kDone);
  EXPECT_TRUE(w.informer->store().get("ns/held")->metadata.deleting());
}

TEST(Writer, AfterStopNothingStarts) {
  World w;
  w.put("a", "x");
  w.reactor.run_until_idle();
  Fault slow;
  slow.delay_answer = 5s;
  w.network.set_plan([&](const Request&, bool) { return slow; });
  w.informer->stop();  // or its event would come before the answer
  std::vector<WriteOutcome> outcomes;
  auto keep = [&](const std::vector<WriteResult>& r) {
    for (const auto& result : r) outcomes.push_back(result.outcome);
  };
  w.writer.submit({World::patch("a", "1"), World::patch("a", "2")}, keep);
  w.writer.submit({World::patch("a", "3")}, keep);
  w.reactor.advance(1s);
  w.writer.stop();
  w.writer.submit({World::patch("a", "4")}, keep);
  w.reactor.advance(10s);
  EXPECT_EQ(outcomes, (std::vector<WriteOutcome>{WriteOutcome::kNotSent, WriteOutcome::kDone, WriteOutcome::kNotSent,
                                                 WriteOutcome::kNotSent}));
  EXPECT_EQ(w.holder("a"), "1");
  EXPECT_EQ(w.writer.pending(), 0u);
  w.writer.resume();
  w.network.set_plan({});
  EXPECT_TRUE(w.run({World::patch("a", "5")})[0].performed());
}

TEST(Writer, AnEmptyListIsDoneAndTheQueueIsBounded) {
  World w;
  EXPECT_TRUE(w.run({}).empty());
  WriterOptions options;
  options.max_waiting = 1;
  Writer small(w.reactor, w.client, options);
  std::vector<WriteResult> got;
  small.submit({World::patch("a", "1"), World::patch("a", "2")}, [&](const std::vector<WriteResult>& r) { got = r; });
  w.reactor.run_until_idle();
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].outcome, WriteOutcome::kFailed);
  EXPECT_EQ(got[1].outcome, WriteOutcome::kNotSent);
}

}  // namespace dra::client::writer_test
