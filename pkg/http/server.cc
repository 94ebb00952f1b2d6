// The only file that uses Beast. It parses requests and owns sockets; answers are written as text.
#include "pkg/http/server.h"

#include <sys/resource.h>

#include <limits>
#include <utility>

// asio before beast; <utility> before both for Boost 1.74
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <map>
#include <optional>

#include "pkg/http/connection_table.h"
#include "pkg/http/turns.h"
#include "pkg/reactor/asio_reactor.h"

namespace dra::http {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptRetry{100};
constexpr size_t kHeadReadBytes = 4 * 1024;  // cost of a connection that waits for a request
constexpr size_t kReadBytes = 16 * 1024;
// How long a peer may take to close a TLS connection.
constexpr std::chrono::seconds kShutdownTime{5};

std::string http_date(WallTime now) {
  const std::time_t t =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::system_clock::duration>(now));
  std::tm tm{};
  gmtime_r(&t, &tm);
  char text[40];
  const size_t n = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
  return {text, n};
}

// An IPv4 peer on a dual-stack socket counts under its IPv4 address.
std::string address_text(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  return address.to_string();
}

class SessionBase;

// State that sessions share with the server that created them.
struct Shared {
  explicit Shared(ServerOptions o)
      : options(std::move(o)),
        table({options.max_connections, options.max_connections_per_peer, options.max_fresh_connections,
               options.max_idle_connections, options.max_answering_connections, options.max_received_bytes}) {}

  // Closes connections until the limits hold again.
  void settle(ConnectionTable::Id changed);
  void give_up(ConnectionTable::Id id);

  ServerOptions options;
  Handler handler;
  std::shared_ptr<Turns> turns;
  const Clock* clock = nullptr;
  ConnectionTable table;
  std::map<ConnectionTable::Id, SessionBase*> sessions;  // all live sessions, including those given up
};

class SessionBase : public std::enable_shared_from_this<SessionBase> {
 public:
  SessionBase(std::shared_ptr<Shared> shared, const std::string& peer)
      : shared_(std::move(shared)), place_(shared_->table.add(peer)) {
    shared_->sessions.emplace(place_, this);
  }
  virtual ~SessionBase() {
    shared_->table.remove(place_);
    shared_->sessions.erase(place_);
  }
  virtual void start() = 0;
  virtual void close() = 0;
  ConnectionTable::Id place() const { return place_; }

  // The Responder's side. `id` distinguishes answers to this request from late ones to an earlier request.
  virtual void send(uint64_t id, Response response) = 0;
  virtual void begin_stream(uint64_t id, Response head) = 0;
  virtual bool write(uint64_t id, std::string_view piece) = 0;
  virtual void end(uint64_t id) = 0;
  virtual size_t buffered(uint64_t id) const = 0;
  virtual void on_close(uint64_t id, std::function<void()> callback) = 0;

 protected:
  // May close connections, this one included.
  void enter(Phase phase) {
    shared_->table.enter(place_, phase);
    shared_->settle(place_);
  }

  std::shared_ptr<Shared> shared_;
  const ConnectionTable::Id place_;
};

void Shared::settle(ConnectionTable::Id changed) {
  while (const auto id = table.excess(changed)) give_up(*id);
}

void Shared::give_up(ConnectionTable::Id id) {
  table.remove(id);
  if (const auto found = sessions.find(id); found != sessions.end()) found->second->close();
}

// A body as it arrives: kept up to its limit, only counted beyond it.
struct Body {
  struct value_type {
    std::string text;
    size_t limit = 0;
    bool too_large = false;
  };
  class reader {
   public:
    template <bool IsRequest, class Fields>
    reader(beast::http::header<IsRequest, Fields>&, value_type& value) : value_(value) {}
    void init(const boost::optional<uint64_t>&, ErrorCode& ec) { ec = {}; }
    template <class Buffers>
    size_t put(const Buffers& buffers, ErrorCode& ec) {
      ec = {};
      size_t taken = 0;
      for (auto it = asio::buffer_sequence_begin(buffers); it != asio::buffer_sequence_end(buffers); ++it) {
        const asio::const_buffer piece = *it;
        taken += piece.size();
        append({static_cast<const char*>(piece.data()), piece.size()});
      }
      return taken;
    }
    void finish(ErrorCode& ec) { ec = {}; }

