// Listens, accepts and holds the certificate. What happens on a connection is in socket_session.cc.
#include "pkg/http/server.h"

#include <sys/resource.h>

#include <utility>

// asio after <utility> for Boost 1.74
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <vector>

#include "pkg/http/socket_session.h"
#include "pkg/reactor/asio_reactor.h"

namespace dra::http {

namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptRetry{100};

class SocketServer : public Server {
 public:
  SocketServer(AsioReactor& reactor, ServerOptions options, Handler handler)
      : io_(reactor.io_context()), acceptor_(io_), retry_(io_) {
    state_ = std::make_shared<ServerState>(fit_to_descriptors(std::move(options)));
    state_->handler = std::move(handler);
    state_->clock = &reactor.clock();
    state_->turns = std::make_shared<Turns>([this](Turns::Task task) { asio::post(io_, std::move(task)); },
                                            [] { return std::chrono::steady_clock::now().time_since_epoch(); },
                                            [state = state_.get()] { return state->stream_makes_progress(); });
  }
  ~SocketServer() override { stop(); }

  Result<void> listen() {
    const ServerOptions& o = state_->options;
    const std::string where = o.bind_address + ":" + std::to_string(o.port);
    auto wrong = [&](const std::string& what) {
      return fail(Code::kInvalidArgument, "cannot listen on " + where + ": " + what);
    };
    ErrorCode ec;
    const auto address = asio::ip::make_address(o.bind_address, ec);
    if (ec) return wrong("the bind address is not an IP address");
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
  size_t connections() const override { return state_->table.size(); }

  void in_turn(std::function<void()> work, const std::string& flow) override {
    state_->turns->add(std::move(work), flow);
  }

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
    state_->turns->drop();
    std::vector<std::shared_ptr<Session>> sessions;
    for (const auto& [place, session] : state_->sessions) sessions.push_back(session->shared_from_this());
    for (const auto& session : sessions) session->abandon();
  }

 private:
  static ServerOptions fit_to_descriptors(ServerOptions options) {
    options.max_connections = connections_that_fit(options);
    return options;
  }

  void accept() {
    acceptor_.async_accept([this, alive = alive_](ErrorCode ec, Tcp::socket socket) {
      if (!*alive || ec == asio::error::operation_aborted) return;
      if (!ec) {
        ErrorCode ignored;
        socket.set_option(Tcp::no_delay(true), ignored);
        socket.set_option(asio::socket_base::send_buffer_size(state_->options.send_buffer_bytes), ignored);
        begin(std::move(socket));
        return accept();
      }
      const auto oldest = state_->table.first_to_go();
      const bool no_descriptor =
          ec == asio::error::no_descriptors || ec == boost::system::errc::too_many_files_open_in_system;
      if (!no_descriptor || !oldest) return accept_later();
      state_->give_up(*oldest);
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
    const auto session = make_session(state_, peer, std::move(socket), tls_.get());
    state_->settle(session->place());
    session->start();
  }

  asio::io_context& io_;
  Tcp::acceptor acceptor_;
  asio::steady_timer retry_;
  std::shared_ptr<asio::ssl::context> tls_;  // null: plain HTTP
  uint16_t port_ = 0;
  std::shared_ptr<ServerState> state_;
  std::shared_ptr<bool> alive_;
};

}  // namespace

size_t connections_that_fit(const ServerOptions& options) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return options.max_connections;
  return std::min<size_t>(options.max_connections, std::max<size_t>(files.rlim_cur / 2, 16));
}

Result<std::unique_ptr<Server>> Server::start(AsioReactor& reactor, ServerOptions options, Handler handler) {
  auto server = std::make_unique<SocketServer>(reactor, std::move(options), std::move(handler));
  if (auto listening = server->listen(); !listening) return fail(listening.error());
  return server;
}

}  // namespace dra::http
