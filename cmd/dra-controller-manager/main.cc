// dra-controller-manager: the operator as a process. Flags in, exit status out: 0 after an orderly end, 1 otherwise.
// Flags that cannot be read are refused as on any command line ("error: ..."); once the process runs, whatever ends it
// is logged as one line.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "client/election/elector.h"
#include "client/transport/curl_transport.h"
#include "cmd/dra-controller-manager/flags.h"
#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/http/server.h"
#include "pkg/log/log.h"
#include "pkg/manager/manager.h"
#include "pkg/manager/report/instruments.h"
#include "pkg/manager/serve/endpoints.h"
#include "pkg/manager/serve/serving.h"
#include "pkg/metrics/metrics.h"
#include "pkg/protocol/manager_lease.h"
#include "pkg/reactor/asio_reactor.h"

namespace dra::cmd {
namespace {

constexpr const char* kVersion = DRA_VERSION;
// How long the API server may be unreachable at the start before the process ends.
constexpr Duration kFirstContact = std::chrono::seconds(10);
// How long a credential plugin may keep running once the process ends.
constexpr Duration kCredentialPatience = std::chrono::milliseconds(500);
// How often a run with --release-gates checks whether any gates are left.
constexpr Duration kReleaseLook = std::chrono::milliseconds(500);

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? std::string(name) : std::string("unknown");
}

Result<std::string> read_serving_file(const char* flag, const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in && (text << in.rdbuf())) return text.str();
  const std::string why = errno == 0 ? "it is empty, or not a file" : std::strerror(errno);
  return fail(Code::kInvalidArgument, std::string(flag) + ": cannot read " + quote(path) + ": " + why);
}

// The certificate from the files that the flags name, or one made for this run.
Result<http::Certificate> serving_certificate(const Flags& flags) {
  if (flags.tls_certificate_file.empty()) return http::make_self_signed_certificate(host_name());
  auto certificate = read_serving_file("--tls-cert-file", flags.tls_certificate_file);
  if (!certificate) return fail(certificate.error());
  auto key = read_serving_file("--tls-private-key-file", flags.tls_key_file);
  if (!key) return fail(key.error());
  return http::Certificate{*certificate, *key};
}

// One run of the process, from configuration to exit status.
class Process {
 public:
  Process(Flags flags, client::ServerConfig config, AsioReactor& reactor, Random& random)
      : flags_(std::move(flags)),
        reactor_(reactor),
        random_(random),
        config_(std::move(config)),
        transport_(reactor, config_),
        identity_(host_name() + "_" + random.uuid()) {
    registry_.add_process_metrics();
    manager::add_build_info(registry_, kVersion);
    reactor_.observe_tasks(
        [&tasks = manager::reactor_tasks(registry_),
         &processor = manager::reactor_task_processor(registry_)](const AsioReactor::TaskTime& time) {
          tasks.observe(std::chrono::duration<double>(time.took).count());
          processor.observe(std::chrono::duration<double>(time.processor).count());
        });
    flags_.manager.identity = "dra-controller-manager-" + host_name();
    if (flags_.leader_elect)
      flags_.manager.lease = manager::ManagerOptions::LeaseRef{flags_.lease_namespace, flags_.lease_name};
    if (flags_.leader_elect && flags_.usage && flags_.manager.settings.scheduling != reconcile::Scheduling::kObserve)
      flags_.manager.usage = manager::ManagerOptions::LeaseRef{flags_.lease_namespace, flags_.lease_name + "-usage"};
    flags_.manager.host = config_.server.substr(config_.server.find("//") + 2);
    manager_ = std::make_unique<manager::Manager>(reactor_, transport_, random_, registry_, flags_.manager);
  }

  ~Process() {
    reactor_.observe_tasks(nullptr);
    cancel_credentials();
  }

  int run() {
    if (!serve()) return 1;
    contact();
    if (flags_.release_deadline > Duration::zero()) {
      release_until_ = reactor_.clock().mono_now() + flags_.release_deadline;
      watch_release();
    }
    reactor_.run();
    return status_;
  }

  // The first signal ends the process in order, the second at once.
  void on_signal() {
    if (stopping_) {
      status_ = 1;
      return reactor_.stop();
    }
    log::info("Requested to terminate");
    stop();
  }

