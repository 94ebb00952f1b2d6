#include "pkg/manager/serve/serving.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "pkg/base/strings.h"
#include "pkg/log/log.h"
#include "pkg/reactor/asio_reactor.h"

namespace dra::manager {

namespace {

constexpr Duration kBeat = std::chrono::milliseconds(200);
constexpr Duration kCertificateCheck = std::chrono::minutes(1);
constexpr Duration kMetricsAge = std::chrono::seconds(1);
constexpr size_t kMaxAsked = 16;  // requests waiting for the reactor

// The reactor's last report. Safe from any thread.
class HealthBoard {
 public:
  struct Report {
    std::vector<HealthCheck> live;
    std::vector<HealthCheck> ready;
    MonoTime at{};
  };
  void set(Report report) {
    const std::lock_guard lock(mutex_);
    report_ = std::move(report);
  }
  Report read() const {
    const std::lock_guard lock(mutex_);
    return report_;
  }

 private:
  mutable std::mutex mutex_;
  Report report_;
};

http::Response refusal(int status, const std::string& why) {
  http::Response response;
  response.status = status;
  response.headers.add("Content-Type", "text/plain; charset=utf-8");
  response.headers.add("X-Content-Type-Options", "nosniff");
  if (status == 401) response.headers.add("WWW-Authenticate", "Bearer");
  if (status == 503) response.headers.add("Retry-After", "1");
  response.body = why + "\n";
  return response;
}

http::Response refusal(int status) {
  if (status == 401) return refusal(status, "a bearer token that the API server knows is needed");
  if (status == 403) return refusal(status, "the bearer of this token may not get this path");
  return refusal(503, "the API server could not be asked who may read this; try again");
}

std::string bearer_token(const http::Request& request) {
  const std::string_view header = request.headers.get("Authorization");
  if (header.size() < 7 || to_lower(header.substr(0, 7)) != "bearer ") return "";
  return std::string(trim(header.substr(7)));
}

bool is_probe(const std::string& path) {
  for (const std::string_view root : {"/healthz", "/livez", "/readyz"})
    if (path == root || (path.starts_with(root) && path[root.size()] == '/')) return true;
  return false;
}

// Small limits: requests here need no more, and strangers can fill whatever is reserved.
http::ServerOptions server_options(const std::string& address, int port) {
  http::ServerOptions options;
  options.bind_address = address;
  options.port = static_cast<uint16_t>(port);
  options.methods = {"GET", "HEAD"};
  options.max_body_bytes = 0;
  options.max_header_bytes = 16 * 1024;
  options.max_connections = 256;
  options.max_connections_per_peer = 128;
  options.max_fresh_connections = 64;
  options.max_idle_connections = 64;
  options.max_answering_connections = 32;
  options.max_received_bytes = size_t{4} << 20;
  options.write_timeout = std::chrono::seconds(10);
  return options;
}

const std::vector<double> kTaskSeconds = {0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5};

}  // namespace

metrics::Histogram& reactor_delays(metrics::Registry& registry) {
  return registry.histogram("dra_reactor_delay_seconds",
                            "[ALPHA] How late the manager's main thread comes to what is due, five times a second.",
                            {0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 20});
}

metrics::Histogram& reactor_tasks(metrics::Registry& registry) {
  return registry.histogram("dra_reactor_task_seconds", "[ALPHA] How long each task of the manager's main thread took.",
                            kTaskSeconds);
}

metrics::Histogram& reactor_task_processor(metrics::Registry& registry) {
  return registry.histogram("dra_reactor_task_cpu_seconds",
                            "[ALPHA] Processor time of each task of the manager's main thread.", kTaskSeconds);
}

struct Serving::Core : std::enable_shared_from_this<Core> {
  Core(Reactor& r, EndpointSources s, AccessReview& a, ServingOptions o)
      : reactor(r),
        sources(std::move(s)),
        access(a),
        options(std::move(o)),
        delays(reactor_delays(*sources.registry)),
        front(r.clock()) {}

  Result<void> listen() {
    beat();
    if (options.metrics_port >= 0) {
      auto server = begin(server_options(options.bind_address, options.metrics_port), false);
      if (!server)
        return fail(Code::kInvalidArgument,
                    server.error().message() + "; choose another --metrics-port or --bind-address");
      plain = std::move(*server);
    }
    if (options.secure_port <= 0) return {};
    auto first = options.certificate();
    if (!first) return fail(first.error());
    served_certificate = first->certificate_pem + first->key_pem;
    http::ServerOptions with_tls = server_options(options.bind_address, options.secure_port);
    with_tls.certificate_pem = first->certificate_pem;
    with_tls.key_pem = first->key_pem;
    auto server = begin(std::move(with_tls), true);
    if (!server)
      return fail(Code::kInvalidArgument,
                  server.error().message() + "; look at --secure-port, --bind-address and --tls-cert-file");
    secure = std::move(*server);
    check_certificate_later();
    return {};
  }

