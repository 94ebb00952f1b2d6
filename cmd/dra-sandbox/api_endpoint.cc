#include "cmd/dra-sandbox/api_endpoint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cmd/flag_values.h"
#include "pkg/apiserver/kinds/scheduling/kinds.h"
#include "pkg/apiserver/model/release.h"
#include "pkg/apiserver/rest/request.h"
#include "pkg/base/secret.h"
#include "pkg/base/strings.h"
#include "pkg/log/log.h"

namespace dra::sandbox_program {

namespace {

constexpr Duration kCertificateCheck = std::chrono::minutes(1);

Result<std::string> read_pem(const char* flag, const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  if (in && (text << in.rdbuf())) return text.str();
  const std::string why = errno == 0 ? "it is empty, or not a file" : std::strerror(errno);
  return fail(Code::kInvalidArgument, std::string(flag) + ": cannot read " + quote(path) + ": " + why);
}

std::string kubeconfig_text(const std::string& url, const std::string& certificate, const std::string& token) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: dra-sandbox\nclusters:\n- name: dra-sandbox\n  cluster:\n"
         "    server: " +
         url + "\n    certificate-authority-data: " + base64_encode(certificate) +
         "\ncontexts:\n- name: dra-sandbox\n  context:\n    cluster: dra-sandbox\n    user: admin\nusers:\n- name: "
         "admin\n"
         "  user:\n    token: \"" +
         token + "\"\n";
}

// Writes through a temporary file that only its owner can read, so that no reader sees a half-written file.
Result<void> write_private_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + "." + secret_text(8);
  auto wrong = [&](const char* what) {
    return fail(Code::kInvalidArgument,
                std::string("--kubeconfig: cannot ") + what + " " + quote(path) + ": " + std::strerror(errno));
  };
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return wrong("create");
  const ssize_t written = ::write(fd, text.data(), text.size());
  const bool whole = ::close(fd) == 0 && written == static_cast<ssize_t>(text.size());
  if (whole && ::rename(temporary.c_str(), path.c_str()) == 0) return {};
  auto failure = wrong(whole ? "replace" : "write");
  ::unlink(temporary.c_str());
  return failure;
}

Result<http::Certificate> serving_certificate(const EndpointOptions& options) {
  if (options.certificate_file.empty()) return http::make_self_signed_certificate(options.bind_address);
  auto certificate = read_pem("--cert", options.certificate_file);
  if (!certificate) return fail(certificate.error());
  auto key = read_pem("--key", options.key_file);
  if (!key) return fail(key.error());
  return http::Certificate{*certificate, *key};
}

bool is_loopback(const std::string& address) {
  return address == "::1" || address.starts_with("127.");
}

// The administrator's token: a new one for this run, or the requested one, which nobody else may be able to read.
Result<std::string> administrator_token(const EndpointOptions& options) {
  if (options.authorization == apiserver::AuthorizationMode::kAlwaysAllow && !is_loopback(options.bind_address))
    return fail(Code::kInvalidArgument,
                "--authorization-mode=AlwaysAllow: everybody who reaches the server may do everything without a token, "
                "so it is for the loopback address only, and --bind-address is " +
                    options.bind_address + "; use RBAC, or bind to 127.0.0.1");
  if (options.token.empty()) return secret_text();
  if (is_loopback(options.bind_address)) return options.token;
  return fail(Code::kInvalidArgument,
              "--token: a fixed token is for the loopback address only, and --bind-address is " + options.bind_address +
                  "; leave --token out and read the token of this start from --kubeconfig");
}

}  // namespace

void add_endpoint_flags(CLI::App& app, EndpointOptions& o) {
  app.add_option("--bind-address", o.bind_address, "IP address to listen on")->capture_default_str();
  app.add_option("--port", o.port, "port to listen on; 0 takes any free one")
      ->capture_default_str()
      ->check(cmd::port_from(0));
  app.add_option("--token", o.token,
                 "fixed bearer token of the administrator, on a loopback address only (default: a random one at every "
                 "start, in the kubeconfig)");
  auto* cert = app.add_option("--cert", o.certificate_file, "PEM certificate (default: self-signed, in memory)");
  auto* key = app.add_option("--key", o.key_file, "PEM private key of --cert");
  cert->needs(key);
  key->needs(cert);
  app.add_option("--kubeconfig", o.kubeconfig_file, "write a kubeconfig for this server here");
  using apiserver::AuthorizationMode;
  cmd::add_choice<AuthorizationMode>(
      app, "--authorization-mode", o.authorization,
      {{"RBAC", AuthorizationMode::kRbac}, {"AlwaysAllow", AuthorizationMode::kAlwaysAllow}},
      "RBAC: roles and bindings say what others than the administrator may do; AlwaysAllow: everything")
      ->type_name("RBAC|AlwaysAllow");
  cmd::add_choice<bool>(app, "--api-versions", o.only_stable_versions, {{"all", false}, {"default", true}},
                        "all: alpha and beta versions too, DeviceTaintRules among them; default: what a cluster "
                        "without --runtime-config serves (of resource.k8s.io v1 alone)")
      ->type_name("all|default");
  app.add_option(
      "--runtime-config", o.runtime_config,
      "API versions to leave out or to serve, as GROUP/VERSION=false,... (resource.k8s.io/v1=false). PodGroups "
      "and Workloads, scheduling.k8s.io/v1alpha2 (from 1.37 on v1beta1), are served by `up`; `apiserver` and "
      "--api-versions=default want scheduling.k8s.io/v1alpha2=true");
  app.add_option(
      "--kubernetes-version", o.kubernetes_version,
      "the release whose API is served: 1.36, 1.37, or 1.38 as of its alpha 2 (default: 1.36); -v=1 lists what "
      "differs from 1.36");
  app.add_option("--feature-gates", o.feature_gates,
                 "alpha gates to enable, as Name=true,...: DRAResourcePoolStatus; from 1.37 on CompositePodGroup, "
                 "DRADerivedAttributes, DRADeviceCompatibilityGroups, DRAOptionalNodeOperations and "
                 "DRAPartitionableDevicesType; `up` gives its manager those that it has, too");
  app.add_option("--data-dir", o.data_dir, "keep all objects in this directory (default: in memory only)");
}

