#include "client/writer/writer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "client/informer/informer.h"
#include "client/testing/fake_server.h"
#include "client/testing/fault.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::client::writer_test {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::FakeServer;

const Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
const std::string kPath = "/apis/coordination.k8s.io/v1/leases";

// Counts how much is at work beside the main thread.
class CountedWorkers : public SimReactor {
 public:
  using SimReactor::SimReactor;
  void offload(Task work, Task done) override {
    most = std::max(most, ++at_work_);
    SimReactor::offload(std::move(work), [this, done = std::move(done)] {
      --at_work_;
      done();
    });
  }
  size_t most = 0;

 private:
  size_t at_work_ = 0;
};

struct World {
  World() {
    ReflectorOptions options;
    options.resource = kLeases;
    informer = std::make_unique<Informer<api::Lease>>(reactor, watch_network, random, options);
    writer.register_store(kLeases, informer->type(), informer->objects());
    informer->start();
    reactor.run_until_idle();
  }
  ManualClock clock;
  CountedWorkers reactor{clock};
  SeededRandom random{1};
  FakeServer server{reactor};
  InProcessTransport inner{reactor, server};
  FaultTransport watch_network{reactor, inner, {}};
  FaultTransport network{reactor, inner, {}};
  RestClient client{network};
  Writer writer{reactor, client};
  std::unique_ptr<Informer<api::Lease>> informer;

  // From now on `read` counts the answers that are decoded; it must outlive this.
  void count_decoded(int& read) {
    ObjectType counting = informer->type();
    counting.decode = [&read, decode = counting.decode](std::string_view text) {
      ++read;
      return decode(text);
    };
    writer.register_store(kLeases, counting, informer->objects());
  }
  void put(const std::string& name, const std::string& holder) {
    server.put(kPath, "ns", name, json{{"spec", {{"holderIdentity", holder}}}}.dump());
  }
  static WriteRequest patch(const std::string& name, const std::string& holder, const std::string& uid = "",
                            const std::string& resource_version = "") {
    WriteRequest write;
    write.object = {kLeases, "ns", name, ""};
    json body = {{"spec", {{"holderIdentity", holder}}}};
    if (!uid.empty()) body["metadata"]["uid"] = uid;
    if (!resource_version.empty()) body["metadata"]["resourceVersion"] = resource_version;
    write.body = body.dump();
    return write;
  }
  Result<Written> run(WriteRequest write) {
    std::optional<Result<Written>> got;
    writer.perform(std::move(write), [&](Result<Written> answer) { got = std::move(answer); });
    EXPECT_TRUE(reactor.run_until([&] { return got.has_value(); }, 5min));
    return got.value_or(fail(Code::kInternal, "no answer"));
  }
  // "ok", "unchanged", or the code of the error.
  std::string outcome(WriteRequest write) {
    const Result<Written> answer = run(std::move(write));
    if (!answer) return std::string(code_name(answer.error().code()));
    return answer->unchanged ? "unchanged" : "ok";
  }
  std::string holder(const std::string& name) {
    auto lease = informer->store().get("ns/" + name);
    return lease ? lease->holder_identity : "-";
  }
};

TEST(Writer, AnAnswerIsInTheStoreBeforeTheCallerIsTold) {
  World w;
  w.put("a", "x");
  w.reactor.run_until_idle();
  w.informer->stop();
  std::string seen;
  w.writer.perform(World::patch("a", "y"), [&](const Result<Written>& answer) {
    ASSERT_TRUE(answer);
    EXPECT_FALSE(answer->unchanged);
    seen = w.holder("a");
  });
  EXPECT_EQ(w.holder("a"), "x") << "nothing happens inside the call";
  w.reactor.run_until_idle();
  EXPECT_EQ(seen, "y");
  EXPECT_EQ(w.informer->store().get_from_stream("ns/a")->holder_identity, "x");
  EXPECT_EQ(w.outcome(World::patch("a", "y")), "unchanged");
}

