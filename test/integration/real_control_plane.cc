#include "test/integration/real_control_plane.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "client/transport/curl_transport.h"

namespace dra::integration {
namespace {

using namespace std::chrono_literals;

constexpr const char* kAdminToken = "integration-test-administrator";

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

// ServiceAccount is off because nobody makes service accounts; TaintNodesByCondition because nobody would take the
// taint of new nodes away.
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
          "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"};
}

}  // namespace

Result<std::unique_ptr<RealControlPlane>> RealControlPlane::start(const std::string& folder, Duration patience) {
  std::unique_ptr<RealControlPlane> plane(new RealControlPlane);
  if (auto launched = plane->launch(folder); !launched) return tl::unexpected(launched.error());
  if (auto ready = plane->await_ready(patience); !ready) return tl::unexpected(ready.error());
  return plane;
}

RealControlPlane::~RealControlPlane() {
  transport_.reset();
  apiserver_.reset();
  etcd_.reset();
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

Result<void> RealControlPlane::launch(const std::string& folder) {
  for (const char* program : {"/etcd", "/kube-apiserver"})
    if (::access((folder + program).c_str(), X_OK) != 0)
      return fail(Code::kNotFound, "KUBEBUILDER_ASSETS names \"" + folder + "\", which has no executable \"" +
                                       (program + 1) + "\": put etcd and kube-apiserver of one release there");
  std::string pattern = (std::filesystem::temp_directory_path() / "dra-control-plane-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return fail(Code::kUnavailable, "no temporary folder can be made");
  directory_ = pattern;
  const int etcd_port = free_port(), peer_port = free_port(), port = free_port();
  std::ofstream(directory_ + "/tokens.csv") << kAdminToken << ",admin,admin-uid,\"system:masters\"\n";
  if (!write_service_account_key(directory_ + "/service-account.key"))
    return fail(Code::kUnavailable, directory_ + "/service-account.key cannot be written");

  const auto run = [&](const char* program, const std::vector<std::string>& arguments,
                       std::unique_ptr<ChildProcess>& child) -> Result<void> {
    const std::string name(program);
    auto started = ChildProcess::start(folder + "/" + name, arguments, directory_ + "/" + name + ".log");
    if (!started) return tl::unexpected(started.error());
    child = std::make_unique<ChildProcess>(std::move(*started));
    return {};
  };
  if (auto done = run("etcd", etcd_arguments(directory_, etcd_port, peer_port), etcd_); !done) return done;
  if (auto done = run("kube-apiserver", apiserver_arguments(directory_, etcd_port, port), apiserver_); !done)
    return done;

  client::ServerConfig config;
  config.server = "https://127.0.0.1:" + std::to_string(port);
  config.insecure = true;  // its certificate is made when it starts
  config.credentials = client::fixed_credentials({.authorization = std::string("Bearer ") + kAdminToken});
  transport_ = std::make_unique<client::CurlTransport>(reactor_, config);
  return {};
}

int RealControlPlane::probe(const std::string& target, std::string& said) {
  client::Request request;
  request.target = target;
  request.timeout = 5s;
  std::optional<int> status;
  const Handle call = transport_->send(std::move(request), [&](Result<client::Response> answer) {
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
    if (probe("/readyz", said) == 200 && probe("/api/v1/namespaces/default", said) == 200) return {};
    pass(100ms);
  }
  return fail(Code::kDeadlineExceeded,
              "kube-apiserver was not ready in time; last answer: " + said + "\nits output: " + apiserver_->output());
}

}  // namespace dra::integration
