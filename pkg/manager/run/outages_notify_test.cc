#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "pkg/manager/run/outages.h"
#include "pkg/reactor/sim_reactor.h"

// What waits for an outage for long is notified: once, a few a second, fair to namespaces.
namespace dra::manager::outages_notify_test {

using namespace std::chrono_literals;

class OutagesNotifyTest : public testing::Test {
 protected:
  OutagesNotifyTest() {
    outages.notify_waiting(
        [this](const std::string& item, const std::string& waits_for, const Failure& failure, Duration lasted) {
          EXPECT_GE(lasted, Outages::kLongWait);
          EXPECT_EQ(failure.object.ns, item.substr(0, item.find('/'))) << "another namespace's object is shown";
          EXPECT_TRUE(item == waits_for || item.starts_with(waits_for)) << item << " for " << waits_for;
          notified.emplace_back(item, clock.mono_now());
        },
        [this](const std::string& item) {
          const auto with = companions.find(item);
          return with == companions.end() ? std::vector<std::string>() : with->second;
        });
  }
  void ask(const std::string& ns, const std::string& name, const std::string& what = "patch Pod") {
    const std::string item = ns + "/" + name;
    ++asked;
    if (!refuse) return outages.passed(item);
    outages.failed(item, {what, Error(code, status, "", "no"), {reconcile::Kind::kPod, ns, name, ""}},
                   [=, this] { kept.push_back(reactor.after(1ms, [=, this] { ask(ns, name, what); })); });
  }
  size_t notified_of(const std::string& ns) const {
    return static_cast<size_t>(std::count_if(notified.begin(), notified.end(),
                                             [&](const auto& one) { return one.first.starts_with(ns + "/"); }));
  }

  ManualClock clock;
  SimReactor reactor{clock};
  Outages outages{reactor, {}};
  bool refuse = true;
  Code code = Code::kUnavailable;
  int status = 500;
  size_t asked = 0;
  std::map<std::string, std::vector<std::string>> companions;
  std::vector<std::pair<std::string, MonoTime>> notified;
  std::vector<Handle> kept;
};

TEST_F(OutagesNotifyTest, EachItemOnceAfterFifteenSecondsTenASecondRoundRobin) {
  const MonoTime began = clock.mono_now();
  for (int i = 0; i < 300; ++i) ask("many", std::to_string(i));
  for (int i = 0; i < 10; ++i) ask("few", std::to_string(i));
  reactor.advance(15s - 1ms);
  EXPECT_TRUE(notified.empty());
  reactor.advance(2s);
  EXPECT_EQ(notified_of("few"), 10u) << "in turn with the other namespace";
  EXPECT_LE(notified.size(), 21u);
  reactor.advance(30s);
  EXPECT_EQ(notified.size(), 310u);
  for (size_t i = 10; i < notified.size(); ++i) EXPECT_GE(notified[i].second - notified[i - 10].second, 1s - 1ms);
  EXPECT_LE(notified.back().second - began, 47s);
  std::map<std::string, size_t> times;
  for (const auto& [item, at] : notified) ++times[item];
  for (const auto& [item, count] : times) EXPECT_EQ(count, 1u) << item;
  // It goes on: nobody is notified again; an item that comes later is.
  reactor.advance(10min);
  EXPECT_EQ(notified.size(), 310u);
  ask("few", "late");
  reactor.advance(1s);
  EXPECT_EQ(notified.size(), 311u);
  EXPECT_LE(asked, 311 + 20 + 2 * 660 / 8) << "notifying asks for nothing";
}

TEST_F(OutagesNotifyTest, AShortOneAndOneThatIsOverTellNobody) {
  for (int i = 0; i < 300; ++i) ask("d", std::to_string(i));
  reactor.advance(12s);
  refuse = false;  // the next try, after 12.8 s, shows it
  reactor.advance(1min);
  EXPECT_TRUE(notified.empty());
  // The next one is another outage.
  refuse = true;
  for (int i = 0; i < 300; ++i) ask("d", std::to_string(i));
  reactor.advance(16s);
  EXPECT_GE(notified.size(), 10u);
  EXPECT_LE(notified.size(), 12u);
  refuse = false;
  reactor.advance(10s);
  const size_t until = notified.size();
  EXPECT_LT(until, 120u);
  reactor.advance(1min);
  EXPECT_EQ(notified.size(), until) << "they went through before they were notified";
}

TEST_F(OutagesNotifyTest, NothingWhileTheServerIsOutOfReachAndNoSecondWordForWhatIsRefused) {
  for (const auto& [said_code, said_status] :
       {std::pair(Code::kUnavailable, 0), {Code::kInvalidArgument, 422}, {Code::kResourceExhausted, 403}}) {
    code = said_code, status = said_status;
    for (int i = 0; i < 20; ++i) ask("d", std::to_string(i), "patch " + std::to_string(status));
    reactor.advance(2min);
    EXPECT_TRUE(notified.empty()) << status;
  }
  code = Code::kPermissionDenied, status = 403;
  for (int i = 0; i < 20; ++i) ask("e", std::to_string(i));
  reactor.advance(2min);
  EXPECT_EQ(notified_of("e"), 20u) << "a permission that is missing";
}

TEST_F(OutagesNotifyTest, OfSeveralOutagesTenASecondInAll) {
  for (int o = 0; o < 5; ++o)
    for (int i = 0; i < 40; ++i) ask("n" + std::to_string(o), std::to_string(i), "patch " + std::to_string(o));
  reactor.advance(20s);
  EXPECT_LE(notified.size(), 52u);
  for (int o = 0; o < 5; ++o) EXPECT_GE(notified_of("n" + std::to_string(o)), 9u);
  reactor.advance(20s);
  EXPECT_EQ(notified.size(), 200u);
}

// The members of a group wait for the one that is reconciled for all.
TEST_F(OutagesNotifyTest, ThoseThatWaitForAnothersTryAreToldOnceToo) {
  for (int i = 0; i < 30; ++i) companions["d/0"].push_back("d/0-member" + std::to_string(i));
  ask("d", "0");
  ask("d", "1");
  reactor.advance(20s);
  EXPECT_EQ(notified.size(), 32u);
  companions["d/0"].push_back("d/0-late");
  ask("d", "0");  // its coming is a change of the group
  reactor.advance(1s);
  EXPECT_EQ(notified.size(), 33u);
  EXPECT_EQ(notified.back().first, "d/0-late");
  reactor.advance(10min);
  EXPECT_EQ(notified.size(), 33u);
}

TEST_F(OutagesNotifyTest, AfterDrainNobodyIsTold) {
  for (int i = 0; i < 40; ++i) ask("d", std::to_string(i));
  reactor.advance(10s);
  outages.drain();
  reactor.advance(1min);
  EXPECT_TRUE(notified.empty());
}

}  // namespace dra::manager::outages_notify_test
