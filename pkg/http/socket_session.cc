// The only file that uses Beast. It parses requests and owns sockets; answers are written as text.
#include "pkg/http/socket_session.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <chrono>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "pkg/http/answer_text.h"

namespace dra::http {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr size_t kHeadReadBytes = 4 * 1024;  // cost of a connection that waits for a request
constexpr size_t kReadBytes = 16 * 1024;
constexpr size_t kLag = 256 * 1024;       // bytes to send from which an answer lags
constexpr size_t kStreamLag = 16 * 1024;  // and a stream, if all streams together have too much
constexpr size_t kGoesOn = 32 * 1024;     // bytes to send up to which the writer of a stream goes on
// A peer that has read nothing for so long does not wait for the end of a stream.
constexpr std::chrono::seconds kReadsNothing{1};
// How long a peer may take to close a TLS connection.
constexpr std::chrono::seconds kShutdownTime{5};

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

using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

template <typename Stream>
class SocketSession : public Session {
  using Time = std::chrono::steady_clock::time_point;

 public:
  SocketSession(std::shared_ptr<ServerState> server, const std::string& peer, Stream stream)
      : Session(std::move(server), peer),
        stream_(std::move(stream)),
        buffer_(server_->options.max_header_bytes + kReadBytes) {}

  ~SocketSession() override { count(0); }