  Result<std::unique_ptr<http::Server>> begin(http::ServerOptions with, bool is_secure) {
    const std::string address = with.bind_address;
    auto server = http::Server::start(
        front, std::move(with), [this, is_secure](http::Request request, std::shared_ptr<http::Responder> responder) {
          handle(std::move(request), std::move(responder), is_secure);
        });
    if (!server) return server;
    log::info("Serving health and metrics", {{"address", address + ":" + std::to_string((*server)->port())},
                                             {"scheme", is_secure ? "https" : "http"}});
    return server;
  }

  // Runs on the reactor every kBeat.
  void beat() {
    const MonoTime now = reactor.clock().mono_now();
    if (beat_due != MonoTime{}) delays.observe(std::chrono::duration<double>(now - beat_due).count());
    beat_due = now + kBeat;
    HealthBoard::Report report{sources.live(), sources.ready(), now};
    say_changes(report.live);
    say_changes(report.ready);
    board.set(std::move(report));
    next_beat = reactor.after(kBeat, [this] { beat(); });
  }

  // Probes get no reason for a failure; the log does.
  void say_changes(const std::vector<HealthCheck>& checks) {
    for (const HealthCheck& check : checks) {
      const auto [known, fresh] = passing.emplace(check.name, check.ok);
      if (known->second == check.ok) continue;
      known->second = check.ok;
      if (check.ok) {
        log::info("Check passes", {{"check", check.name}});
      } else {
        log::info("Check fails", {{"check", check.name}, {"why", check.message.empty() ? "not yet" : check.message}});
      }
    }
  }

  // From here on: runs on the serving thread.
  void handle(http::Request request, std::shared_ptr<http::Responder> responder, bool is_secure) {
    const std::string path = request.target.substr(0, request.target.find('?'));
    const std::string token = is_secure ? bearer_token(request) : "";
    if (is_probe(path)) {
      http::Response response = answer(probe_sources(), request, Audience::kAnybody);
      if (response.status != 500 || token.empty()) return responder->send(std::move(response));
      return ask(std::move(request), path, token, std::move(responder), std::move(response));
    }
    if (path != "/metrics" && path != "/configz") return responder->send(answer(sources, request));
    const bool open = options.authentication == MetricsAuthentication::kNever ||
                      (options.authentication == MetricsAuthentication::kSecure && !is_secure);
    if (!open && !is_secure) return responder->send(refusal(403, "this is served over HTTPS only (--secure-port)"));
    if (!open && token.empty()) return responder->send(refusal(401));
    ask(std::move(request), path, open ? "" : token, std::move(responder), std::nullopt);
  }

  // The reactor's last report, with a failing check added when the reactor has been silent for too long.
  EndpointSources probe_sources() const {
    HealthBoard::Report report = board.read();
    const Duration silent = reactor.clock().mono_now() - report.at;
    if (silent > options.stuck_after) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(silent).count();
      const HealthCheck stuck{"reactor", false, "it has not come round for " + std::to_string(seconds) + " s", ""};
      report.live.push_back(stuck);
      report.ready.push_back(stuck);
    }
    EndpointSources probes;
    probes.live = [live = std::move(report.live)] { return live; };
    probes.ready = [ready = std::move(report.ready)] { return ready; };
    return probes;
  }

  struct Asked {
    std::shared_ptr<http::Responder> responder;
    std::optional<http::Response> otherwise;  // sent instead of a refusal
    Handle limit;
  };

  // Lets the reactor answer, for the bearer of the token if there is one.
  void ask(http::Request request, const std::string& path, const std::string& token,
           std::shared_ptr<http::Responder> responder, std::optional<http::Response> otherwise) {
    if (asked.size() >= kMaxAsked)
      return responder->send(otherwise ? *otherwise : refusal(503, "too many requests wait; try again"));
    const uint64_t id = ++last_asked;
    Asked entry{std::move(responder), std::move(otherwise), {}};
    entry.limit = front.after(options.answer_timeout,
                              [this, id] { answered(id, refusal(503, "not answered in time; try again")); });
    asked.emplace(id, std::move(entry));
    reactor.post([weak = weak_from_this(), id, request = std::move(request), path, token] {
      if (auto core = weak.lock()) core->answer_on_reactor(id, request, path, token);
    });
  }

