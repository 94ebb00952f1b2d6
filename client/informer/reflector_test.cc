#include "client/informer/reflector.h"

#include <gtest/gtest.h>

#include "client/informer/informer.h"
#include "client/testing/fake_server.h"
#include "client/testing/fault.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::client::reflector_test {

using namespace std::chrono_literals;
using testing::FakeServer;

const Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
const std::string kPath = "/apis/coordination.k8s.io/v1/leases";

std::map<std::string, std::string> shown(const ObjectStore& store) {
  std::map<std::string, std::string> out;
  store.for_each_in_stream([&](const Entry& e) { out[e.key()] = e.uid() + "@" + std::to_string(e.revision); });
  return out;
}

// Its workers take up to `slow` each, so that other tasks run before they are done.
class SlowWorkers : public SimReactor {
 public:
  SlowWorkers(ManualClock& clock, Random& random) : SimReactor(clock), random_(random) {}
  ~SlowWorkers() override { at_work_.clear(); }
  void offload(Task work, Task done) override {
    ++offloads;
    if (slow == Duration::zero()) return SimReactor::offload(std::move(work), std::move(done));
    const auto took = Duration(static_cast<int64_t>(random_.unit() * static_cast<double>(slow.count())));
    at_work_.push_back(after(took, [work = std::move(work), done = std::move(done)] {
      work();
      done();
    }));
  }
  Duration slow{};
  size_t offloads = 0;

 private:
  Random& random_;
  std::vector<Handle> at_work_;
};

struct World {
  explicit World(uint64_t seed) : random(seed), server(reactor), inner(reactor, server), network(reactor, inner, {}) {}
  ManualClock clock;
  SeededRandom random;
  SlowWorkers reactor{clock, random};
  FakeServer server;
  InProcessTransport inner;
  FaultTransport network;
  std::unique_ptr<Informer<api::Lease>> informer;

  void start(ReflectorOptions options = {}) {
    options.resource = kLeases;
    informer = std::make_unique<Informer<api::Lease>>(reactor, network, random, std::move(options));
    informer->start();
  }
  void put(const std::string& name, const std::string& holder) {
    server.put(kPath, "ns", name, R"({"spec":{"holderIdentity":")" + holder + "\"}}");
  }
};

TEST(Reflector, WatchListThenEvents) {
  World world(1);
  world.put("a", "x");
  std::vector<std::string> targets;
  world.server.on_request = [&](const Request& r) { targets.push_back(r.target); };
  world.start();
  EXPECT_FALSE(world.informer->synced());
  world.reactor.run_until_idle();
  EXPECT_TRUE(world.informer->synced());
  EXPECT_EQ(world.informer->store().get("ns/a")->holder_identity, "x");
  world.put("a", "y");
  world.put("b", "z");
  world.server.erase(kPath, "ns", "a");
  world.reactor.run_until_idle();
  EXPECT_EQ(shown(world.informer->objects()), world.server.snapshot(kPath));
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_NE(targets[0].find("sendInitialEvents=true"), std::string::npos);
  EXPECT_EQ(targets[0].find("resourceVersion="), std::string::npos) << "the first state is a consistent read";
}

TEST(Reflector, FallsBackToPagesAndRemembersIt) {
  World world(1);
  world.server.watch_list = false;
  for (int i = 0; i < 25; ++i) world.put("l" + std::to_string(i), "x");
  std::vector<std::string> targets;
  world.server.on_request = [&](const Request& r) { targets.push_back(r.target); };
  auto traits = std::make_shared<ServerTraits>();
  ReflectorOptions options;
  options.resource = kLeases;
  options.page_size = 10;
  options.offload_bytes = 1;
  Informer<api::Lease> informer(world.reactor, world.network, world.random, options, traits);
  size_t seen_early = 0;
  informer.objects().on_change([&](const EntryChange&) { seen_early += informer.synced() ? 0 : 1; });
  informer.start();
  world.reactor.run_until_idle();
  EXPECT_TRUE(informer.synced());
  EXPECT_EQ(shown(informer.objects()), world.server.snapshot(kPath));
  EXPECT_EQ(seen_early, 25u) << "handlers see each page when it arrives, not all of the list in one task";
  EXPECT_TRUE(traits->watch_list_refused);
  EXPECT_EQ(targets.size(), 5u);  // refused WatchList, three pages, watch
}

