#include "pkg/http/session.h"

#include <utility>

namespace dra::http {

namespace {

// A peer that reads gets the processor within this time, also on a busy machine, and has decoded a large object.
constexpr std::chrono::milliseconds kProgress{50};

class SessionResponder : public Responder {
 public:
  SessionResponder(std::weak_ptr<Session> session, uint64_t id) : session_(std::move(session)), id_(id) {}
  ~SessionResponder() override {
    if (answered_) return;
    Response r;
    r.status = 500;
    r.headers.add("Content-Type", "text/plain; charset=utf-8");
    r.body = "the request was not answered\n";
    send(std::move(r));
  }
  void send(Response response) override {
    answered_ = true;
    if (auto s = session_.lock()) s->send(id_, std::move(response));
  }
  void begin_stream(Response head) override {
    answered_ = true;
    if (auto s = session_.lock()) s->begin_stream(id_, std::move(head));
  }
  bool write(std::string_view piece) override {
    auto s = session_.lock();
    return s && s->write(id_, piece);
  }
  void end() override {
    if (auto s = session_.lock()) s->end(id_);
  }
  size_t buffered() const override {
    auto s = session_.lock();
    return s ? s->buffered(id_) : 0;
  }
  bool when_accepted(std::function<void()> next) override {
    if (auto s = session_.lock()) s->when_accepted(id_, std::move(next));
    return true;
  }
  bool in_turn(std::function<void()> next) override {
    if (auto s = session_.lock()) s->in_turn(id_, std::move(next));
    return true;
  }
  void on_close(std::function<void()> callback) override {
    if (auto s = session_.lock()) s->on_close(id_, std::move(callback));
  }

 private:
  std::weak_ptr<Session> session_;
  uint64_t id_;
  bool answered_ = false;
};

}  // namespace

ServerState::ServerState(ServerOptions o)
    : options(std::move(o)),
      table({options.max_connections, options.max_connections_per_peer, options.max_fresh_connections,
             options.max_idle_connections, options.max_answering_connections, options.max_received_bytes}) {}

void ServerState::settle(ConnectionTable::Id changed) {
  while (const auto id = table.excess(changed)) give_up(*id);
}

void ServerState::give_up(ConnectionTable::Id id) {
  table.remove(id);
  if (const auto found = sessions.find(id); found != sessions.end()) found->second->close();
}

void ServerState::settle_unsent() {
  while (unsent > options.max_unsent_bytes && cut_off_slowest(false)) continue;
  while (unsent_of_streams > options.max_unsent_stream_bytes && cut_off_slowest(true)) continue;
}

bool ServerState::stream_makes_progress() const {
  return sending_streams > 0 && std::chrono::steady_clock::now() - stream_sent_at < kProgress;
}

bool ServerState::cut_off_slowest(bool of_streams) {
  Session* slowest = nullptr;
  size_t slow = 0;
  for (const auto& [id, session] : sessions) {
    const auto since = session->lagging_since(of_streams);
    if (!since) continue;
    ++slow;
    if (slowest == nullptr || *since < *slowest->lagging_since(of_streams)) slowest = session;
  }
  if (slow < 2) return false;
  slowest->cut_off_peer();
  return true;
}

Session::Session(std::shared_ptr<ServerState> server, const std::string& peer)
    : server_(std::move(server)), place_(server_->table.add(peer)) {
  server_->sessions.emplace(place_, this);
}

Session::~Session() {
  server_->table.remove(place_);
  server_->sessions.erase(place_);
}

void Session::enter(Phase phase) {
  server_->table.enter(place_, phase);
  server_->settle(place_);
}

std::shared_ptr<Responder> make_responder(std::weak_ptr<Session> session, uint64_t exchange) {
  return std::make_shared<SessionResponder>(std::move(session), exchange);
}

}  // namespace dra::http
