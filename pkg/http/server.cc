// The one file that knows Beast. It parses requests and owns sockets; answers are written as text.
#include "pkg/http/server.h"

#include <limits>
#include <utility>

// asio before beast; <utility> before both for Boost 1.74
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "pkg/reactor/asio_reactor.h"

namespace dra::http {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptRetry{100};

std::string http_date(WallTime now) {
  const std::time_t t =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::system_clock::duration>(now));
  std::tm tm{};
  gmtime_r(&t, &tm);
  char text[40];
  const size_t n = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
  return {text, n};
}

class SessionBase;

// What sessions share with the server that made them.
struct Shared {
  ServerOptions options;
  Handler handler;
  const Clock* clock = nullptr;
  std::set<SessionBase*> sessions;
};

class SessionBase : public std::enable_shared_from_this<SessionBase> {
 public:
  explicit SessionBase(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) { shared_->sessions.insert(this); }
  virtual ~SessionBase() { shared_->sessions.erase(this); }
  virtual void start() = 0;
  virtual void close() = 0;

  // The Responder's side. `id` tells answers of this request from late ones of an earlier request.
  virtual void send(uint64_t id, Response response) = 0;
  virtual void begin_stream(uint64_t id, Response head) = 0;
  virtual bool write(uint64_t id, std::string_view piece) = 0;
  virtual void end(uint64_t id) = 0;
  virtual size_t buffered(uint64_t id) const = 0;
  virtual void on_close(uint64_t id, std::function<void()> callback) = 0;

 protected:
  std::shared_ptr<Shared> shared_;
};

// The handler's hold on an exchange. It does not keep the connection open.
class SessionResponder : public Responder {
 public:
  SessionResponder(std::weak_ptr<SessionBase> session, uint64_t id) : session_(std::move(session)), id_(id) {}
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
  void on_close(std::function<void()> callback) override {
    if (auto s = session_.lock()) s->on_close(id_, std::move(callback));
  }

 private:
  std::weak_ptr<SessionBase> session_;
  uint64_t id_;
  bool answered_ = false;
};

using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

template <typename Stream>
class Session : public SessionBase {
 public:
  Session(std::shared_ptr<Shared> shared, Stream stream) : SessionBase(std::move(shared)), stream_(std::move(stream)) {}