TEST(Reflector, AnExpiredContinueTokenEndsInOneFullList) {
  World world(1);
  world.server.watch_list = false;
  for (int i = 0; i < 25; ++i) world.put("l" + std::to_string(i), "x");
  int pages = 0;
  world.server.on_request = [&](const Request& r) {
    if (r.target.find("continue=") != std::string::npos && pages++ == 0) {
      world.put("new", "x");
      world.server.compact();
    }
  };
  ReflectorOptions options;
  options.page_size = 10;
  world.start(options);
  world.reactor.run_until_idle();
  EXPECT_EQ(pages, 1);
  EXPECT_EQ(shown(world.informer->objects()), world.server.snapshot(kPath));
}

TEST(Reflector, AServerThatIgnoresSendInitialEventsIsListed) {
  // It answers the WatchList as an ordinary watch: the objects, but no end mark.
  World world(1);
  world.put("a", "x");
  Fault quiet;
  quiet.silent_after_lines = 1;
  bool first = true;
  world.network.set_plan([&](const Request&, bool) { return std::exchange(first, false) ? quiet : Fault{}; });
  world.start();
  world.reactor.advance(29s);
  EXPECT_FALSE(world.informer->synced());
  world.reactor.advance(2s);
  EXPECT_TRUE(world.informer->synced());
}

TEST(Reflector, ASilentPeerIsLeftAfter90Seconds) {
  World world(1);
  world.put("a", "x");
  Fault quiet;
  quiet.silent_after_lines = 2;
  bool first = true;
  world.network.set_plan([&](const Request&, bool) { return std::exchange(first, false) ? quiet : Fault{}; });
  world.start();
  world.reactor.advance(1s);
  ASSERT_TRUE(world.informer->synced());
  world.put("a", "y");  // never delivered
  world.reactor.advance(88s);
  EXPECT_EQ(world.informer->store().get("ns/a")->holder_identity, "x");
  world.reactor.advance(3s);
  EXPECT_EQ(world.informer->store().get("ns/a")->holder_identity, "y");
}

// A server restored from a backup never reaches the revision a watch asks for, and sends nothing.
TEST(Reflector, TwoSilentWatchesInARowEndInAFreshState) {
  World world(1);
  world.put("a", "x");
  std::vector<std::string> targets;
  world.network.set_plan([&](const Request& r, bool) {
    targets.push_back(r.target);
    Fault fault;
    if (targets.size() <= 2) fault.silent_after_lines = targets.size() == 1 ? 2 : 0;
    return fault;
  });
  world.start();
  world.reactor.advance(1s);
  ASSERT_TRUE(world.informer->synced());
  world.put("a", "y");
  world.reactor.advance(185s);
  ASSERT_EQ(targets.size(), 3u);
  EXPECT_EQ(targets[1].find("sendInitialEvents"), std::string::npos);
  EXPECT_NE(targets[2].find("sendInitialEvents"), std::string::npos);
  EXPECT_EQ(world.informer->store().get("ns/a")->holder_identity, "y");
}

TEST(Reflector, BookmarksKeepAQuietWatchAliveAndItsRevisionFresh) {
  World world(1);
  world.put("a", "x");
  world.start();
  world.reactor.run_until_idle();
  for (int i = 0; i < 10; ++i) world.server.put("/api/v1/pods", "ns", "p", "{\"n\":" + std::to_string(i) + "}");
  world.reactor.advance(200s);
  EXPECT_EQ(world.informer->objects().stream_revision(), world.server.revision());
  EXPECT_EQ(world.informer->reflector().stats().watches, 1u);
}

TEST(Reflector, ThrottledOpeningsWaitAsTold) {
  World world(1);
  int asked = 0;
  Fault throttle;
  throttle.kind = Fault::Kind::kAnswer;
  throttle.answer.status = 429;
  throttle.answer.retry_after_seconds = 20;
  world.network.set_plan([&](const Request&, bool) { return ++asked == 1 ? throttle : Fault{}; });
  world.start();
  world.reactor.advance(19s);
  EXPECT_EQ(asked, 1);
  world.reactor.advance(3s);
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(world.informer->synced());
}

TEST(Reflector, AnUnreachableServerIsAskedEverLessOften) {
  World world(7);
  int asked = 0;
  Fault refuse;
  refuse.kind = Fault::Kind::kRefuse;
  world.network.set_plan([&](const Request&, bool) {
    ++asked;
    return refuse;
  });
  world.start();
  world.reactor.advance(10min);
  // 0.8 s doubling to 30 s, each up to twice as long.
  EXPECT_GE(asked, 10);
  EXPECT_LE(asked, 26);
  EXPECT_NE(world.informer->reflector().trouble().find("connection refused"), std::string::npos);
}