 private:
  manager::EndpointSources endpoint_sources() {
    manager::EndpointSources sources;
    sources.live = [this] { return live_checks(); };
    sources.ready = [this] { return manager_->checks(); };
    sources.config_json = [this] { return manager::config_json(flags_.manager, manager_->drivers()); };
    sources.version = kVersion;
    sources.registry = &registry_;
    return sources;
  }

  bool serve() {
    manager::ServingOptions options;
    options.bind_address = flags_.bind_address;
    options.metrics_port = flags_.metrics_port;
    options.secure_port = flags_.secure_port;
    options.authentication = flags_.metrics_authentication;
    // Files may be replaced; the self-made certificate stays.
    if (flags_.tls_certificate_file.empty()) {
      auto own = flags_.secure_port == 0 ? http::Certificate{} : serving_certificate(flags_);
      options.certificate = [own] { return own; };
    } else {
      options.certificate = [flags = flags_] { return serving_certificate(flags); };
    }
    auto serving = manager::Serving::start(reactor_, endpoint_sources(), access_, std::move(options));
    if (!serving) {
      log::error(serving.error(), "Cannot serve",
                 {{"what_to_do", "look at --metrics-port, --secure-port, --bind-address and --tls-cert-file"}});
      return false;
    }
    serving_ = std::move(*serving);
    return true;
  }

  std::vector<manager::HealthCheck> live_checks() const {
    std::vector<manager::HealthCheck> checks{{"ping", true, ""}};
    if (elector_) checks.push_back({"leaderElection", elector_->healthy(), "the lease was not renewed in time"});
    return checks;
  }

  // The server must answer once before anything starts. The first failure is reported at once, so that a log that is
  // read while the process still tries says why it does nothing; the last one ends the process.
  void contact() {
    give_up_at_ = reactor_.clock().mono_now() + kFirstContact;
    try_contact();
  }
  void try_contact() {
    client::Request request;
    request.target = "/version";
    request.timeout = std::chrono::seconds(5);
    call_ = transport_.send(std::move(request), [this](Result<client::Response> answer) {
      if (stopping_) return;
      if (answer && answer->status < 500 && answer->status != 401) return begin();
      if (answer && answer->status == 401)
        return give_up(Error(Code::kUnauthenticated, "the token, or the client certificate, is not accepted (401)"));
      const Error why(Code::kUnavailable,
                      answer ? "it answered with status " + std::to_string(answer->status) : answer.error().message());
      if (reactor_.clock().mono_now() >= give_up_at_) return give_up(why);
      if (!std::exchange(contact_reported_, true))
        log::error(why, "The API server cannot be used yet; it is tried again for 10 s",
                   {{"server", config_.server}, {"origin", config_.origin}});
      timer_ = reactor_.after(std::chrono::milliseconds(500), [this] { try_contact(); });
    });
  }

  void begin() {
    manager_->start();
    if (!flags_.leader_elect) return manager_->lead();
    election_transport_ = std::make_unique<client::CurlTransport>(reactor_, config_);
    election_client_ = std::make_unique<client::RestClient>(*election_transport_);
    client::ElectorOptions options;
    options.ns = flags_.lease_namespace;
    options.name = flags_.lease_name;
    options.identity = identity_;
    options.times = flags_.election;
    options.labels = {{std::string(protocol::kManagerLabel), std::string(protocol::kManagerName)}};
    options.annotations = [this] { return manager_->lease_annotations(kVersion); };
    client::ElectorCallbacks callbacks;
    callbacks.on_taking = [this](const auto& annotations) { manager_->lease_taken(annotations); };
    callbacks.on_started = [this] { manager_->lead(); };
    callbacks.on_stopped = [this](const std::string& why) {
      log::info("Leadership ended", {{"why", why}});
      manager_->stop_leading();
    };
    callbacks.on_new_leader = [](const std::string& holder) { log::info("Leader seen", {{"holder", holder}}); };
    callbacks.on_annotations_changed = [this](const auto& ours, const auto& now) {
      manager_->lease_annotations_changed(ours, now);
    };
    callbacks.on_slow_path = [&slow = manager::slow_path_counter(registry_, flags_.lease_name)] { slow.increment(); };
    elector_ = std::make_unique<client::Elector>(reactor_, *election_client_, random_, options, callbacks);
    elector_->start();
  }