Result<std::vector<std::pair<std::string, bool>>> parse_runtime_config(const std::string& text) {
  std::vector<std::pair<std::string, bool>> configured;
  for (const std::string& item : split(text, ',')) {
    if (trim(item).empty()) continue;
    const size_t equals = item.find('=');
    const std::string value = equals == std::string::npos ? "" : item.substr(equals + 1);
    if (item.find('/') >= equals || (value != "false" && value != "true"))
      return fail(Code::kInvalidArgument,
                  "--runtime-config: \"" + item + "\" is not GROUP/VERSION=false, as in resource.k8s.io/v1=false");
    configured.emplace_back(trim(item.substr(0, equals)), value == "true");
  }
  return configured;
}

Result<std::unique_ptr<ApiEndpoint>> ApiEndpoint::start(AsioReactor& reactor, Random& random, EndpointOptions options,
                                                        bool housekeeping) {
  if (auto serves = apiserver::serve_release(options.kubernetes_version, options.feature_gates); !serves)
    return fail(serves.error());
  for (const apiserver::ReleaseRow& row : apiserver::release_rows())
    if (row.since <= apiserver::served_release())
      log::v(1, "Differs from 1.36", {{"what", std::string(row.what)}, {"source", std::string(row.source)}});
  auto out = std::unique_ptr<ApiEndpoint>(new ApiEndpoint);
  auto token = administrator_token(options);
  if (!token) return fail(token.error());
  out->token_ = *token;
  http::ServerOptions listen;
  listen.bind_address = options.bind_address;
  listen.port = options.port;
  auto certificate = serving_certificate(options);
  if (!certificate) return fail(certificate.error());
  listen.certificate_pem = certificate->certificate_pem;
  listen.key_pem = certificate->key_pem;
  listen.flow = [](const http::Request& request) { return apiserver::flow_of(request.target); };
  out->certificate_pem_ = listen.certificate_pem;

  apiserver::ServerOptions serve;
  serve.tokens = apiserver::admin_token(out->token_);
  serve.token_key = secret_text();
  serve.authorization = options.authorization;
  serve.max_watches = http::connections_that_fit(listen) / 2;
  serve.pod_groups = options.pod_groups && !options.only_stable_versions;
  serve.only_stable_versions = options.only_stable_versions;
  auto configured = parse_runtime_config(options.runtime_config);
  if (!configured) return fail(configured.error());
  for (const auto& [version, served] : *configured)
    if (version == apiserver::group_version_of_pod_groups())
      serve.pod_groups = served;
    else
      (served ? serve.added_versions : serve.withdrawn_versions).push_back(version);
  serve.housekeeping = housekeeping;
  serve.in_turn = [raw = out.get(), &reactor](std::function<void()> step) {
    if (raw->listener_) return raw->listener_->in_turn(std::move(step), "housekeeping");
    reactor.post(std::move(step));
  };
  serve.data_dir = options.data_dir;
  auto server = apiserver::Server::create(reactor, random, std::move(serve));
  if (!server) return fail(server.error());
  out->server_ = std::move(*server);
  auto listener =
      http::Server::start(reactor, std::move(listen),
                          [raw = out->server_.get()](http::Request request, std::shared_ptr<http::Responder> r) {
                            raw->handle(std::move(request), std::move(r));
                          });
  if (!listener) return fail(listener.error());
  out->listener_ = std::move(*listener);
  if (!options.certificate_file.empty()) out->reload_later(reactor, options);
  const bool v6 = options.bind_address.find(':') != std::string::npos;
  std::string host = options.bind_address == "0.0.0.0" ? "127.0.0.1"
                     : options.bind_address == "::"    ? "::1"
                                                       : options.bind_address;
  if (v6) host = "[" + host + "]";
  out->url_ = "https://" + host + ":" + std::to_string(out->listener_->port());
  if (!options.kubeconfig_file.empty()) {
    auto written =
        write_private_file(options.kubeconfig_file, kubeconfig_text(out->url_, out->certificate_pem_, out->token_));
    if (!written) return fail(written.error());
  }
  return out;
}

void ApiEndpoint::reload_later(AsioReactor& reactor, const EndpointOptions& options) {
  reload_ = reactor.after(kCertificateCheck, [this, &reactor, options] {
    const auto found = serving_certificate(options);
    if (found && found->certificate_pem != certificate_pem_) {
      if (const auto used = listener_->set_certificate(*found)) {
        certificate_pem_ = found->certificate_pem;
        log::info("Serving a new certificate");
      } else {
        log::error("The serving certificate stays as it is", {{"err", used.error().message()}});
      }
    }
    reload_later(reactor, options);
  });
}

ApiEndpoint::~ApiEndpoint() {
  if (server_) server_->end_watches();
  if (listener_) listener_->stop();
}

}  // namespace dra::sandbox_program
