#include "test/integration/real_control_plane.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "client/transport/curl_transport.h"
#include "test/integration/audited_scheduler.h"

namespace dra::integration {
namespace {

using namespace std::chrono_literals;

constexpr const char* kAdminToken = "integration-test-administrator";
constexpr const char* kSchedulerToken = "integration-test-scheduler";
constexpr const char* kControllersToken = "integration-test-controllers";

// A port of 127.0.0.1 that was free a moment ago.
int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool found = ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(fd);
  return found ? ntohs(address.sin_port) : 0;
}

// kube-apiserver does not start without a key for the tokens of service accounts.
bool write_service_account_key(const std::string& path) {
  EVP_PKEY* key = EVP_RSA_gen(2048);
  std::FILE* file = std::fopen(path.c_str(), "w");
  const bool done = key && file && PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr) == 1;
  if (file) std::fclose(file);
  EVP_PKEY_free(key);
  return done;
}

std::string address(int port) {
  return "http://127.0.0.1:" + std::to_string(port);
}

std::vector<std::string> etcd_arguments(const std::string& directory, int client, int peer) {
  return {"--data-dir=" + directory + "/etcd",
          "--listen-client-urls=" + address(client),
          "--advertise-client-urls=" + address(client),
          "--listen-peer-urls=" + address(peer),
          "--initial-advertise-peer-urls=" + address(peer),
          "--initial-cluster=default=" + address(peer),
          "--unsafe-no-fsync"};
}

// kube-scheduler's writes, with the answers, and nothing else.
constexpr const char* kAuditPolicy = R"(apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: RequestResponse
  users: ["system:kube-scheduler"]
  verbs: [create, update, patch, delete]
  resources:
  - {group: resource.k8s.io, resources: [resourceclaims, resourceclaims/status]}
  - {group: "", resources: [pods/binding, pods/status]}
- level: None
)";

// ServiceAccount is off because nothing creates service accounts; TaintNodesByCondition because nothing would remove
// the taint of new nodes. The server must not throttle any client here.
std::vector<std::string> apiserver_arguments(const std::string& directory, int etcd, int port) {
  const std::string key = directory + "/service-account.key";
  return {"--etcd-servers=" + address(etcd),
          "--bind-address=127.0.0.1",
          "--advertise-address=127.0.0.1",
          "--endpoint-reconciler-type=none",
          "--secure-port=" + std::to_string(port),
          "--cert-dir=" + directory + "/certificates",
          "--token-auth-file=" + directory + "/tokens.csv",
          "--authorization-mode=RBAC",
          "--service-account-issuer=https://kubernetes.default.svc",
          "--service-account-key-file=" + key,
          "--service-account-signing-key-file=" + key,
          "--service-cluster-ip-range=10.0.0.0/24",
          "--audit-policy-file=" + directory + "/audit-policy.yaml",
          "--audit-log-path=" + directory + "/audit.log",
          "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"};
}

// Readiness of programs that are clients of the API server.
constexpr Duration kClientPatience = 60s;

struct OwnComponent : Component {
  explicit OwnComponent(std::unique_ptr<ChildProcess> child) : process(std::move(child)) {}
  std::unique_ptr<ChildProcess> process;
};

template <typename T>
T or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return std::move(*result);
}

}  // namespace

Result<std::unique_ptr<RealControlPlane>> RealControlPlane::start(const std::string& folder, Duration patience) {
  std::unique_ptr<RealControlPlane> plane(new RealControlPlane(folder));
  if (auto launched = plane->launch(); !launched) return tl::unexpected(launched.error());
  if (auto ready = plane->await_ready(patience); !ready) return tl::unexpected(ready.error());
  if (auto started = plane->start_garbage_collector(); !started) return tl::unexpected(started.error());
  return plane;
}

