#include "pkg/web/page_server.h"

#include <deque>
#include <map>
#include <nlohmann/json.hpp>

#include "pkg/web/assets.h"
#include "pkg/web/gate.h"

namespace dra::web {
namespace {

using nlohmann::json;
using Responder = std::shared_ptr<http::Responder>;

constexpr size_t kPiece = 256 * 1024;  // of a stream
constexpr size_t kMostBuffered = 1024 * 1024;
constexpr const char* kJson = "application/json";

std::string_view type_of_file(std::string_view name) {
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  return "text/html; charset=utf-8";
}

std::string problem(const std::string& message) {
  return json{{"error", message}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Question> question_in(const std::string& body) {
  const json given = json::parse(body, nullptr, false);
  Question question;
  const auto text = [&](const char* key, std::string& into) {
    const auto found = given.find(key);
    if (found == given.end()) return true;
    if (found->is_string()) into = found->get<std::string>();
    return found->is_string();
  };
  if (!given.is_object() || !text("verb", question.verb) || !text("namespace", question.ns) ||
      !text("document", question.document))
    return fail(Code::kInvalidArgument, "a question is {\"verb\", \"words\", \"namespace\", \"document\"}");
  if (const auto words = given.find("words"); words != given.end()) {
    if (!words->is_array() || words->size() > 8)
      return fail(Code::kInvalidArgument, "\"words\" is a list of at most eight texts");
    for (const json& word : *words) {
      if (!word.is_string()) return fail(Code::kInvalidArgument, "\"words\" is a list of texts");
      question.words.push_back(word.get<std::string>());
    }
  }
  return question;
}

class Server : public PageServer {
 public:
  Server(AsioReactor& reactor, PageOptions options, Feed& feed, Answerer answerer)
      : reactor_(reactor),
        options_(std::move(options)),
        feed_(feed),
        answerer_(std::move(answerer)),
        key_(random_key()),
        ticket_(options_.ticket) {
    for (const Asset& asset : assets()) files_["/" + asset.name] = &asset;
    files_["/"] = files_.at("/page/index.html");
    watch_idleness();
  }

  Result<void> listen() {
    http::ServerOptions server;
    server.port = options_.port;
    server.max_body_bytes = kMaxQuestion;
    server.max_unsent_stream_bytes = size_t{64} << 20;
    server.methods = {"GET", "HEAD", "POST"};
    auto started = http::Server::start(reactor_, std::move(server), [this](http::Request request, Responder responder) {
      answer(request, responder);
    });
    if (!started) return fail(started.error());
    http_ = std::move(*started);
    return {};
  }

  uint16_t port() const override { return http_->port(); }

 private:
  struct Stream {
    std::unique_ptr<Feed::Reader> reader;
    Responder responder;
    bool waiting = false;  // for the peer
  };

  void answer(const http::Request& request, const Responder& responder) {
    const std::string path = request.target.substr(0, request.target.find('?'));
    const auto file = files_.find(path);
    const bool reads = request.method == "GET" || request.method == "HEAD", open = reads && file != files_.end();
    const bool for_key = path == "/api/key" && request.method == "POST";
    if (const auto status = why_refused(request, path, open, for_key ? ticket_ : key_))
      return responder->send(guarded(*status, "text/plain", ""));
    last_asked_ = reactor_.clock().mono_now();
    if (open) return responder->send(guarded(200, type_of_file(file->second->name), file->second->text));
    if (for_key) return give_key(responder);
    if (path == "/api/stream" && request.method == "GET") return stream(responder);
    if (path == "/api/ask" && request.method == "POST") return ask(request, responder);
    responder->send(guarded(404, "text/plain", ""));
  }

  void give_key(const Responder& responder) {
    ticket_ = random_key();
    if (options_.on_ticket_used) options_.on_ticket_used(ticket_);
    responder->send(guarded(200, kJson, json{{"key", key_}}.dump()));
  }

  void stream(const Responder& responder) {
    if (streams_.size() >= kMaxReaders)
      return responder->send(
          guarded(429, kJson, problem("there are " + std::to_string(kMaxReaders) + " pages open; close one")));
    const uint64_t id = ++last_stream_;
    Stream& added = streams_[id];
    added.responder = responder;
    added.reader = feed_.subscribe([this, id] { wake(id); });
    responder->begin_stream(guarded(200, "application/x-ndjson", ""));
    // Not before the stream has begun: an answer that is no stream has no such callback (http::Responder).
    responder->on_close([this, id] { reactor_.post([this, id] { close(id); }); });
    wake(id);
  }

  // Pumps in a task of its own, so that several changes go out in one piece.
  void wake(uint64_t id) {
    const auto found = streams_.find(id);
    if (found == streams_.end() || found->second.waiting) return;
    found->second.waiting = true;
    reactor_.post([this, id] { pump(id); });
  }

  void pump(uint64_t id) {
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;
    Stream& stream = found->second;
    stream.waiting = false;
    while (!stream.reader->cut_off()) {
      if (stream.responder->buffered() > kMostBuffered) {
        stream.waiting = stream.responder->when_accepted([this, id] { pump(id); });
        if (stream.waiting) return;
      }
      const std::string piece = stream.reader->take(kPiece);
      if (piece.empty()) return;
      if (!stream.responder->write(piece)) return close(id);
    }
    stream.responder->end();
    close(id);
  }

  void close(uint64_t id) {
    if (streams_.erase(id) > 0) last_asked_ = reactor_.clock().mono_now();
  }

  void ask(const http::Request& request, const Responder& responder) {
    if (request.body_too_large)
      return responder->send(
          guarded(413, kJson, problem("a question has at most " + std::to_string(kMaxQuestion) + " bytes")));
    if (!request.headers.get("Content-Type").starts_with(kJson))
      return responder->send(guarded(415, kJson, problem(std::string("a question is ") + kJson)));
    auto question = question_in(request.body);
    if (!question) return responder->send(guarded(400, kJson, problem(question.error().message())));
    if (questions_.size() >= kMaxWaiting)
      return responder->send(guarded(429, kJson, problem("too many questions at a time; ask again")));
    questions_.push_back({std::move(*question), responder});
    next_question();
  }

  void next_question() {
    if (answering_ || questions_.empty()) return;
    answering_ = true;
    const auto asked = std::make_shared<Asked>(std::move(questions_.front()));
    questions_.pop_front();
    const auto answer = std::make_shared<Result<std::string>>(std::string());
    reactor_.offload([job = answerer_(asked->question), answer] { *answer = job(); },
                     [this, asked, answer] {
                       answering_ = false;
                       last_asked_ = reactor_.clock().mono_now();
                       asked->responder->send(*answer ? guarded(200, kJson, **answer)
                                                      : guarded(422, kJson, problem(answer->error().message())));
                       next_question();
                     });
  }

  void watch_idleness() {
    last_asked_ = reactor_.clock().mono_now();
    check_idleness();
  }
  void check_idleness() {
    const Duration unused = reactor_.clock().mono_now() - last_asked_;
    if (streams_.empty() && !answering_ && unused >= options_.idle_limit) {
      if (options_.on_idle) options_.on_idle();
      return;
    }
    const Duration rest = streams_.empty() ? options_.idle_limit - unused : options_.idle_limit;
    idle_timer_ = reactor_.after(std::max<Duration>(rest, std::chrono::milliseconds(1)), [this] { check_idleness(); });
  }

  struct Asked {
    Question question;
    Responder responder;
  };

  AsioReactor& reactor_;
  const PageOptions options_;
  Feed& feed_;
  const Answerer answerer_;
  const std::string key_;
  std::string ticket_;
  std::map<std::string, const Asset*> files_;  // by path
  std::map<uint64_t, Stream> streams_;
  uint64_t last_stream_ = 0;
  std::deque<Asked> questions_;
  bool answering_ = false;
  MonoTime last_asked_{};
  Handle idle_timer_;
  std::unique_ptr<http::Server> http_;
};

}  // namespace

Result<std::unique_ptr<PageServer>> PageServer::start(AsioReactor& reactor, PageOptions options, Feed& feed,
                                                      Answerer answerer) {
  auto server = std::make_unique<Server>(reactor, std::move(options), feed, std::move(answerer));
  if (auto listening = server->listen(); !listening) return fail(listening.error());
  return std::unique_ptr<PageServer>(std::move(server));
}

}  // namespace dra::web