TEST(Reflector, StreamsThatEndAfterNewsAreGoneOnWithAndThoseWithoutNewsWaited) {
  World world(3);
  world.put("a", "x");
  world.start();
  world.reactor.advance(1s);
  // A server under load: for half a minute of changes every stream ends after one event.
  int asked = 0;
  world.network.set_plan([&](const Request&, bool) {
    ++asked;
    Fault fault;
    fault.cut_after_lines = 1;
    return fault;
  });
  world.network.cut_all_streams();
  for (int i = 0; i < 150; ++i) {
    world.put("a", std::to_string(i));
    world.reactor.advance(200ms);
    EXPECT_EQ(shown(world.informer->objects()), world.server.snapshot(kPath)) << "change " << i;
  }
  EXPECT_LE(asked, 153);
  EXPECT_EQ(world.informer->reflector().stats().failures, 0u);
  // Streams that end at once without events are retried with growing delays.
  world.put("a", "last");
  world.network.set_plan([&](const Request&, bool) {
    ++asked;
    Fault fault;
    fault.cut_after_lines = 0;
    return fault;
  });
  world.network.cut_all_streams();
  asked = 0;
  for (int i = 0; i < 60; ++i) {
    world.network.cut_all_streams();
    world.reactor.advance(1s);
  }
  EXPECT_LE(asked, 12);
}

TEST(Reflector, StreamsThatExpireAtOnceDoNotBecomeALoop) {
  World world(7);
  world.server.watch_list = false;
  world.put("a", "x");
  int asked = 0;
  world.network.set_plan([&](const Request&, bool streamed) {
    ++asked;
    Fault fault;
    if (streamed) {
      fault.kind = Fault::Kind::kAnswer;
      fault.answer.status = 410;
    }
    return fault;
  });
  world.start();
  world.reactor.advance(1min);
  EXPECT_LE(asked, 40);
}

TEST(Reflector, RefreshReadsTheStateAnewAndOnlyThenCallsBack) {
  World world(1);
  world.put("a", "x");
  Fault late;  // the watch is behind
  late.delay_answer = 20s;
  int opened = 0;
  world.network.set_plan([&](const Request&, bool) { return ++opened == 1 ? late : Fault{}; });
  world.start();
  world.reactor.advance(21s);
  ASSERT_TRUE(world.informer->synced());
  world.put("a", "y");
  world.reactor.advance(1s);
  EXPECT_EQ(world.informer->store().get("ns/a")->holder_identity, "x");
  std::string seen;
  world.informer->reflector().refresh([&] { seen = world.informer->store().get_from_stream("ns/a")->holder_identity; });
  world.reactor.advance(1s);
  EXPECT_EQ(seen, "y");
}

// How many of them are in memory, and were at most.
struct Counted : api::Lease {
  explicit Counted(api::Lease lease) : Lease(std::move(lease)) { most = std::max(most, ++alive); }
  Counted(const Counted&) = delete;
  ~Counted() { --alive; }
  static inline int alive = 0, most = 0;
};

Result<Entry> counted(Result<Entry> entry) {
  if (!entry) return entry;
  auto kept = std::make_shared<const Counted>(api::Lease(entry->ref<api::Lease>()));
  return Entry(kept, kept->metadata, entry->revision);
}

TEST(Reflector, AStateThatIsReadAgainIsNotInMemoryTwice) {
  for (const bool watch_list : {true, false}) {
    World world(1);
    world.server.watch_list = watch_list;
    for (int i = 0; i < 100; ++i) world.put("l" + std::to_string(i), "x");
    ObjectType type = object_type<api::Lease>();
    type.decode = [decode = type.decode](std::string_view text) { return counted(decode(text)); };
    type.decode_list = [decode = type.decode_list](std::string_view text) {
      Result<EntryPage> page = decode(text);
      for (Entry& entry : page->entries) entry = *counted(entry);
      return page;
    };
    ObjectStore store;
    ReflectorOptions options;
    options.resource = kLeases;
    options.page_size = 10;
    Reflector reflector(world.reactor, world.network, world.random, type, store, options);
    reflector.start();
    world.reactor.run_until_idle();
    EXPECT_EQ(Counted::alive, 100);
    world.put("l7", "y");
    world.server.erase(kPath, "ns", "l8");
    Counted::most = 0;
    reflector.refresh([] {});
    world.reactor.run_until_idle();
    EXPECT_EQ(shown(store), world.server.snapshot(kPath));
    EXPECT_EQ(Counted::alive, 99);
    EXPECT_LE(Counted::most, 120) << "a page beside the store";
  }
}