RealControlPlane::~RealControlPlane() {
  garbage_collector_.reset();
  transport_.reset();
  apiserver_.reset();
  etcd_.reset();
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

bool RealControlPlane::has(const std::string& program) const {
  return ::access((folder_ + "/" + program).c_str(), X_OK) == 0;
}

std::string RealControlPlane::programs() const {
  std::string text = "etcd, kube-apiserver";
  for (const char* program : {"kube-scheduler", "kube-controller-manager"})
    if (has(program)) text += std::string(", ") + program;
  return text;
}

Result<std::unique_ptr<ChildProcess>> RealControlPlane::run(const std::string& program,
                                                            std::vector<std::string> arguments) {
  auto started = ChildProcess::start(folder_ + "/" + program, arguments, directory_ + "/" + program + ".log");
  if (!started) return tl::unexpected(started.error());
  return std::make_unique<ChildProcess>(std::move(*started));
}

client::ServerConfig RealControlPlane::config(int port, const std::string& token) const {
  client::ServerConfig config;
  config.server = "https://127.0.0.1:" + std::to_string(port);
  config.insecure = true;  // its certificate is made when it starts
  config.credentials = client::fixed_credentials({.authorization = "Bearer " + token});
  return config;
}

Result<void> RealControlPlane::launch() {
  for (const char* program : {"etcd", "kube-apiserver"})
    if (!has(program))
      return fail(Code::kNotFound, "KUBEBUILDER_ASSETS names \"" + folder_ + "\", which has no executable \"" +
                                       program + "\": put etcd and kube-apiserver of one release there");
  std::string pattern = (std::filesystem::temp_directory_path() / "dra-control-plane-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return fail(Code::kUnavailable, "no temporary folder can be made");
  directory_ = pattern;
  const int etcd_port = free_port(), peer_port = free_port();
  port_ = free_port();
  std::ofstream(directory_ + "/tokens.csv") << kAdminToken << ",admin,admin-uid,\"system:masters\"\n"
                                            << kSchedulerToken << ",system:kube-scheduler,scheduler-uid\n"
                                            << kControllersToken << ",controllers,controllers-uid,\"system:masters\"\n";
  std::ofstream(directory_ + "/audit-policy.yaml") << kAuditPolicy;
  if (!write_service_account_key(directory_ + "/service-account.key"))
    return fail(Code::kUnavailable, directory_ + "/service-account.key cannot be written");

  auto etcd = run("etcd", etcd_arguments(directory_, etcd_port, peer_port));
  if (!etcd) return tl::unexpected(etcd.error());
  etcd_ = std::move(*etcd);
  auto apiserver = run("kube-apiserver", apiserver_arguments(directory_, etcd_port, port_));
  if (!apiserver) return tl::unexpected(apiserver.error());
  apiserver_ = std::move(*apiserver);
  transport_ = std::make_unique<client::CurlTransport>(reactor_, config(port_, kAdminToken));
  return {};
}

std::unique_ptr<client::Transport> RealControlPlane::connect(const std::string& token) {
  return std::make_unique<client::CurlTransport>(reactor_, config(port_, token));
}

int RealControlPlane::probe(client::Transport& transport, const std::string& target, std::string& said) {
  client::Request request;
  request.target = target;
  request.timeout = 5s;
  std::optional<int> status;
  const Handle call = transport.send(std::move(request), [&](Result<client::Response> answer) {
    status = answer ? answer->status : 0;
    said = answer ? "HTTP " + std::to_string(answer->status) + " " + answer->body : answer.error().message();
  });
  reactor_.run_until([&] { return status.has_value(); }, 10s);
  return status.value_or(0);
}

Result<void> RealControlPlane::await_ready(Duration patience) {
  const MonoTime begin = clock_.mono_now();
  std::string said;
  while (clock_.mono_now() - begin < patience) {
    for (ChildProcess* child : {etcd_.get(), apiserver_.get()})
      if (const std::string end = child->ended(); !end.empty()) return fail(Code::kUnavailable, end);
    if (probe(*transport_, "/readyz", said) == 200 && probe(*transport_, "/api/v1/namespaces/default", said) == 200)
      return {};
    pass(100ms);
  }
  return fail(Code::kDeadlineExceeded,
              "kube-apiserver was not ready in time; last answer: " + said + "\nits output: " + apiserver_->output());
}

Result<std::unique_ptr<ChildProcess>> RealControlPlane::run_client(const std::string& program, const std::string& token,
                                                                   std::vector<std::string> arguments) {
  const std::string kubeconfig = directory_ + "/" + token + ".kubeconfig";
  const Json text{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"current-context", "test"},
      {"contexts", {{{"name", "test"}, {"context", {{"cluster", "test"}, {"user", "test"}}}}}},
      {"clusters",
       {{{"name", "test"},
         {"cluster", {{"server", "https://127.0.0.1:" + std::to_string(port_)}, {"insecure-skip-tls-verify", true}}}}}},
      {"users", {{{"name", "test"}, {"user", {{"token", token}}}}}}};
  std::ofstream(kubeconfig) << text.dump();
  const int port = free_port();
  for (std::string argument :
       {"--kubeconfig=" + kubeconfig, std::string("--leader-elect=false"), std::string("--kube-api-qps=5000"),
        std::string("--kube-api-burst=5000"), std::string("--bind-address=127.0.0.1"),
        "--secure-port=" + std::to_string(port), "--cert-dir=" + directory_ + "/certificates"})
    arguments.push_back(std::move(argument));
  auto process = run(program, std::move(arguments));
  if (!process) return process;
  client::CurlTransport transport(reactor_, config(port, ""));
  const MonoTime begin = clock_.mono_now();
  std::string said;
  while (clock_.mono_now() - begin < kClientPatience) {
    if (const std::string end = (*process)->ended(); !end.empty()) return fail(Code::kUnavailable, end);
    // kube-controller-manager has no /readyz.
    if (probe(transport, program == "kube-scheduler" ? "/readyz" : "/healthz", said) == 200) return process;
    pass(50ms);
  }
  return fail(Code::kDeadlineExceeded,
              program + " was not ready in time; last answer: " + said + "\nits output: " + (*process)->output());
}

Result<void> RealControlPlane::start_garbage_collector() {
  if (!has("kube-controller-manager")) return {};
  auto process =
      run_client("kube-controller-manager", kControllersToken, {"--controllers=garbage-collector-controller"});
  if (!process) return tl::unexpected(process.error());
  garbage_collector_ = std::move(*process);
  return {};
}

std::unique_ptr<Scheduler> RealControlPlane::own_scheduler() {
  if (!has("kube-scheduler")) return nullptr;
  // The new scheduler's part of the log begins at its present end.
  const std::string log = directory_ + "/audit.log";
  std::error_code none_yet;
  const auto size = std::filesystem::file_size(log, none_yet);
  return std::make_unique<AuditedScheduler>(or_throw(run_client("kube-scheduler", kSchedulerToken, {})), log,
                                            none_yet ? 0 : size);
}

std::unique_ptr<Component> RealControlPlane::own_claim_controller() {
  if (!has("kube-controller-manager")) return nullptr;
  return std::make_unique<OwnComponent>(
      or_throw(run_client("kube-controller-manager", kControllersToken, {"--controllers=resourceclaim-controller"})));
}

}  // namespace dra::integration
