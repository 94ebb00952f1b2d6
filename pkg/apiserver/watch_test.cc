// Watches whose clients read slowly or not at all, and too many watches.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/server.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::apiserver::watch_test {

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

// What a client has received, and what waits for it.
struct Peer {
  int status = 0;
  std::string body;
  bool reads = true;
  size_t unread = 0;
  bool ended = false;
  std::function<void()> next;
  std::function<void()> closed;
};

class PeerResponder : public http::Responder {
 public:
  explicit PeerResponder(std::shared_ptr<Peer> peer) : peer_(std::move(peer)) {}
  void send(http::Response r) override {
    peer_->status = r.status;
    peer_->body = std::move(r.body);
    peer_->ended = true;
  }
  void begin_stream(http::Response r) override { peer_->status = r.status; }
  bool write(std::string_view piece) override {
    peer_->body += piece;
    if (!peer_->reads) peer_->unread += piece.size();
    return true;
  }
  void end() override { peer_->ended = true; }
  size_t buffered() const override { return peer_->unread; }
  bool when_accepted(std::function<void()> next) override {
    peer_->next = std::move(next);
    return true;
  }
  void on_close(std::function<void()> callback) override { peer_->closed = std::move(callback); }

 private:
  std::shared_ptr<Peer> peer_;
};

class WatchTest : public ::testing::Test {
 protected:
  WatchTest() { start({}); }

  void start(ServerOptions options) {
    for (const char* name : {"admin", "other"})
      options.tokens[name] = {name, name, {"system:masters", "system:authenticated"}, {}};
    server_ = std::make_unique<Server>(reactor_, random_, std::move(options));
    reactor_.run_until_idle();
  }

  std::shared_ptr<Peer> watch(const std::string& query = {}, const std::string& user = "admin", bool reads = false) {
    auto peer = std::make_shared<Peer>();
    peer->reads = reads;
    ask("GET", std::string(kMaps) + "?watch=true" + query, nullptr, user, peer);
    return peer;
  }

  void ask(const std::string& method, const std::string& target, const Json& body = nullptr,
           const std::string& user = "admin", std::shared_ptr<Peer> peer = std::make_shared<Peer>()) {
    http::Request r;
    r.method = method;
    r.target = target;
    r.remote = "127.0.0.1:5";
    r.headers.add("Authorization", "Bearer " + user);
    r.headers.add("Content-Type", method == "PATCH" ? "application/merge-patch+json" : "application/json");
    if (!body.is_null()) r.body = body.dump();
    server_->handle(std::move(r), std::make_shared<PeerResponder>(peer));
    reactor_.run_until_idle();
  }

  void put(const std::string& name, size_t bytes) {
    ask("POST", kMaps, {{"metadata", {{"name", name}}}, {"data", {{"k", std::string(bytes, 'x')}}}});
  }

  // The client reads what was sent; false: and nothing more comes.
  bool read(Peer& peer) {
    peer.unread = 0;
    if (!peer.next) return false;
    std::exchange(peer.next, nullptr)();
    reactor_.run_until_idle();
    return true;
  }

  static std::vector<Json> events(const Peer& peer) {
    std::vector<Json> found;
    for (size_t at = 0; at < peer.body.size();) {
      const size_t end = peer.body.find('\n', at);
      found.push_back(Json::parse(peer.body.substr(at, end - at)));
      at = end + 1;
    }
    return found;
  }

  ManualClock clock_;
  SimReactor reactor_{clock_};
  SeededRandom random_{7};
  std::unique_ptr<Server> server_;
};

constexpr size_t kObject = 20'000;
constexpr size_t kMostUnread = (size_t{128} << 10) + kObject;

TEST_F(WatchTest, AClientThatReadsNothingIsSentAPortionAndTheRestWhenItReads) {
  const auto peer = watch();
  for (int i = 0; i < 100; ++i) put("m" + std::to_string(i), kObject);
  EXPECT_LT(peer->unread, kMostUnread);
  size_t most = 0;
  while (read(*peer)) most = std::max(most, peer->unread);
  EXPECT_LT(most, kMostUnread);
  const std::vector<Json> sent = events(*peer);
  ASSERT_EQ(sent.size(), 100U);
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(sent[i]["object"]["metadata"]["name"], "m" + std::to_string(i)) << i;
  put("next", 1);
  EXPECT_EQ(events(*peer).size(), 101U) << "a client that has read everything waits for nothing";
}