  void start() override {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      lowest().expires_after(shared_->options.handshake_timeout);
      stream_.async_handshake(asio::ssl::stream_base::server, [self = self()](ErrorCode ec) {
        if (!ec) self->read_head();
      });
    } else {
      read_head();
    }
  }

  void close() override {
    ErrorCode ignored;
    lowest().socket().close(ignored);
  }

  void send(uint64_t id, Response response) override {
    if (id != exchange_ || state_ != State::kHandling) return;
    state_ = State::kFinishing;
    const bool bodiless = method_ == "HEAD" || response.status == 304;
    std::string head = head_text(response);
    if (response.status != 304) head += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
    head += "\r\n";
    out_ += head;
    if (!bodiless) out_ += response.body;
    flush();
  }

  void begin_stream(uint64_t id, Response head) override {
    if (id != exchange_ || state_ != State::kHandling) return;
    state_ = State::kStreaming;
    chunked_ = http_version_ >= 11;
    keep_alive_ = false;  // the read that notices hang-ups cannot be called off inside a TLS record
    out_ += head_text(head) + (chunked_ ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
    if (!head.body.empty()) append_piece(head.body);
    watch_for_hangup();
    flush();
  }

  bool write(uint64_t id, std::string_view piece) override {
    if (id != exchange_ || state_ != State::kStreaming || broken_) return false;
    append_piece(piece);
    if (buffered(id) > shared_->options.max_stream_buffer_bytes) {
      hang_up();
      return false;
    }
    flush();
    return true;
  }

  void end(uint64_t id) override {
    if (id != exchange_ || state_ != State::kStreaming) return;
    state_ = State::kFinishing;
    on_close_ = nullptr;
    if (chunked_) out_ += "0\r\n\r\n";
    flush();
  }

  size_t buffered(uint64_t id) const override { return id == exchange_ ? out_.size() + in_flight_.size() : 0; }

  void on_close(uint64_t id, std::function<void()> callback) override {
    if (id == exchange_ && state_ == State::kStreaming) on_close_ = std::move(callback);
  }

 private:
  enum class State { kReading, kHandling, kStreaming, kFinishing };
  using Parser = beast::http::request_parser<beast::http::buffer_body>;

  std::shared_ptr<Session> self() { return std::static_pointer_cast<Session>(shared_from_this()); }
  beast::tcp_stream& lowest() { return beast::get_lowest_layer(stream_); }

  void read_head() {
    state_ = State::kReading;
    ++exchange_;
    request_ = {};
    received_ = 0;
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(shared_->options.max_header_bytes));
    // Bodies are counted as they arrive. (No limit at all refuses every body in Boost 1.74.)
    parser_->body_limit(std::numeric_limits<uint64_t>::max());
    lowest().expires_after(shared_->options.idle_timeout);
    beast::http::async_read_header(stream_, buffer_, *parser_,
                                   [self = self()](ErrorCode ec, size_t) { self->got_head(ec); });
  }

  void got_head(ErrorCode ec) {
    if (ec) {
      refuse_malformed(ec);
      return;
    }
    const auto& m = parser_->get();
    method_ = std::string(m.method_string());
    request_.method = method_;
    request_.target = std::string(m.target());
    http_version_ = m.version();
    keep_alive_ = m.keep_alive();
    for (const auto& f : m) request_.headers.add(std::string(f.name_string()), std::string(f.value()));
    ErrorCode ignored;
    const auto peer = lowest().socket().remote_endpoint(ignored);
    if (!ignored) request_.remote = peer.address().to_string() + ":" + std::to_string(peer.port());
    if (!codings_known()) {
      refuse(501, "the only transfer coding is chunked");
      return;
    }
    if (parser_->is_done()) {
      handle();
      return;
    }
    if (request_.headers.get("Expect") == "100-continue") {
      auto text = std::make_shared<std::string>("HTTP/1.1 100 Continue\r\n\r\n");
      asio::async_write(stream_, asio::buffer(*text), [self = self(), text](ErrorCode e, size_t) {
        if (!e) self->read_body();
      });
      return;
    }
    read_body();
  }

  void read_body() {
    parser_->get().body().data = piece_;
    parser_->get().body().size = sizeof piece_;
    parser_->get().body().more = true;
    lowest().expires_after(shared_->options.read_timeout);
    beast::http::async_read(stream_, buffer_, *parser_, [self = self()](ErrorCode ec, size_t) { self->got_body(ec); });
  }

  void got_body(ErrorCode ec) {
    if (ec == beast::http::error::need_buffer) ec = {};
    if (ec) {
      refuse_malformed(ec);
      return;
    }
    const size_t n = sizeof piece_ - parser_->get().body().size;
    received_ += n;
    if (received_ > shared_->options.max_body_bytes) {
      request_.body_too_large = true;
      request_.body.clear();
      request_.body.shrink_to_fit();
    } else {
      request_.body.append(piece_, n);
    }
    if (!parser_->is_done() && received_ <= shared_->options.max_drain_bytes) {
      read_body();
      return;
    }
    if (!parser_->is_done()) keep_alive_ = false;
    handle();
  }

  void handle() {
    state_ = State::kHandling;
    lowest().expires_never();
    auto responder = std::make_shared<SessionResponder>(weak_from_this(), exchange_);
    hold_ = shared_from_this();  // the connection lives while its request is being answered
    shared_->handler(std::move(request_), std::move(responder));
  }

  // Not HTTP, or cut off: say so where something was received at all.
  void refuse_malformed(ErrorCode ec) {
    const bool protocol = ec.category() == beast::http::make_error_code(beast::http::error::end_of_stream).category();
    if (!protocol || ec == beast::http::error::end_of_stream || ec == beast::http::error::partial_message) return;
    refuse(ec == beast::http::error::header_limit ? 431 : 400, ec.message());
  }

  // Where another coding is named nobody knows where the body ends and the next request begins.
  bool codings_known() const {
    const auto codings = parser_->get().equal_range(beast::http::field::transfer_encoding);
    return codings.first == codings.second ||
           (std::next(codings.first) == codings.second && beast::iequals(codings.first->value(), "chunked"));
  }

  void refuse(int status, const std::string& why) {
    state_ = State::kHandling;
    keep_alive_ = false;
    method_ = "";
    Response r;
    r.status = status;
    r.headers.add("Content-Type", "text/plain; charset=utf-8");
    r.body = std::to_string(status) + " " + std::string(reason_phrase(status)) + ": " + why + "\n";
    hold_ = shared_from_this();
    send(exchange_, std::move(r));
  }

  std::string head_text(const Response& response) {
    std::string head = "HTTP/1." + std::string(http_version_ >= 11 ? "1 " : "0 ") + std::to_string(response.status) +
                       " " + std::string(reason_phrase(response.status)) + "\r\n";
    for (const auto& [name, value] : response.headers.fields()) head += name + ": " + value + "\r\n";
    head += "Date: " + http_date(shared_->clock->wall_now()) + "\r\n";
    if (!keep_alive_) head += "Connection: close\r\n";
    return head;
  }

  void append_piece(std::string_view piece) {
    if (piece.empty()) return;
    if (!chunked_) {
      out_ += piece;
      return;
    }
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
    out_ += size;
    out_ += piece;
    out_ += "\r\n";
  }

  void flush() {
    if (broken_) {
      hold_.reset();
      return;
    }
    if (!in_flight_.empty()) return;
    if (out_.empty()) {
      if (state_ == State::kFinishing) finished();
      return;
    }
    in_flight_.swap(out_);
    lowest().expires_after(shared_->options.write_timeout);
    asio::async_write(stream_, asio::buffer(in_flight_), [self = self()](ErrorCode ec, size_t) {
      self->in_flight_.clear();
      if (ec) {
        self->hang_up();
        return;
      }
      self->lowest().expires_never();
      self->flush();
    });
  }

  void finished() {
    auto keep = std::move(hold_);
    if (!keep_alive_) {
      shut_down();
      return;
    }
    read_head();
  }

  void shut_down() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      lowest().expires_after(std::chrono::seconds(5));
      stream_.async_shutdown([self = self()](ErrorCode) { self->close(); });
    } else {
      ErrorCode ignored;
      lowest().socket().shutdown(Tcp::socket::shutdown_both, ignored);
      close();
    }
  }

  // While a stream is written nothing should arrive; a read tells when the peer leaves.
  void watch_for_hangup() {
    stream_.async_read_some(asio::buffer(piece_, sizeof piece_), [self = self()](ErrorCode ec, size_t) {
      if (ec) self->hang_up();  // bytes are ignored: the connection closes after the stream
    });
  }

  void hang_up() {
    if (broken_) return;
    broken_ = true;
    auto keep = std::move(hold_);
    auto callback = std::move(on_close_);
    on_close_ = nullptr;
    close();
    if (callback) callback();
  }

  Stream stream_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  char piece_[16 * 1024];
  Request request_;
  size_t received_ = 0;
  std::string method_;
  unsigned http_version_ = 11;
  bool keep_alive_ = true;
  State state_ = State::kReading;
  uint64_t exchange_ = 0;
  bool chunked_ = false;
  bool broken_ = false;
  std::string out_;
  std::string in_flight_;
  std::function<void()> on_close_;
  std::shared_ptr<SessionBase> hold_;
};

