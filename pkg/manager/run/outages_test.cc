#include "pkg/manager/run/outages.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/base/random.h"
#include "pkg/reactor/sim_reactor.h"

// Retries that fail for one cause wait together: few attempts while it lasts, all of them soon after its end, fair to
// namespaces.
namespace dra::manager::outages_test {

using namespace std::chrono_literals;

class OutagesTest : public testing::Test {
 protected:
  // The item sends its request now; if it is refused, the item waits for its turn.
  void ask(const std::string& ns, const std::string& name) {
    ++asked;
    ++asked_by[ns];
    const std::string item = ns + "/" + name;
    if (refuse && refuse(ns) && (!refuse_one || refuse_one(item))) {
      const Error error(code, status, "", "no");
      outages.failed(item, {"patch Pod", error, {reconcile::Kind::kPod, ns, name, ""}},
                     [this, ns, name] { kept.push_back(reactor.after(1ms, [this, ns, name] { ask(ns, name); })); });
    } else {
      done.insert(item);
      outages.passed(item);
    }
  }

  ManualClock clock;
  SimReactor reactor{clock};
  std::vector<OutageReport> reports;
  Outages outages{reactor, [this](const OutageReport& report) { reports.push_back(report); }};
  std::function<bool(const std::string& ns)> refuse = [](const std::string&) { return true; };
  std::function<bool(const std::string& item)> refuse_one;  // in addition to refuse(), if set
  Code code = Code::kUnavailable;
  int status = 500;
  size_t asked = 0;
  std::map<std::string, size_t> asked_by;
  std::set<std::string> done;
  std::vector<Handle> kept;
};

TEST_F(OutagesTest, ALastingOneIsToldOnceCostsLittleAndIsOverSoonAfterItsEnd) {
  constexpr size_t kItems = 800;
  for (size_t i = 0; i < kItems; ++i) ask("d", std::to_string(i));
  reactor.advance(10min);
  EXPECT_LE(asked, kItems + 10 + 600 / 8) << "one try in 8 s";
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_FALSE(reports[0].over);
  EXPECT_EQ(reports[0].refused, 3u) << "a single error is not news yet";
  EXPECT_EQ(outages.waiting(), kItems);
  refuse = nullptr;
  reactor.advance(10s);
  EXPECT_EQ(done.size(), kItems);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_TRUE(reports[1].over);
  EXPECT_GE(reports[1].lasted, 10min);
  EXPECT_EQ(outages.ongoing(), 0u);
}

TEST_F(OutagesTest, APlainRefusalIsNewsAtOnceAndATooShortOneIsNone) {
  ask("d", "a");
  reactor.advance(40ms);
  EXPECT_TRUE(reports.empty());
  refuse = nullptr;
  reactor.advance(1s);
  EXPECT_TRUE(reports.empty());
  EXPECT_EQ(outages.ongoing(), 0u);
  refuse = [](const std::string&) { return true; };
  code = Code::kPermissionDenied;
  status = 403;
  ask("d", "a");
  EXPECT_EQ(reports.size(), 1u);
}

TEST_F(OutagesTest, OneThatComesAndGoesIsToldOnceAMinute) {
  code = Code::kInvalidArgument;
  status = 422;
  size_t begun = 0;
  for (int i = 0; i < 600; ++i) {
    refuse = [](const std::string&) { return true; };
    ask("d", "a");
    refuse = nullptr;
    reactor.advance(1s);
    EXPECT_EQ(outages.ongoing(), 0u);
  }
  for (const OutageReport& report : reports) begun += report.over ? 0 : 1;
  EXPECT_GE(begun, 9u);
  EXPECT_LE(begun, 11u);
}

// One namespace with lasting errors takes every second attempt, not all of them.
TEST_F(OutagesTest, ANamespaceFullOfRefusalsDoesNotKeepAnother) {
  for (int i = 0; i < 5000; ++i) ask("hostile", std::to_string(i));
  ask("other", "a");
  reactor.advance(1min);
  refuse = [](const std::string& ns) { return ns == "hostile"; };
  reactor.advance(10s);
  EXPECT_TRUE(done.contains("other/a"));
  EXPECT_LE(asked_by["hostile"], 5000u + 30);
}

// A hundred objects that the server will never accept, and one that it accepts again.
TEST_F(OutagesTest, OneThatRecoversAloneDoesNotWaitForTheOthers) {
  code = Code::kInvalidArgument;
  status = 422;
  std::set<std::string> mended;
  refuse_one = [&](const std::string& item) { return !mended.contains(item); };
  for (int i = 0; i < 200; ++i) ask("d", std::to_string(i));
  reactor.advance(5min);
  const size_t before = asked;
  reactor.advance(80s);
  EXPECT_LE(asked - before, 200u * 11);
  for (const char* item : {"d/0", "d/99", "d/199"}) {
    mended.insert(item);
    reactor.advance(10s);
    EXPECT_TRUE(done.contains(item)) << item;
  }
}

// An invalid object in one namespace does not make another namespace wait.
TEST_F(OutagesTest, RefusalsOfObjectsAreCausesByNamespace) {
  code = Code::kInvalidArgument;
  status = 422;
  for (int i = 0; i < 1000; ++i) ask("hostile", std::to_string(i));
  reactor.advance(1min);
  ask("other", "a");
  refuse = [](const std::string& ns) { return ns == "hostile"; };
  reactor.advance(100ms);
  EXPECT_TRUE(done.contains("other/a"));
}

// A server that fails only for some namespaces (because of their admission webhook): one item of each is tried.
TEST_F(OutagesTest, EachNamespaceIsTriedWhileALastingErrorIsAnswered) {
  for (int n = 0; n < 12; ++n)
    for (int i = 0; i < 50; ++i) ask("ns" + std::to_string(n), std::to_string(i));
  reactor.advance(5min);
  refuse = [](const std::string& ns) { return ns != "ns7"; };
  reactor.advance(10s);
  EXPECT_TRUE(std::any_of(done.begin(), done.end(), [](const std::string& item) { return item.starts_with("ns7/"); }));
}

// Each namespace has its own quotas: an exhausted one does not make another namespace wait.
TEST_F(OutagesTest, QuotasAreCausesByNamespace) {
  code = Code::kResourceExhausted;
  status = 403;
  ask("a", "1");
  ask("b", "1");
  EXPECT_EQ(outages.ongoing(), 2u);
  refuse = [](const std::string& ns) { return ns == "a"; };
  reactor.advance(10s);
  EXPECT_TRUE(done.contains("b/1"));
  EXPECT_EQ(outages.ongoing(), 1u);
}

TEST_F(OutagesTest, RetryAfterIsKept) {
  outages.failed("d/a", {"patch Pod", Error(Code::kTooManyRequests, 429, "", "later").with_retry_after(30), {}},
                 [this] { done.insert("d/a"); });
  reactor.advance(29s);
  EXPECT_TRUE(done.empty());
  reactor.advance(2s);
  EXPECT_TRUE(done.contains("d/a"));
}

TEST_F(OutagesTest, AnItemThatDoesNotEndItsTryKeepsNobody) {
  refuse = nullptr;
  outages.failed("d/stuck", {"patch Pod", Error(Code::kUnavailable, 500, "", "no"), {}}, [] {});
  for (int i = 0; i < 10; ++i)
    outages.failed("d/" + std::to_string(i), {"patch Pod", Error(Code::kUnavailable, 500, "", "no"), {}},
                   [this, i] { ask("d", std::to_string(i)); });
  reactor.advance(10s);
  EXPECT_EQ(done.size(), 10u);
}

// The only item on trial fails for another cause, while a newer item waits for the first cause.
TEST_F(OutagesTest, WhoMovesToAnotherCauseLeavesNobodyWaitingForever) {
  const auto fail_with = [this](const std::string& item, int with) {
    outages.failed(item, {"patch Pod", Error(Code::kUnavailable, with, "", "no"), {}},
                   [this, item] { done.insert(item); });
  };
  fail_with("a", 500);
  reactor.advance(50ms);
  ASSERT_TRUE(done.contains("a")) << "on trial now";
  fail_with("b", 500);
  fail_with("a", 503);
  reactor.advance(10s);
  EXPECT_TRUE(done.contains("b"));
}

TEST_F(OutagesTest, DrainGivesBackEveryRetryAndForgetsTheRest) {
  for (int i = 0; i < 10; ++i) ask("d", std::to_string(i));
  EXPECT_EQ(outages.drain().size(), 10u);
  EXPECT_EQ(outages.ongoing(), 0u);
  outages.passed("d/1");  // no longer known
  reactor.advance(1min);
  EXPECT_EQ(asked, 10u);
}

// In any order of requests and answers nothing is lost and nothing waits twice.
TEST_F(OutagesTest, NothingIsLostInAnyOrderOfFailuresAndSuccesses) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    done.clear();
    std::set<std::string> all;
    refuse = [&](const std::string&) {
      status = 500 + static_cast<int>(random.below(3));
      return random.below(3) > 0;
    };
    for (int i = 0; i < 200; ++i) {
      const std::string ns = std::string(1, static_cast<char>('a' + random.below(4)));
      const std::string name = std::to_string(random.below(60));
      all.insert(ns + "/" + name);
      ask(ns, name);
      if (random.below(4) == 0) reactor.advance(Duration(random.below(200'000'000)));
    }
    refuse = nullptr;
    reactor.advance(20s);
    EXPECT_EQ(done, all);
    EXPECT_EQ(outages.ongoing(), 0u);
    EXPECT_EQ(outages.waiting(), 0u);
  }
}

}  // namespace dra::manager::outages_test