TEST(Reflector, BrokenObjectsAreCountedAndTheRestGoesOn) {
  World world(1);
  world.server.put(kPath, "ns", "bad", R"({"spec":{"holderIdentity":7}})");
  world.put("good", "x");
  world.start();
  world.reactor.run_until_idle();
  EXPECT_TRUE(world.informer->synced());
  EXPECT_EQ(world.informer->store().list().size(), 1u);
  world.server.put(kPath, "ns", "bad", R"({"spec":{"holderIdentity":"fine"}})");
  world.reactor.run_until_idle();
  EXPECT_EQ(world.informer->store().list().size(), 2u);
  EXPECT_EQ(world.informer->reflector().stats().undecodable, 1u);
}

std::vector<std::string> unreadable(const World& world) {
  std::vector<std::string> keys;
  for (const auto& [key, why] : world.informer->reflector().unreadable()) {
    EXPECT_NE(why.find("spec.holderIdentity"), std::string::npos) << why;
    keys.push_back(key);
  }
  return keys;
}

const char kUnreadable[] = R"({"spec":{"holderIdentity":7}})";

TEST(Reflector, WhatCannotBeReadIsNamedUntilItIsReadableOrGone) {
  for (const bool watch_list : {true, false}) {
    World world(1);
    world.server.watch_list = watch_list;
    world.server.put(kPath, "ns", "bad", kUnreadable);
    world.put("good", "x");
    world.start();
    int notified = 0;
    world.informer->reflector().on_unreadable([&] { ++notified; });
    world.reactor.run_until_idle();
    EXPECT_TRUE(world.informer->synced());
    EXPECT_NE(world.informer->store().get("ns/good"), nullptr);
    EXPECT_EQ(unreadable(world), std::vector<std::string>{"ns/bad"});
    world.put("bad", "fine");
    world.reactor.run_until_idle();
    EXPECT_TRUE(unreadable(world).empty());
    world.server.put(kPath, "ns", "bad", kUnreadable);
    world.reactor.run_until_idle();
    EXPECT_EQ(unreadable(world), std::vector<std::string>{"ns/bad"});
    world.server.erase(kPath, "ns", "bad");
    world.reactor.run_until_idle();
    EXPECT_TRUE(unreadable(world).empty());
    EXPECT_EQ(world.informer->store().get("ns/bad"), nullptr);
    EXPECT_EQ(notified, 4);
    EXPECT_EQ(shown(world.informer->objects()), world.server.snapshot(kPath));
  }
}

TEST(Reflector, AnObjectThatBecameUnreadableIsNotForgottenByALaterState) {
  for (const bool watch_list : {true, false}) {
    World world(1);
    world.server.watch_list = watch_list;
    world.put("bad", "holds devices");
    world.start();
    world.reactor.run_until_idle();
    int deletions = 0;
    world.informer->objects().on_stream_change([&](const EntryChange& c) { deletions += c.after == nullptr ? 1 : 0; });
    world.server.put(kPath, "ns", "bad", kUnreadable);
    world.informer->reflector().refresh([] {});
    world.reactor.run_until_idle();
    EXPECT_EQ(unreadable(world), std::vector<std::string>{"ns/bad"});
    ASSERT_NE(world.informer->store().get("ns/bad"), nullptr);
    EXPECT_EQ(world.informer->store().get("ns/bad")->holder_identity, "holds devices");
    EXPECT_EQ(deletions, 0);
    world.server.erase(kPath, "ns", "bad");
    world.informer->reflector().refresh([] {});
    world.reactor.run_until_idle();
    EXPECT_TRUE(unreadable(world).empty());
    EXPECT_EQ(deletions, 1);
  }
}

// kube-apiserver 1.36 with etcd 3.4.23: the WatchList opens, and its first event is this error.
// 25 Leases, each WatchList of which meets the fault.
struct BrokenWatchLists {
  explicit BrokenWatchLists(const Fault& fault) {
    for (int i = 0; i < 25; ++i) world.put("l" + std::to_string(i), "x");
    world.network.set_plan([this, fault](const Request& r, bool) {
      targets.push_back(r.target);
      return r.target.find("sendInitialEvents") != std::string::npos ? fault : Fault{};
    });
    ReflectorOptions options;
    options.resource = kLeases;
    options.page_size = 10;
    informer.emplace(world.reactor, world.network, world.random, options, traits);
    informer->start();
  }
  void expect_synced_within(Duration time) {
    world.reactor.advance(time);
    EXPECT_TRUE(informer->synced());
    EXPECT_EQ(shown(informer->objects()), world.server.snapshot(kPath));
  }