class BeastServer : public Server, public std::enable_shared_from_this<BeastServer> {
 public:
  BeastServer(AsioReactor& reactor, ServerOptions options, Handler handler)
      : io_(reactor.io_context()), acceptor_(io_), retry_(io_), tls_(asio::ssl::context::tls_server) {
    shared_ = std::make_shared<Shared>();
    shared_->options = std::move(options);
    shared_->handler = std::move(handler);
    shared_->clock = &reactor.clock();
  }
  ~BeastServer() override { stop(); }

  Result<void> listen() {
    const ServerOptions& o = shared_->options;
    const std::string where = o.bind_address + ":" + std::to_string(o.port);
    auto wrong = [&](const std::string& what) {
      return fail(Code::kInvalidArgument, "cannot listen on " + where + ": " + what);
    };
    ErrorCode ec;
    const auto address = asio::ip::make_address(o.bind_address, ec);
    if (ec) return wrong("the bind address is no IP address");
    if (!o.certificate_pem.empty()) {
      use_tls_ = true;
      tls_.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                       asio::ssl::context::no_tlsv1_1);
      tls_.use_certificate_chain(asio::buffer(o.certificate_pem), ec);
      if (ec) return wrong("the certificate is no PEM certificate: " + ec.message());
      tls_.use_private_key(asio::buffer(o.key_pem), asio::ssl::context::pem, ec);
      if (ec) return wrong("the private key does not fit the certificate: " + ec.message());
    }
    const Tcp::endpoint endpoint(address, o.port);
    acceptor_.open(endpoint.protocol(), ec);
    if (ec) return wrong(ec.message());
    acceptor_.set_option(asio::socket_base::reuse_address(true), ec);
    acceptor_.bind(endpoint, ec);
    if (ec) return wrong(ec.message());
    acceptor_.listen(asio::socket_base::max_listen_connections, ec);
    if (ec) return wrong(ec.message());
    port_ = acceptor_.local_endpoint(ec).port();
    alive_ = std::make_shared<bool>(true);
    accept();
    return {};
  }

  uint16_t port() const override { return port_; }
  size_t connections() const override { return shared_->sessions.size(); }

  void stop() override {
    if (alive_) *alive_ = false;
    ErrorCode ignored;
    acceptor_.close(ignored);
    retry_.cancel();
    for (SessionBase* s : std::vector<SessionBase*>(shared_->sessions.begin(), shared_->sessions.end())) s->close();
  }

 private:
  void accept() {
    acceptor_.async_accept([this, alive = alive_](ErrorCode ec, Tcp::socket socket) {
      if (!*alive || ec == asio::error::operation_aborted) return;
      if (!ec && shared_->sessions.size() < shared_->options.max_connections) {
        ErrorCode ignored;
        socket.set_option(Tcp::no_delay(true), ignored);
        begin(std::move(socket));
      }
      if (ec) {
        accept_later();
      } else {
        accept();
      }
    });
  }

  // Out of file descriptors, say: the waiting connection makes the next try fail at once as well.
  void accept_later() {
    retry_.expires_after(kAcceptRetry);
    retry_.async_wait([this, alive = alive_](ErrorCode ec) {
      if (*alive && !ec) accept();
    });
  }

  void begin(Tcp::socket socket) {
    std::shared_ptr<SessionBase> session;
    if (use_tls_) {
      session = std::make_shared<Session<TlsStream>>(shared_, TlsStream(beast::tcp_stream(std::move(socket)), tls_));
    } else {
      session = std::make_shared<Session<PlainStream>>(shared_, PlainStream(std::move(socket)));
    }
    session->start();
  }

  asio::io_context& io_;
  Tcp::acceptor acceptor_;
  asio::steady_timer retry_;
  asio::ssl::context tls_;
  bool use_tls_ = false;
  uint16_t port_ = 0;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<bool> alive_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(AsioReactor& reactor, ServerOptions options, Handler handler) {
  auto server = std::make_unique<BeastServer>(reactor, std::move(options), std::move(handler));
  if (auto listening = server->listen(); !listening) return fail(listening.error());
  return server;
}

}  // namespace dra::http