  void start() override {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      lowest().expires_after(server_->options.handshake_timeout);
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

  void abandon() override {
    close();
    hold_.reset();
  }

  std::optional<Time> lagging_since(bool as_stream) const override {
    if (as_stream ? !is_stream_ || unsent_ <= kStreamLag : unsent_ <= kLag) return std::nullopt;
    return sending_since_;
  }

  void cut_off_peer() override {
    cut_off_ = true;
    std::string().swap(out_);
    count(0);
    asio::post(stream_.get_executor(), [self = self()] { self->hang_up(); });
  }

  void send(uint64_t id, Response response) override {
    if (id != exchange_ || state_ != State::kHandling) return;
    state_ = State::kFinishing;
    enter(Phase::kAnswering);
    const bool bodiless = method_ == "HEAD" || response.status == 304;
    std::string head = head_of(response);
    if (response.status != 304) head += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
    head += "\r\n";
    out_ += head;
    if (!bodiless) out_ += response.body;
    flush();
  }

  void begin_stream(uint64_t id, Response head) override {
    if (id != exchange_ || state_ != State::kHandling) return;
    state_ = State::kStreaming;
    is_stream_ = true;
    chunked_ = http_version_ >= 11;
    keep_alive_ = false;  // the read that detects hang-ups cannot be cancelled inside a TLS record
    out_ += head_of(head) + (chunked_ ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
    if (!head.body.empty()) append_piece(head.body);
    watch_for_hangup();
    flush();
  }

  bool write(uint64_t id, std::string_view piece) override {
    if (id != exchange_ || state_ != State::kStreaming || broken_ || cut_off_) return false;
    append_piece(piece);
    if (buffered(id) > server_->options.max_stream_buffer_bytes) {
      hang_up();
      return false;
    }
    flush();
    return !cut_off_;
  }

  void end(uint64_t id) override {
    if (id != exchange_ || state_ != State::kStreaming) return;
    state_ = State::kFinishing;
    enter(Phase::kAnswering);
    on_close_ = nullptr;
    // It would hold the connection until the time for a write is over.
    if (buffered(id) > kGoesOn && Time::clock::now() - sending_since_ > kReadsNothing) return cut_off_peer();
    if (chunked_) out_ += "0\r\n\r\n";
    flush();
  }

  size_t buffered(uint64_t id) const override { return id == exchange_ ? out_.size() + in_flight_.size() : 0; }

  void when_accepted(uint64_t id, std::function<void()> next) override {
    if (id != exchange_ || state_ != State::kStreaming || broken_ || cut_off_) return;
    next_ = std::move(next);
    go_on_streaming();
  }

  void in_turn(uint64_t id, std::function<void()> next) override {
    if (id != exchange_ || state_ != State::kHandling) return;
    server_->turns->add(
        [self = self(), id, next = std::move(next)] {
          if (self->open() && id == self->exchange_ && self->state_ == State::kHandling) next();
        },
        flow_);
  }

  void on_close(uint64_t id, std::function<void()> callback) override {
    if (id == exchange_ && state_ == State::kStreaming) on_close_ = std::move(callback);
  }

 private:
  enum class State { kReading, kHandling, kStreaming, kFinishing };
  using Parser = beast::http::request_parser<Body>;

  std::shared_ptr<SocketSession> self() { return std::static_pointer_cast<SocketSession>(shared_from_this()); }
  beast::tcp_stream& lowest() { return beast::get_lowest_layer(stream_); }

  void read_head() {
    state_ = State::kReading;
    ++exchange_;
    request_ = {};
    received_ = 0;
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(server_->options.max_header_bytes));
    // Body counts and limits the bytes. (body_limit(none) makes Boost 1.74 reject every body.)
    parser_->body_limit(std::numeric_limits<uint64_t>::max());
    parser_->get().body().limit = server_->options.max_body_bytes;
    const bool first = exchange_ == 1;
    if (!first && buffer_.size() == 0) {
      buffer_.shrink_to_fit();
      enter(Phase::kIdle);
      if (!open()) return;
    }
    deadline_ = Time::clock::now() + (first ? server_->options.head_timeout : server_->options.idle_timeout);
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
    deadline_ = Time::clock::now() + server_->options.head_timeout;
    if (exchange_ > 1) enter(Phase::kReading);
  }

  void read_more() {
    if (!open()) return;
    const ServerOptions& o = server_->options;
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
    server_->table.set_received(place_, parser_->get().body().text.capacity() + buffer_.capacity());
    server_->settle(place_);
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
    const ServerOptions& o = server_->options;
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
    for (const auto& m : server_->options.methods) list += (list.empty() ? "" : ", ") + m;
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
    server_->table.set_received(place_, 0);
    enter(Phase::kBusy);
    if (!open()) return;
    lowest().expires_never();
    auto responder = make_responder(weak_from_this(), exchange_);
    flow_ = server_->options.flow ? server_->options.flow(request_) : std::string();
    server_->turns->add(
        [self = self(), responder = std::move(responder)] {
          if (!self->open()) return;
          self->hold_ = self;  // keeps the connection alive while its request is being answered
          self->server_->handler(std::move(self->request_), responder);
        },
        flow_);
  }

  void go_on_streaming() {
    if (!next_ || out_.size() + in_flight_.size() > kGoesOn) return;
    server_->turns->add_portion(
        [self = self(), next = std::exchange(next_, nullptr)] {
          if (self->open() && self->state_ == State::kStreaming) next();
        },
        flow_);
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
    server_->table.set_received(place_, 0);
    hold_ = shared_from_this();
    send(exchange_, std::move(r));
  }

  std::string head_of(const Response& response) const {
    return head_text(response, {http_version_ >= 11, keep_alive_}, server_->clock->wall_now());
  }

  void append_piece(std::string_view piece) {
    if (chunked_)
      append_chunk(out_, piece);
    else
      out_ += piece;
  }

  void flush() {
    if (in_flight_.empty()) sending_since_ = Time::clock::now();
    count(broken_ || cut_off_ ? 0 : out_.size() + in_flight_.size());
    if (broken_) {
      hold_.reset();
      return;
    }
    if (!in_flight_.empty() || cut_off_) return;
    if (out_.empty()) {
      if (state_ == State::kFinishing) finished();
      return;
    }
    in_flight_.swap(out_);
    lowest().expires_after(server_->options.write_timeout);
    const auto after_each_record = [this](ErrorCode ec, size_t sent) {
      if (state_ == State::kStreaming) server_->stream_sent_at = Time::clock::now();
      return asio::transfer_all()(ec, sent);
    };
    asio::async_write(stream_, asio::buffer(in_flight_), after_each_record, [self = self()](ErrorCode ec, size_t) {
      self->in_flight_.clear();
      if (self->in_flight_.capacity() > kStreamLag) std::string().swap(self->in_flight_);
      if (ec) {
        self->hang_up();
        return;
      }
      self->lowest().expires_never();
      self->flush();
      self->go_on_streaming();
    });
  }

  // May cut off peers, this one included.
  void count(size_t unsent) {
    server_->unsent += unsent - unsent_;
    if (is_stream_) server_->unsent_of_streams += unsent - unsent_;
    const bool more = unsent > unsent_;
    unsent_ = unsent;
    const bool sends = unsent_ > kGoesOn && state_ == State::kStreaming;
    if (sends != std::exchange(sends_stream_, sends)) server_->sending_streams += sends ? 1 : -1;
    if (more) server_->settle_unsent();
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
    count(0);
    auto keep = std::move(hold_);
    auto callback = std::move(on_close_);
    on_close_ = nullptr;
    next_ = nullptr;
    close();
    if (callback) callback();
  }

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
  bool is_stream_ = false;  // and stays one: its connection closes after it
  bool broken_ = false;
  bool cut_off_ = false;  // until hang_up()
  size_t unsent_ = 0;     // as last counted
  bool sends_stream_ = false;
  Time sending_since_{};
  std::string out_;
  std::string in_flight_;
  std::string flow_;  // of the request being answered
  std::function<void()> on_close_;
  std::function<void()> next_;  // of when_accepted()
  std::shared_ptr<Session> hold_;
};

}  // namespace

std::string address_text(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  return address.to_string();
}

std::shared_ptr<Session> make_session(std::shared_ptr<ServerState> server, const std::string& peer, Tcp::socket socket,
                                      asio::ssl::context* tls) {
  beast::tcp_stream stream(std::move(socket));
  if (!tls) return std::make_shared<SocketSession<PlainStream>>(std::move(server), peer, std::move(stream));
  return std::make_shared<SocketSession<TlsStream>>(std::move(server), peer, TlsStream(std::move(stream), *tls));
}

}  // namespace dra::http