TEST_F(WatchTest, TheInitialStateIsSentInPortionsOfBytesToo) {
  for (int i = 100; i < 200; ++i) put("m" + std::to_string(i), kObject);
  const auto peer = watch("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
  EXPECT_LT(peer->unread, kMostUnread);
  while (read(*peer)) EXPECT_LT(peer->unread, kMostUnread);
  EXPECT_EQ(events(*peer).size(), 101U);
  EXPECT_EQ(events(*peer).back()["type"], "BOOKMARK");
}

TEST_F(WatchTest, AClientThatFellBehindIsTold410AtOnce) {
  ServerOptions options;
  options.store.max_changes = 20;
  start(std::move(options));
  const auto peer = watch();
  for (int i = 0; i < 15; ++i) put("m" + std::to_string(i), kObject);
  EXPECT_FALSE(peer->ended);
  for (int i = 15; i < 30; ++i) put("m" + std::to_string(i), kObject);
  EXPECT_TRUE(peer->ended) << "it need not read for that";
  EXPECT_EQ(events(*peer).back()["object"]["code"], 410);
  EXPECT_EQ(server_->watches(), 0U);
}

// The bookmark would let the client resume after changes that it never saw.
TEST_F(WatchTest, ABookmarkNeverPassesChangesThatWait) {
  const auto peer = watch("&allowWatchBookmarks=true");
  for (int i = 0; i < 20; ++i) put("m" + std::to_string(i), kObject);
  reactor_.advance(std::chrono::minutes(5));
  uint64_t seen = 0;
  while (read(*peer)) continue;
  reactor_.advance(std::chrono::minutes(2));
  size_t bookmarks = 0;
  for (const Json& event : events(*peer)) {
    const uint64_t revision = std::stoull(event["object"]["metadata"]["resourceVersion"].get<std::string>());
    if (event["type"] == "BOOKMARK") {
      ++bookmarks;
    } else {
      EXPECT_GT(revision, seen);
    }
    seen = std::max(seen, revision);
  }
  EXPECT_GE(bookmarks, 1U);
}

// Whatever is written between two portions, the events are possible ones for their order, and end in the state of the
// store.
TEST_F(WatchTest, ASlowClientSeesAPossibleHistory) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SeededRandom random(seed);
    start({});
    const auto change = [&] {
      const std::string name = "m" + std::to_string(random.below(40));
      const std::string path = std::string(kMaps) + "/" + name;
      const Json labels = {{"shown", random.below(2) == 0 ? "yes" : "no"}};
      const uint64_t what = random.below(3);
      if (what == 0) {
        ask("POST", kMaps,
            {{"metadata", {{"name", name}, {"labels", labels}}}, {"data", {{"k", std::string(9000, 'x')}}}});
      } else if (what == 1) {
        ask("PATCH", path, {{"metadata", {{"labels", labels}}}, {"data", {{"n", std::to_string(random.next())}}}});
      } else {
        ask("DELETE", path);
      }
    };
    for (int i = 0; i < 60; ++i) change();
    const bool selects = seed % 2 == 0;
    const auto peer = watch(selects ? "&labelSelector=shown%3Dyes" : "");
    for (int i = 0; i < 100; ++i) {
      change();
      if (random.below(5) == 0) read(*peer);
    }
    while (read(*peer)) continue;
    std::map<std::string, std::string> known;
    for (const Json& event : events(*peer)) {
      const std::string name = event["object"]["metadata"]["name"];
      const std::string type = event["type"];
      EXPECT_EQ(known.contains(name), type != "ADDED") << seed << ": " << type << " " << name;
      if (type == "DELETED") {
        known.erase(name);
      } else {
        known[name] = event["object"]["metadata"]["resourceVersion"];
      }
    }
    std::map<std::string, std::string> stored;
    for (const auto& [key, object] : server_->store().objects("/configmaps")) {
      const Json& metadata = object->document()->at("metadata");
      if (selects && metadata["labels"].value("shown", "") != "yes") continue;
      if (key.starts_with("default/")) stored[metadata["name"]] = metadata["resourceVersion"];
    }
    EXPECT_EQ(known, stored) << seed;
  }
}

TEST_F(WatchTest, TheUserWithMostWatchesLosesOneWhenThereAreTooMany) {
  ServerOptions options;
  options.max_watches = 4;
  start(std::move(options));
  std::vector<std::shared_ptr<Peer>> many;
  for (int i = 0; i < 4; ++i) many.push_back(watch());
  EXPECT_EQ(watch()->status, 429) << "all of its watches are read";
  put("large", 100'000);
  many[0]->unread = many[1]->unread = many[3]->unread = 0;
  for (int i = 0; i < 4; ++i) {
    put("m" + std::to_string(i), 100'000);
    for (const int reader : {0, 1, 3}) read(*many[static_cast<size_t>(reader)]);
  }
  EXPECT_EQ(watch()->status, 429) << "for a second it can be slow";
  reactor_.advance(std::chrono::seconds(2));
  for (const int reader : {0, 1, 3}) read(*many[static_cast<size_t>(reader)]);
  const auto replaced = watch("&resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(replaced->status, 200);
  EXPECT_TRUE(many[2]->ended);
  EXPECT_EQ(watch("", "other")->status, 200) << "another user has a share";
  EXPECT_EQ(watch("", "other")->status, 200);
  EXPECT_EQ(watch("", "other")->status, 429) << "and no more than it";
  EXPECT_TRUE(many[0]->ended && many[1]->ended) << "the oldest of what is read";
  EXPECT_FALSE(many[3]->ended);
  EXPECT_EQ(server_->watches(), 4U);
}

// Objects that it does not want may have to be parsed to see that.
TEST_F(WatchTest, SelectorsAreAppliedInPortions) {
  for (int i = 0; i < 8; ++i) put("m" + std::to_string(i), 600'000);
  const auto last = [&] { return std::to_string(server_->store().revision()); };
  const std::string before = last();
  for (int i = 0; i < 8; ++i)
    ask("PATCH", std::string(kMaps) + "/m" + std::to_string(i),
        {{"metadata", {{"labels", {{"i", std::to_string(i)}}}}}});
  const auto count_reads = [&](Peer& peer) {
    size_t reads = 0;
    while (read(peer)) ++reads;
    return reads;
  };
  const auto changes = watch("&labelSelector=i=7&resourceVersion=" + before, "admin", true);
  EXPECT_GT(count_reads(*changes), 3U);
  EXPECT_EQ(events(*changes).size(), 1U);
  const auto initial = watch("&labelSelector=i=7", "admin", true);
  EXPECT_GT(count_reads(*initial), 3U);
  EXPECT_EQ(events(*initial).size(), 1U);
}

}  // namespace dra::apiserver::watch_test