TEST(Writer, AnAnswerThatTheWatchOvertookIsNotReadAgain) {
  World w;
  w.put("a", "x");
  w.reactor.run_until_idle();
  int read = 0;
  w.count_decoded(read);
  w.network.set_plan([](const Request&, bool) {
    Fault fault;
    fault.delay_answer = 1s;
    return fault;
  });
  const Result<Written> answer = w.run(World::patch("a", "y"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->revision, w.informer->objects().stream_revision());
  EXPECT_TRUE(answer->unchanged) << "no event will follow";
  EXPECT_EQ(w.holder("a"), "y");
  EXPECT_EQ(read, 0);
  w.informer->stop();
  ASSERT_TRUE(w.run(World::patch("a", "z")));
  EXPECT_EQ(w.holder("a"), "z");
  EXPECT_EQ(read, 1);
}

TEST(Writer, PreconditionsAreKeptAndNamed) {
  World w;
  w.put("a", "x");
  w.reactor.run_until_idle();
  auto lease = w.informer->store().get("ns/a");
  w.put("a", "changed");
  EXPECT_EQ(w.outcome(World::patch("a", "y", lease->metadata.uid, lease->metadata.resource_version)), "Conflict");
  EXPECT_EQ(w.outcome(World::patch("a", "y", "other-uid")), "NotFound");
  EXPECT_EQ(w.outcome(World::patch("none", "y")), "NotFound");
  WriteRequest create;
  create.verb = WriteVerb::kCreate;
  create.object = {kLeases, "ns", "a", ""};
  create.body = R"({"metadata":{"name":"a"}})";
  const Result<Written> exists = w.run(create);
  ASSERT_FALSE(exists);
  EXPECT_EQ(exists.error().code(), Code::kAlreadyExists);
  EXPECT_NE(exists.error().message().find("\"a\" already exists"), std::string::npos);
}

TEST(Writer, UnknownOutcomesAreSettledByALiveGet) {
  World w;
  w.put("a", "x");
  w.reactor.run_until_idle();
  w.informer->stop();
  Fault lost;
  lost.kind = Fault::Kind::kLoseAnswer;
  bool once = true;
  w.network.set_plan([&](const Request&, bool) { return std::exchange(once, false) ? lost : Fault{}; });
  const Result<Written> result = w.run(World::patch("a", "y"));
  ASSERT_FALSE(result);
  EXPECT_TRUE(outcome_unknown(result.error()));
  EXPECT_EQ(w.holder("a"), "x");
  std::optional<Result<Found>> found;
  const std::string uid = w.informer->store().get("ns/a")->metadata.uid;
  w.writer.read({kLeases, "ns", "a", ""}, uid, [&](Result<Found> answer) { found = std::move(answer); });
  w.reactor.run_until_idle();
  ASSERT_TRUE(found.has_value() && *found);
  EXPECT_TRUE((*found)->present);
  EXPECT_EQ((*found)->uid, uid);
  EXPECT_EQ(w.holder("a"), "y");
}

// Answers every request with the same text.
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
    writer.register_store(kLeases, w.informer->type(), w.informer->objects());
    std::optional<Result<Written>> written;
    writer.perform(World::patch("a", "y"), [&](Result<Written> answer) { written = std::move(answer); });
    std::optional<Result<Found>> found;
    writer.read({kLeases, "ns", "a", ""}, "", [&](Result<Found> answer) { found = std::move(answer); });
    w.reactor.run_until_idle();
    ASSERT_TRUE(written && found);
    ASSERT_FALSE(*written);
    EXPECT_TRUE(outcome_unknown(written->error()));
    EXPECT_NE(written->error().message().find("not about \"ns/a\""), std::string::npos) << written->error().message();
    EXPECT_FALSE(*found);
    EXPECT_EQ(w.holder("a"), "x");
    EXPECT_EQ(w.informer->store().get("ns/b"), nullptr);
    EXPECT_EQ(w.informer->store().get("other/a"), nullptr);
  }
}

// Asking again would not make it readable.
TEST(Writer, WhatCannotBeDecodedIsPresent) {
  World w;
  const auto read = [&w](const std::string& answer) {
    OneAnswer transport(w.reactor, answer);
    RestClient client(transport);
    Writer writer(w.reactor, client);
    writer.register_store(kLeases, w.informer->type(), w.informer->objects());
    std::optional<Result<Found>> found;
    writer.read({kLeases, "ns", "a", ""}, "", [&](Result<Found> one) { found = std::move(one); });
    w.reactor.run_until_idle();
    return found.value_or(fail(Code::kInternal, "no answer"));
  };
  const json meta = {{"name", "a"}, {"namespace", "ns"}, {"uid", "u"}, {"resourceVersion", "9000"}};
  const Result<Found> present = read(json{{"metadata", meta}, {"spec", 7}}.dump());
  ASSERT_TRUE(present) << present.error().message();
  EXPECT_TRUE(present->present);
  EXPECT_EQ(present->uid, "u");
  EXPECT_EQ(w.informer->store().get("ns/a"), nullptr);
  EXPECT_FALSE(read("{")) << "no object";
  EXPECT_FALSE(
      read(json{{"metadata", {{"name", "b"}, {"namespace", "ns"}, {"resourceVersion", "1"}}}, {"spec", 7}}.dump()))
      << "another object";
}

TEST(Writer, NamesThatLeadElsewhereAreNotWritten) {
  World w;
  for (const char* name : {"", ".", "..", "a/b", "a\nb"}) {
    const Result<Written> result = w.run(World::patch(name, "y"));
    ASSERT_FALSE(result) << name;
    EXPECT_EQ(result.error().code(), Code::kInvalidArgument) << name;
    EXPECT_NE(result.error().message().find("not sent"), std::string::npos) << result.error().message();
  }
}