  World world{1};
  std::vector<std::string> targets;
  std::shared_ptr<ServerTraits> traits = std::make_shared<ServerTraits>();
  std::optional<Informer<api::Lease>> informer;
};

TEST(Reflector, AServerWhoseStorageHasNoWatchListIsListed) {
  Fault refused;
  refused.cut_after_lines = 0;
  refused.last_line =
      R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,)"
      R"("message":"a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled"}})";
  BrokenWatchLists broken(refused);
  broken.expect_synced_within(1s);  // at once, without a back-off
  EXPECT_TRUE(broken.traits->watch_list_refused);
  EXPECT_EQ(broken.targets.size(), 5u) << "a WatchList, three pages, a watch";
}

TEST(Reflector, WatchListsThatBreakOffThreeTimesGiveWayToPages) {
  Fault cut;
  cut.cut_after_lines = 20;
  BrokenWatchLists broken(cut);
  broken.expect_synced_within(1min);
  EXPECT_FALSE(broken.traits->watch_list_refused) << "others may be luckier";
  EXPECT_EQ(broken.targets.size(), 7u) << "three WatchLists, three pages, a watch";
}

// The main property of this package: whatever the network does, once it recovers the store equals the server's list,
// and the changes reported to handlers add up to it.
TEST(Reflector, ConvergesAfterAnyTrouble) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    world.server.watch_list = seed % 3 != 0;
    world.reactor.slow = std::chrono::seconds(seed % 4);
    SeededRandom chaos(seed * 977);
    FaultRates rates;
    rates.refuse = rates.hang = rates.throttle = rates.server_error = rates.lose_answer = 0.08;
    rates.cut = 0.5;
    rates.expire = 0.2;
    rates.silent = 0.15;
    rates.duplicate = 0.3;
    rates.max_delay = 3s;
    world.network.set_plan(random_faults(chaos, rates));
    std::map<std::string, std::string> notified;
    ReflectorOptions options;
    options.page_size = 3;
    options.resource = kLeases;
    options.offload_bytes = seed % 2 == 0 ? 1 : 300;  // all messages, or those of long names
    Informer<api::Lease> informer(world.reactor, world.network, world.random, options);
    informer.objects().on_stream_change([&](const EntryChange& c) {
      if (c.before != nullptr) {
        ASSERT_EQ(notified[c.before->key()], c.before->uid() + "@" + std::to_string(c.before->revision));
        notified.erase(c.before->key());
      }
      if (c.after != nullptr) {
        ASSERT_TRUE(c.before == nullptr || c.before->uid() == c.after->uid());
        notified[c.after->key()] = c.after->uid() + "@" + std::to_string(c.after->revision);
      }
    });
    informer.start();
    for (int i = 0; i < 200; ++i) {
      std::string name = "l" + std::to_string(chaos.below(8));
      switch (chaos.below(8)) {
        case 0:
        case 1:
          world.server.erase(kPath, "ns", name);
          break;
        case 2:
          if (chaos.below(10) == 0) world.network.cut_all_streams();
          break;
        case 3:
          if (chaos.below(5) == 0) world.server.compact();
          break;
        default:
          world.put(name, std::string(chaos.below(200), 'x') + std::to_string(i));
      }
      world.reactor.advance(std::chrono::milliseconds(chaos.below(4000)));
    }
    world.network.set_plan({});
    world.reactor.advance(5min);
    ASSERT_TRUE(informer.synced());
    ASSERT_EQ(shown(informer.objects()), world.server.snapshot(kPath));
    ASSERT_EQ(notified, world.server.snapshot(kPath));
  }
}

// Counts the holds that were not resumed.
class CountsHolds : public Transport {
 public:
  explicit CountsHolds(Transport& inner) : inner_(inner) {}
  Handle send(Request request, Done done) override { return inner_.send(std::move(request), std::move(done)); }
  Handle stream(Request request, StreamCallbacks callbacks) override {
    callbacks.on_line = [this, then = callbacks.on_line](std::string line, const Hold&) {
      then(std::move(line), [this] {
        ++held;
        ++holds;
        return [this] { --held; };
      });
    };
    return inner_.stream(std::move(request), std::move(callbacks));
  }
  int held = 0, holds = 0;

 private:
  Transport& inner_;
};