  // Runs on the reactor.
  void answer_on_reactor(uint64_t id, const http::Request& request, const std::string& path, const std::string& token) {
    auto reply = [weak = weak_from_this(), id](http::Response response) {
      auto core = weak.lock();
      if (!core) return;
      core->front.post([raw = core.get(), id, response = std::move(response)] { raw->answered(id, response); });
    };
    const auto checked = [weak = weak_from_this(), id, request, path, reply](int status) {
      auto core = weak.lock();
      if (!core) return;
      if (status != 200) return reply(refusal(status));
      if (path == "/metrics") return core->refresh_metrics(id, request);
      reply(answer(core->sources, request));
    };
    if (token.empty()) return checked(200);
    access.check(token, path, checked);
  }

  // Runs on the reactor: only what reads its state, in several tasks. The text of all series takes longer, and is made
  // by the serving thread. Both happen at most once a second, however many requests come.
  void refresh_metrics(uint64_t id, const http::Request& request) {
    const auto show = [this, id, request] {
      front.post([this, id, request, state = refreshes] { render(id, request, state); });
    };
    if (waiting_for_refresh.empty() && refreshes > 0 && reactor.clock().mono_now() - refreshed_at < kMetricsAge)
      return show();
    waiting_for_refresh.push_back(show);
    if (waiting_for_refresh.size() == 1) refresh_some();
  }

  void refresh_some() {
    if (!sources.registry->refresh_some())
      return reactor.post([weak = weak_from_this()] {
        if (auto core = weak.lock()) core->refresh_some();
      });
    refreshed_at = reactor.clock().mono_now();
    ++refreshes;
    for (const auto& show : std::exchange(waiting_for_refresh, {})) show();
  }

  // From here on: runs on the serving thread.
  void render(uint64_t id, const http::Request& request, uint64_t state) {
    if (!asked.contains(id)) return;  // answered meanwhile: not in time
    if (state > rendered_state) {
      rendered = answer(sources, request);
      rendered_state = state;
    }
    answered(id, rendered);
  }

  void answered(uint64_t id, http::Response response) {
    auto entry = asked.extract(id);
    if (entry.empty()) return;
    const bool refused = response.status == 401 || response.status == 403 || response.status == 503;
    if (refused && entry.mapped().otherwise) response = *entry.mapped().otherwise;
    entry.mapped().responder->send(std::move(response));
  }

  void check_certificate_later() {
    certificate_timer = front.after(kCertificateCheck, [this] {
      check_certificate();
      check_certificate_later();
    });
  }
  void check_certificate() {
    auto found = options.certificate();
    Result<void> used = found ? Result<void>() : fail(found.error());
    if (found && found->certificate_pem + found->key_pem == served_certificate) return;
    if (found) used = secure->set_certificate(*found);
    if (!used) return log::error("The serving certificate stays as it is", {{"err", used.error().message()}});
    served_certificate = found->certificate_pem + found->key_pem;
    log::info("Serving a new certificate");
  }

  Reactor& reactor;
  EndpointSources sources;
  AccessReview& access;
  ServingOptions options;
  metrics::Histogram& delays;
  HealthBoard board;
  MonoTime beat_due{};                  // of the reactor's thread
  Handle next_beat;                     // of the reactor's thread
  std::map<std::string, bool> passing;  // of the reactor's thread
  MonoTime refreshed_at{};              // of the reactor's thread
  uint64_t refreshes = 0;               // of the reactor's thread
  // Requests for /metrics, of the reactor's thread; as many as the servers have connections.
  std::vector<std::function<void()>> waiting_for_refresh;
  http::Response rendered;  // /metrics, after so many refreshes
  uint64_t rendered_state = 0;

  AsioReactor front;
  std::unique_ptr<http::Server> plain;
  std::unique_ptr<http::Server> secure;
  std::map<uint64_t, Asked> asked;
  uint64_t last_asked = 0;
  std::string served_certificate;
  Handle certificate_timer;
  std::thread thread;
};

Serving::Serving(std::shared_ptr<Core> core) : core_(std::move(core)) {}

Serving::~Serving() {
  // In a task: the thread may not have come to run() yet, which would undo an earlier stop().
  core_->front.post([core = core_.get()] { core->front.stop(); });
  if (core_->thread.joinable()) core_->thread.join();
  core_->asked.clear();
  core_->next_beat = {};
}

Result<std::unique_ptr<Serving>> Serving::start(Reactor& reactor, EndpointSources sources, AccessReview& access,
                                                ServingOptions options) {
  auto core = std::make_shared<Core>(reactor, std::move(sources), access, std::move(options));
  std::unique_ptr<Serving> serving(new Serving(core));
  if (auto ok = core->listen(); !ok) return fail(ok.error());
  core->thread = std::thread([raw = core.get()] { raw->front.run(); });
  return serving;
}

uint16_t Serving::metrics_port() const {
  return core_->plain ? core_->plain->port() : 0;
}
uint16_t Serving::secure_port() const {
  return core_->secure ? core_->secure->port() : 0;
}

}  // namespace dra::manager