TEST(Writer, AnObjectWhoseNameNoPathCanHoldIsAbsent) {
  World w;
  for (const char* name : {"", ".", "..", "a/b", "a%b", "a\nb"}) {
    std::optional<Result<Found>> found;
    w.writer.read({kLeases, "ns", name, ""}, "uid", [&](Result<Found> answer) { found = std::move(answer); });
    w.reactor.run_until_idle();
    ASSERT_TRUE(found && *found) << name;
    EXPECT_FALSE((*found)->present) << name;
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
  std::vector<Result<Found>> found;
  auto keep = [&](Result<Found> answer) { found.push_back(std::move(answer)); };
  w.writer.read({kLeases, "ns", "a", ""}, uid_a, keep);
  w.writer.read({kLeases, "ns", "b", ""}, uid_b, keep);
  w.reactor.run_until_idle();
  ASSERT_EQ(found.size(), 2u);
  ASSERT_TRUE(found[0] && found[1]);
  EXPECT_FALSE(found[0]->present);
  EXPECT_EQ(w.holder("a"), "-");
  EXPECT_NE(found[1]->uid, uid_b);
  EXPECT_EQ(w.holder("b"), "successor");
  EXPECT_EQ(w.informer->store().get_from_stream("ns/a")->holder_identity, "x");
  Fault refuse;
  refuse.kind = Fault::Kind::kRefuse;
  w.network.set_plan([&](const Request&, bool) { return refuse; });
  w.writer.read({kLeases, "ns", "b", ""}, uid_b, keep);
  w.reactor.run_until_idle();
  EXPECT_FALSE(found.at(2)) << "no answer does not mean absence";
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
    return w.outcome(write);
  };
  EXPECT_EQ(remove("a", "wrong"), "NotFound");
  std::string uid = w.informer->store().get("ns/a")->metadata.uid;
  EXPECT_EQ(remove("a", uid), "ok");
  EXPECT_EQ(remove("a", uid), "unchanged") << "not found: it is gone, as wanted";
  EXPECT_EQ(w.holder("a"), "-");
  EXPECT_EQ(remove("held", ""), "ok");
  EXPECT_TRUE(w.informer->store().get("ns/held")->metadata.deleting());
}

TEST(Writer, ADestroyedWriterCallsNobody) {
  World w;
  w.put("a", "x");
  bool called = false;
  {
    Writer brief(w.reactor, w.client);
    brief.perform(World::patch("a", "1"), [&](const Result<Written>&) { called = true; });
    brief.read({kLeases, "ns", "a", ""}, "", [&](const Result<Found>&) { called = true; });
  }
  w.reactor.run_until_idle();
  EXPECT_FALSE(called);
  // One that is destroyed while a worker decodes its answer.
  w.put("a", std::string(100'000, 'x'));
  auto brief = std::make_unique<Writer>(w.reactor, w.client);
  ObjectType type = w.informer->type();
  type.decode = [&, decode = type.decode](std::string_view text) {
    brief.reset();
    return decode(text);
  };
  brief->register_store(kLeases, type, w.informer->objects());
  brief->read({kLeases, "ns", "a", ""}, "", [&](const Result<Found>&) { called = true; });
  w.reactor.run_until_idle();
  EXPECT_EQ(brief, nullptr);
  EXPECT_FALSE(called);
}

// Their parsers take many times the memory of the text: a tenant with the largest objects chooses how many there are.
TEST(Writer, LargeAnswersAreDecodedOneAtATimeAndInOrder) {
  World w;
  std::vector<std::string> told;
  for (const std::string name : {"a", "b", "c"}) w.put(name, "x");
  w.reactor.run_until_idle();
  w.informer->stop();
  w.reactor.most = 0;
  for (const std::string name : {"a", "b", "c"})
    w.writer.perform(World::patch(name, std::string(100'000, 'y')), [&told, name](const Result<Written>& answer) {
      ASSERT_TRUE(answer);
      told.push_back(name);
    });
  w.reactor.run_until_idle();
  EXPECT_EQ(told, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(w.reactor.most, 1U);
}

// A large answer is decoded on a worker; the outcomes are the same.
TEST(Writer, LargeAnswersAreDecodedOnAWorker) {
  World w;
  const std::string large(100'000, 'y');
  w.put("a", "x");
  w.reactor.run_until_idle();
  w.informer->stop();
  int read = 0;
  w.count_decoded(read);
  EXPECT_EQ(w.outcome(World::patch("a", large)), "ok");
  EXPECT_EQ(w.holder("a"), large) << "in the store before the caller is notified";
  EXPECT_EQ(w.outcome(World::patch("a", large)), "unchanged");
  EXPECT_EQ(read, 2) << "once for each answer";
  EXPECT_EQ(w.outcome(World::patch("a", large + "z", "another uid")), "NotFound");
  std::optional<Result<Found>> found;
  const std::string uid = w.informer->store().get("ns/a")->metadata.uid;
  w.writer.read({kLeases, "ns", "a", ""}, uid, [&](Result<Found> answer) { found = std::move(answer); });
  w.reactor.run_until_idle();
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->uid, uid);
  EXPECT_EQ(read, 3);
}

}  // namespace dra::client::writer_test