   private:
    void append(std::string_view piece) {
      if (value_.too_large) return;
      if (value_.text.size() + piece.size() <= value_.limit) {
        value_.text += piece;
        return;
      }
      value_.too_large = true;
      std::string().swap(value_.text);
    }
    value_type& value_;
  };
};

// The handler's reference to an exchange. It does not keep the connection open.
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
  Session(std::shared_ptr<Shared> shared, const std::string& peer, Stream stream)
      : SessionBase(std::move(shared), peer),
        stream_(std::move(stream)),
        buffer_(shared_->options.max_header_bytes + kReadBytes) {}

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
    enter(Phase::kAnswering);
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
    keep_alive_ = false;  // the read that detects hang-ups cannot be cancelled inside a TLS record
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
    enter(Phase::kAnswering);
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
  using Parser = beast::http::request_parser<Body>;

  std::shared_ptr<Session> self() { return std::static_pointer_cast<Session>(shared_from_this()); }
  beast::tcp_stream& lowest() { return beast::get_lowest_layer(stream_); }

  void read_head() {
    state_ = State::kReading;
    ++exchange_;
    request_ = {};
    received_ = 0;
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(shared_->options.max_header_bytes));
    // Body counts and limits the bytes. (body_limit(none) makes Boost 1.74 reject every body.)
    parser_->body_limit(std::numeric_limits<uint64_t>::max());
    parser_->get().body().limit = shared_->options.max_body_bytes;
    const bool first = exchange_ == 1;
    if (!first && buffer_.size() == 0) {
      buffer_.shrink_to_fit();
      enter(Phase::kIdle);
      if (!open()) return;
    }
    deadline_ = Time::clock::now() + (first ? shared_->options.head_timeout : shared_->options.idle_timeout);
    started_ = false;
    go_on();
  }

  // Parses what has arrived and reads more until the request is complete. Counts the bytes read here, before the
  // parser: sizes, extensions and trailers of chunks cost a peer as much as a body does.
  void go_on() {
    if (buffer_.size() > 0 && !started_) begin_request();
    while (!parser_->is_done()) {
      if (buffer_.size() == 0) return read_more();
      ErrorCode ec;
      const bool had_head = parser_->is_header_done();
      const size_t used = parser_->put(buffer_.data(), ec);
      buffer_.consume(used);
      if (!had_head && parser_->is_header_done()) {
        if (!got_head()) return;
        continue;
      }
      if (ec == beast::http::error::need_more) return read_more();
      if (ec) return refuse_malformed(ec);
    }
    got_body();
  }

  void begin_request() {
    started_ = true;
    received_ = buffer_.size();
    deadline_ = Time::clock::now() + shared_->options.head_timeout;
    if (exchange_ > 1) enter(Phase::kReading);
  }

  void read_more() {
    if (!open()) return;
    const ServerOptions& o = shared_->options;
    if (buffer_.size() >= o.max_header_bytes)
      return refuse(431, "the head, or what stands around a chunk, is too long");
    if (received_ > o.max_header_bytes + o.max_drain_bytes) return cut_off();
    lowest().expires_at(deadline_);
    const size_t wanted = parser_->is_header_done() ? kReadBytes : kHeadReadBytes;
    stream_.async_read_some(buffer_.prepare(wanted),
                            [self = self()](ErrorCode ec, size_t n) { self->got_bytes(ec, n); });
  }

  void got_bytes(ErrorCode ec, size_t n) {
    if (ec) return;  // disconnected, or too slow
    buffer_.commit(n);
    received_ += n;
    shared_->table.set_received(place_, parser_->get().body().text.capacity() + buffer_.capacity());
    shared_->settle(place_);
    if (open()) go_on();
  }

  // The request exceeds even the limit for draining a large body: the handler answers, then the connection closes.
  void cut_off() {
    keep_alive_ = false;
    parser_->get().body().too_large = true;
    parser_->get().body().text.clear();
    if (parser_->is_header_done()) return handle();
    refuse(431, "the head is too long");
  }

  bool got_head() {
    const auto& m = parser_->get();
    method_ = std::string(m.method_string());
    request_.method = method_;
    request_.target = std::string(m.target());
    http_version_ = m.version();
    keep_alive_ = m.keep_alive();
    for (const auto& f : m) request_.headers.add(std::string(f.name_string()), std::string(f.value()));
    ErrorCode ignored;
    const auto peer = lowest().socket().remote_endpoint(ignored);
    if (!ignored) request_.remote = address_text(peer.address()) + ":" + std::to_string(peer.port());
    const ServerOptions& o = shared_->options;
    if (std::find(o.methods.begin(), o.methods.end(), method_) == o.methods.end()) {
      refuse(405, "the methods here are " + method_list());
      return false;
    }
    if (!codings_known()) {
      refuse(501, "the only transfer coding is chunked");
      return false;
    }
    if (parser_->is_done()) return true;
    if (o.max_body_bytes == 0) {
      refuse(413, "requests have no body here");
      return false;
    }
    parser_->eager(true);
    deadline_ = Time::clock::now() + o.body_timeout;
    if (request_.headers.get("Expect") != "100-continue") return true;
    auto text = std::make_shared<std::string>("HTTP/1.1 100 Continue\r\n\r\n");
    lowest().expires_at(deadline_);
    asio::async_write(stream_, asio::buffer(*text), [self = self(), text](ErrorCode e, size_t) {
      if (!e && self->open()) self->go_on();
    });
    return false;
  }

  std::string method_list() const {
    std::string list;
    for (const auto& m : shared_->options.methods) list += (list.empty() ? "" : ", ") + m;
    return list;
  }

  void got_body() {
    Body::value_type& body = parser_->get().body();
    request_.body_too_large = body.too_large;
    request_.body = std::move(body.text);
    handle();
  }

  void handle() {
    state_ = State::kHandling;
    shared_->table.set_received(place_, 0);
    enter(Phase::kBusy);
    if (!open()) return;
    lowest().expires_never();
    auto responder = std::make_shared<SessionResponder>(weak_from_this(), exchange_);
    shared_->turns->add([self = self(), responder = std::move(responder)] {
      if (!self->open()) return;
      self->hold_ = self;  // keeps the connection alive while its request is being answered
      self->shared_->handler(std::move(self->request_), responder);
    });
  }

  void refuse_malformed(ErrorCode ec) { refuse(ec == beast::http::error::header_limit ? 431 : 400, ec.message()); }

  bool open() { return lowest().socket().is_open(); }

  // With any other coding, nobody knows where the body ends and the next request begins.
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
    if (status == 405) r.headers.add("Allow", method_list());
    shared_->table.set_received(place_, 0);
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
    if (!open()) return;
    if (!keep_alive_) {
      shut_down();
      return;
    }
    if (buffer_.size() == 0) return read_head();
    // Posted, not called: requests waiting in the buffer would recurse.
    asio::post(stream_.get_executor(), [self = self()] {
      if (self->open()) self->read_head();
    });
  }

  void shut_down() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      lowest().expires_after(kShutdownTime);
      stream_.async_shutdown([self = self()](ErrorCode) { self->close(); });
    } else {
      ErrorCode ignored;
      lowest().socket().shutdown(Tcp::socket::shutdown_both, ignored);
      close();
    }
  }

  // Nothing should arrive while a stream is written; a pending read reports that the peer has left.
  void watch_for_hangup() {
    stream_.async_read_some(asio::buffer(&late_byte_, 1), [self = self()](ErrorCode ec, size_t) {
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

  using Time = std::chrono::steady_clock::time_point;

  Stream stream_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  char late_byte_ = 0;
  Request request_;
  size_t received_ = 0;   // bytes of this request
  bool started_ = false;  // its first byte has arrived
  Time deadline_{};       // for the head, the body or the wait for a request
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
      : io_(reactor.io_context()), acceptor_(io_), retry_(io_) {
    shared_ = std::make_shared<Shared>(fit_to_descriptors(std::move(options)));
    shared_->handler = std::move(handler);
    shared_->clock = &reactor.clock();
    shared_->turns = std::make_shared<Turns>([this](Turns::Task task) { asio::post(io_, std::move(task)); },
                                             [] { return std::chrono::steady_clock::now().time_since_epoch(); });
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
      if (auto ok = set_certificate({o.certificate_pem, o.key_pem}); !ok) return wrong(ok.error().message());
    }
    // An unspecified address means both families, if the machine has both.
    if (!address.is_unspecified()) {
      ec = bind_to({address, o.port});
    } else if (ec = bind_to({asio::ip::address_v6::any(), o.port}); ec) {
      ec = bind_to({asio::ip::address_v4::any(), o.port});
    }
    if (ec) return wrong(ec.message());
    acceptor_.listen(asio::socket_base::max_listen_connections, ec);
    if (ec) return wrong(ec.message());
    port_ = acceptor_.local_endpoint(ec).port();
    alive_ = std::make_shared<bool>(true);
    accept();
    return {};
  }

  ErrorCode bind_to(const Tcp::endpoint& endpoint) {
    ErrorCode ec, ignored;
    if (acceptor_.is_open()) acceptor_.close(ignored);
    acceptor_.open(endpoint.protocol(), ec);
    if (ec) return ec;
    acceptor_.set_option(asio::socket_base::reuse_address(true), ec);
    if (endpoint.address().is_v6() && endpoint.address().is_unspecified())
      acceptor_.set_option(asio::ip::v6_only(false), ec);
    acceptor_.bind(endpoint, ec);
    return ec;
  }

  uint16_t port() const override { return port_; }
  size_t connections() const override { return shared_->table.size(); }

  Result<void> set_certificate(const Certificate& certificate) override {
    auto made = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    SSL_CTX* const native = made->native_handle();
    SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
    SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_COMPRESSION);
    // Saves memory: buffers of idle connections, and cached sessions that nobody resumes.
    SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
    ErrorCode ec;
    made->use_certificate_chain(asio::buffer(certificate.certificate_pem), ec);
    if (ec) return fail(Code::kInvalidArgument, "the certificate is not a PEM certificate: " + ec.message());
    made->use_private_key(asio::buffer(certificate.key_pem), asio::ssl::context::pem, ec);
    if (ec) return fail(Code::kInvalidArgument, "the private key does not fit the certificate: " + ec.message());
    tls_ = std::move(made);
    return {};
  }

  void stop() override {
    if (alive_) *alive_ = false;
    ErrorCode ignored;
    acceptor_.close(ignored);
    retry_.cancel();
    shared_->turns->drop();
    for (const auto& [place, session] : shared_->sessions) session->close();
  }

 private:
  // Limits connections so that descriptors stay free for the rest of the process.
  static ServerOptions fit_to_descriptors(ServerOptions options) {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY) {
      options.max_connections = std::min<size_t>(options.max_connections, std::max<size_t>(files.rlim_cur / 2, 16));
    }
    return options;
  }

  void accept() {
    acceptor_.async_accept([this, alive = alive_](ErrorCode ec, Tcp::socket socket) {
      if (!*alive || ec == asio::error::operation_aborted) return;
      if (!ec) {
        ErrorCode ignored;
        socket.set_option(Tcp::no_delay(true), ignored);
        begin(std::move(socket));
        return accept();
      }
      const auto oldest = shared_->table.first_to_go();
      const bool no_descriptor =
          ec == asio::error::no_descriptors || ec == boost::system::errc::too_many_files_open_in_system;
      if (!no_descriptor || !oldest) return accept_later();
      shared_->give_up(*oldest);
      accept();
    });
  }

  // For example out of file descriptors: the waiting connection would make an immediate retry fail too.
  void accept_later() {
    retry_.expires_after(kAcceptRetry);
    retry_.async_wait([this, alive = alive_](ErrorCode ec) {
      if (*alive && !ec) accept();
    });
  }

  void begin(Tcp::socket socket) {
    ErrorCode gone;
    const std::string peer = address_text(socket.remote_endpoint(gone).address());
    if (gone) return;
    std::shared_ptr<SessionBase> session;
    if (tls_) {
      // OpenSSL counts references to the context, so it outlives the server if needed.
      session =
          std::make_shared<Session<TlsStream>>(shared_, peer, TlsStream(beast::tcp_stream(std::move(socket)), *tls_));
    } else {
      session = std::make_shared<Session<PlainStream>>(shared_, peer, PlainStream(std::move(socket)));
    }
    shared_->settle(session->place());
    session->start();
  }

  asio::io_context& io_;
  Tcp::acceptor acceptor_;
  asio::steady_timer retry_;
  std::shared_ptr<asio::ssl::context> tls_;  // null: plain HTTP
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