// Several are decoded at a time; beyond a number of bytes no more of the stream is read.
TEST(Reflector, WhatWaitsForWorkersIsBounded) {
  World world(3);
  CountsHolds network(world.inner);
  ReflectorOptions options;
  options.resource = kLeases;
  options.max_waiting_bytes = 1'000'000;
  Informer<api::Lease> informer(world.reactor, network, world.random, options);
  informer.start();
  world.reactor.advance(1s);
  world.reactor.slow = 1s;
  world.reactor.offloads = 0;
  for (int i = 0; i < 9; ++i) world.put("l" + std::to_string(i), std::string(100'000, 'x'));
  world.reactor.run_until_idle();
  EXPECT_EQ(world.reactor.offloads, 9u);
  EXPECT_EQ(network.held, 0);
  for (int i = 9; i < 20; ++i) world.put("l" + std::to_string(i), std::string(100'000, 'x'));
  world.reactor.run_until_idle();
  EXPECT_EQ(network.held, 1);
  world.reactor.advance(2s);
  EXPECT_EQ(network.held, 0);
  EXPECT_EQ(network.holds, 1);
  EXPECT_EQ(shown(informer.objects()), world.server.snapshot(kPath));
}

// Messages that come while a worker decodes one wait for it, and so does the end of the stream.
TEST(Reflector, ALargeMessageHoldsTheNextOnesUp) {
  World world(1);
  world.put("a", "x");
  world.start();
  world.reactor.advance(1s);
  world.reactor.slow = 1s;
  world.reactor.offloads = 0;
  world.put("a", std::string(100'000, 'y'));
  world.put("b", "small");
  world.reactor.run_until_idle();
  EXPECT_EQ(world.reactor.offloads, 1u);
  EXPECT_EQ(world.informer->store().get("ns/a")->holder_identity, "x");
  EXPECT_EQ(world.informer->store().get("ns/b"), nullptr);
  world.reactor.advance(1s);
  EXPECT_EQ(shown(world.informer->objects()), world.server.snapshot(kPath));
  // A reflector that stops or ends meanwhile is not called any more.
  world.put("a", std::string(100'000, 'z'));
  world.reactor.run_until_idle();
  world.informer.reset();
  world.reactor.advance(2s);
  EXPECT_EQ(world.reactor.offloads, 2u);
}

TEST(Reflector, TheSameSeedGivesTheSameRun) {
  auto run = [] {
    World world(5);
    FaultRates rates;
    rates.refuse = rates.cut = 0.3;
    rates.max_delay = 2s;
    world.network.set_plan(random_faults(world.random, rates));
    std::string log;
    world.server.on_request = [&](const Request& r) {
      log += std::to_string(world.clock.mono_now().time_since_epoch().count()) + r.target + "\n";
    };
    world.start();
    for (int i = 0; i < 50; ++i) {
      world.put("l" + std::to_string(i % 5), "x");
      world.reactor.advance(1s);
    }
    return log;
  };
  EXPECT_EQ(run(), run());
}

// A resource that the server does not know, or no longer knows, counts as empty; it may appear, or reappear.
TEST(Reflector, AResourceThatMayBeAbsentIsEmptyWhereItIsNotServed) {
  World world(7);
  Fault absent;
  absent.kind = Fault::Kind::kAnswer;
  absent.answer.status = 404;
  const auto refuse = [&](const Request&, bool) { return absent; };
  world.put("a", "x");
  world.network.set_plan(refuse);
  ReflectorOptions options;
  options.may_be_absent = true;
  world.start(options);
  world.reactor.advance(1s);
  EXPECT_TRUE(world.informer->synced());
  EXPECT_EQ(world.informer->objects().size(), 0u);
  EXPECT_NE(world.informer->reflector().trouble(), "");
  world.network.set_plan({});
  world.reactor.advance(2min);
  EXPECT_EQ(world.informer->objects().size(), 1u);
  world.network.set_plan(refuse);
  world.network.cut_all_streams();
  world.reactor.advance(2min);
  EXPECT_EQ(world.informer->objects().size(), 0u);
  // A caller of refresh() (a new leader, say) gets its answer.
  bool fresh = false;
  world.informer->reflector().refresh([&] { fresh = true; });
  world.reactor.advance(1s);
  EXPECT_TRUE(fresh);
  world.network.set_plan({});
  world.reactor.advance(2min);
  EXPECT_EQ(shown(world.informer->objects()), world.server.snapshot(kPath));
}

}  // namespace dra::client::reflector_test