  // A run before or after an uninstall. It ends when two checks in a row find no gate, or when time is up.
  void watch_release() {
    if (stopping_) return;
    const std::optional<size_t> gated = manager_->gated_pods();
    none_gated_ = gated == 0 ? none_gated_ + 1 : 0;
    if (none_gated_ > 1) {
      log::info("No pod carries our gate any more");
      return stop();
    }
    if (reactor_.clock().mono_now() >= release_until_)
      return give_up(Error(Code::kDeadlineExceeded,
                           gated ? std::to_string(*gated) +
                                       " pods still carry the gate dra-controller-manager/allocation; their events say "
                                       "why; delete them, or remove the gate with kubectl"
                                 : "the gates of pods could not be checked within --release-deadline"),
                     "Gates were not released");
    release_timer_ = reactor_.after(kReleaseLook, [this] { watch_release(); });
  }

  void give_up(const Error& why, std::string_view what = "The API server cannot be used") {
    log::error(why, what, {{"server", config_.server}, {"origin", config_.origin}});
    status_ = 1;
    if (!stopping_) stop();
  }

  // Starts no further write, waits for those in flight, writes events, and releases the lease last.
  void stop() {
    stopping_ = true;
    call_.cancel();
    manager_->finish_leading();
    stop_at_ = reactor_.clock().mono_now() + flags_.shutdown_timeout;
    patience_ = reactor_.after(kCredentialPatience, [this] { cancel_credentials(); });
    drain();
  }
  // A credential plugin that hangs must not block the process: its waiters get an answer, its workers end.
  void cancel_credentials() {
    if (config_.credentials) config_.credentials->cancel();
  }
  void drain() {
    if (manager_->busy() && reactor_.clock().mono_now() < stop_at_) {
      timer_ = reactor_.after(std::chrono::milliseconds(10), [this] { drain(); });
      return;
    }
    manager_->flush_events(std::chrono::seconds(1), [this] {
      manager_->stop();
      if (!elector_) return reactor_.stop();
      elector_->stop([this] { reactor_.stop(); });
    });
  }

  Flags flags_;
  AsioReactor& reactor_;
  Random& random_;
  client::ServerConfig config_;
  metrics::Registry registry_;
  client::CurlTransport transport_;
  std::string identity_;
  std::unique_ptr<manager::Manager> manager_;
  std::unique_ptr<client::CurlTransport> election_transport_;
  std::unique_ptr<client::RestClient> election_client_;
  std::unique_ptr<client::Elector> elector_;
  manager::AccessReview access_{reactor_, transport_};
  std::unique_ptr<manager::Serving> serving_;
  Handle call_, timer_, patience_, release_timer_;
  MonoTime give_up_at_{}, stop_at_{}, release_until_{};
  int none_gated_ = 0;
  bool contact_reported_ = false;
  bool stopping_ = false;
  int status_ = 0;
};

int run(const Flags& flags) {
  log::configure({flags.log_format, flags.verbosity, nullptr, nullptr});
  SystemClock clock;
  AsioReactor reactor(clock);
  // Before anything that takes time: an early signal then waits for run() instead of killing the process.
  Process* process = nullptr;
  const Handle signals = reactor.on_signals({SIGINT, SIGTERM}, [&process](int) { process->on_signal(); });
  SeededRandom random(entropy_seed());
  auto config = client::load_config(flags.config, client::process_environment(), {&reactor, nullptr});
  if (!config) {
    log::error(config.error(), "Cannot start");
    return 1;
  }
  log::info("Starting", {{"version", kVersion}, {"server", config->server}, {"origin", config->origin}});
  Process running(flags, std::move(*config), reactor, random);
  process = &running;
  return running.run();
}

}  // namespace
}  // namespace dra::cmd

int main(int argc, char** argv) {
  try {
    dra::cmd::Parsed parsed = dra::cmd::parse_flags({argv + 1, argv + argc}, DRA_VERSION);
    if (!parsed.flags) {
      std::fputs(parsed.text.c_str(), parsed.exit_status == 0 ? stdout : stderr);
      return parsed.exit_status;
    }
    return dra::cmd::run(*parsed.flags);
  } catch (const std::exception& bug) {
    dra::log::error(dra::Error(dra::Code::kInternal, bug.what()), "A bug ended the process");
    return 1;
  }
}
