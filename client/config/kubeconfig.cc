#include "client/config/kubeconfig.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "client/config/exec_plugin.h"
#include "client/config/file_credentials.h"
#include "pkg/base/check.h"
#include "pkg/base/strings.h"
#include "pkg/yaml/yaml.h"

namespace dra::client {
namespace {

using nlohmann::json;

constexpr size_t kMaxFile = 4 << 20;

Code missing(int error) {
  return error == ENOENT || error == ENOTDIR ? Code::kNotFound : Code::kInvalidArgument;
}

// The server's URL as used, logged and shown: without trailing slashes, user and password. The last two would be sent
// as credentials that nobody configured, and appear in every message.
std::string plain_server(std::string url) {
  while (!url.empty() && url.back() == '/') url.pop_back();
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos) return url.substr(url.rfind('@') + 1);
  const size_t begin = scheme + 3;
  const size_t end = std::min(url.find_first_of("/?#\\", begin), url.size());
  const size_t at = url.rfind('@', end);
  if (at != std::string::npos && at >= begin && at < end) url.erase(begin, at + 1 - begin);
  return url;
}

class RealFiles : public FileReader {
 public:
  Result<std::string> read(const std::string& path) const override {
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return fail(missing(errno), "cannot open " + quote(path) + ": " + std::strerror(errno));
    std::string text;
    char buffer[16384];
    ssize_t n = 0;
    while (text.size() <= kMaxFile && (n = ::read(fd, buffer, sizeof buffer)) > 0) {
      text.append(buffer, static_cast<size_t>(n));
    }
    int error = errno;
    close(fd);
    if (n < 0) return fail(missing(error), "cannot read " + quote(path) + ": " + std::strerror(error));
    if (text.size() > kMaxFile) {
      return fail(Code::kResourceExhausted, quote(path) + " is longer than 4 MiB; is it the right file?");
    }
    return text;
  }
};

// Reads one kubeconfig, or merges several: for current-context and entries with the same name the first file counts.
// Every error names the file and the entry.
class KubeconfigReader {
 public:
  explicit KubeconfigReader(const ConfigContext& context)
      : context_(context), files_(context.files ? *context.files : real_files()) {}

  Result<void> add(std::string_view text, const std::string& path) {
    path_ = path;
    auto document = yaml::parse(text);
    if (!document) return wrong(document.error().message());
    if (document->is_null()) *document = json::object();  // an empty file is a kubeconfig without entries
    if (!document->is_object()) return wrong("it is not a kubeconfig: the document is not a mapping");
    if (std::string kind = text_of(*document, "kind"); !kind.empty() && kind != "Config") {
      return wrong("kind is " + quote(kind) + ", expected \"Config\"");
    }
    paths_.push_back(path);
    if (text_of(root_, "current-context").empty()) root_["current-context"] = text_of(*document, "current-context");
    for (const char* list : {"contexts", "clusters", "users"}) {
      auto entries = document->find(list);
      if (entries == document->end() || !entries->is_array()) continue;
      for (json& entry : *entries) {
        if (!entry.is_object()) continue;
        const std::string key = std::string(list) + "/" + text_of(entry, "name");
        if (!origins_.emplace(key, path).second) continue;
        root_[list].push_back(std::move(entry));
      }
    }
    return {};
  }

  // The context, cluster and user of `chosen`; its other members do not count here.
  Result<ServerConfig> read(const ConfigFlags& chosen) {
    path_ = join(paths_, ":");
    std::string name = chosen.context.empty() ? text_of(root_, "current-context") : chosen.context;
    if (name.empty() && chosen.cluster.empty())
      return wrong("no context is chosen: set current-context or pass --context");
    static const json kNone = json::object();
    const json* context = &kNone;  // a cluster can be chosen without one
    if (!name.empty()) {
      auto entry = named("contexts", "context", name);
      if (!entry) return fail(entry.error());
      context = *entry;
    }
    ServerConfig config;
    config.origin =
        name.empty() ? "cluster " + quote(chosen.cluster) + " of " + path_ : "context " + quote(name) + " of " + path_;
    if (std::string ns = text_of(*context, "namespace"); !ns.empty()) config.default_namespace = ns;
    std::string cluster = chosen.cluster.empty() ? text_of(*context, "cluster") : chosen.cluster;
    if (cluster.empty()) return wrong("context " + quote(name) + " names no cluster");
    const std::string all = path_;
    if (auto done = read_cluster(cluster, config); !done) return fail(done.error());
    std::string user = chosen.user.empty() ? text_of(*context, "user") : chosen.user;
    if (user.empty()) return config;
    path_ = all;
    if (auto done = read_user(user, config); !done) return fail(done.error());
    return config;
  }

 private:
  Unexpected wrong(const std::string& what) const {
    return fail(Code::kInvalidArgument, "kubeconfig " + quote(path_) + ": " + what);
  }

  static std::string text_of(const json& object, const char* key) {
    auto it = object.find(key);
    return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
  }

  // The mapping `inner` of the entry `name` in the list `list`.
  Result<const json*> named(const char* list, const char* inner, const std::string& name) const {
    auto entries = root_.find(list);
    std::vector<std::string> known;
    if (entries != root_.end() && entries->is_array()) {
      for (const json& entry : *entries) {
        if (!entry.is_object()) continue;
        if (text_of(entry, "name") != name) {
          known.push_back(text_of(entry, "name"));
          continue;
        }
        auto found = entry.find(inner);
        if (found == entry.end() || !found->is_object()) {
          return wrong(std::string(list) + " entry " + quote(name) + " has no " + inner);
        }
        return &*found;
      }
    }
    return wrong(std::string("no ") + inner + " " + quote(name) + " in " + list +
                 (known.empty() ? "" : "; there are " + join(known, ", ")));
  }

  std::string absolute(const std::string& file) const {
    if (file.empty() || file[0] == '/') return file;
    auto slash = path_.rfind('/');
    return slash == std::string::npos ? file : path_.substr(0, slash + 1) + file;
  }

  // A field that may also be given as base64 data.
  Result<std::string> data(const json& object, const char* key, const std::string& where) const {
    std::string encoded = text_of(object, key);
    std::string decoded;
    if (!encoded.empty() && !base64_decode(encoded, decoded)) {
      return wrong(where + ": " + key + " is not base64");
    }
    return decoded;
  }

  Result<void> read_cluster(const std::string& name, ServerConfig& config) {
    auto found = named("clusters", "cluster", name);
    if (!found) return fail(found.error());
    path_ = origins_.at("clusters/" + name);
    const json& cluster = **found;
    std::string where = "cluster " + quote(name);
    config.server = plain_server(text_of(cluster, "server"));
    if (config.server.rfind("https://", 0) != 0 && config.server.rfind("http://", 0) != 0) {
      return wrong(where + ": server " + quote(config.server) + " must begin with https:// or http://");
    }
    auto insecure = cluster.find("insecure-skip-tls-verify");
    config.insecure = insecure != cluster.end() && insecure->is_boolean() && insecure->get<bool>();
    config.tls_server_name = text_of(cluster, "tls-server-name");
    config.proxy_url = text_of(cluster, "proxy-url");
    auto authority = data(cluster, "certificate-authority-data", where);
    if (!authority) return fail(authority.error());
    config.certificate_authority = std::move(*authority);
    if (std::string file = text_of(cluster, "certificate-authority");
        !file.empty() && config.certificate_authority.empty()) {
      auto pem = files_.read(absolute(file));
      if (!pem) return wrong(where + ": certificate-authority: " + pem.error().message());
      config.certificate_authority = std::move(*pem);
    }
    if (config.insecure && !config.certificate_authority.empty()) {
      return wrong(where + ": insecure-skip-tls-verify and a certificate authority exclude each other");
    }
    if (!config.certificate_authority.empty() && config.certificate_authority.find("-----BEGIN") == std::string::npos) {
      return wrong(where + ": the certificate authority is not PEM");
    }
    return {};
  }

  Result<void> read_user(const std::string& name, ServerConfig& config) {
    auto found = named("users", "user", name);
    if (!found) return fail(found.error());
    path_ = origins_.at("users/" + name);
    const json& user = **found;
    std::string where = "user " + quote(name);
    for (const char* key : {"auth-provider", "as", "as-uid", "as-groups"}) {
      if (user.contains(key))
        return wrong(where + ": " + key + " is not supported; use a token, a certificate or exec");
    }
    if (user.contains("exec")) return read_exec(user, where, config);
    Credential fixed;
    CredentialFiles paths;
    if (std::string token = text_of(user, "token"); !token.empty()) fixed.authorization = "Bearer " + token;
    // As in kubectl, a token file takes precedence over a token.
    paths.token = absolute(text_of(user, "tokenFile"));
    std::string username = text_of(user, "username");
    if (!username.empty() && fixed.authorization.empty() && paths.token.empty()) {
      fixed.authorization = "Basic " + base64_encode(username + ":" + text_of(user, "password"));
    }
    auto certificate = data(user, "client-certificate-data", where);
    if (!certificate) return fail(certificate.error());
    auto key = data(user, "client-key-data", where);
    if (!key) return fail(key.error());
    fixed.certificate = std::move(*certificate);
    fixed.key = std::move(*key);
    std::string certificate_file = fixed.certificate.empty() ? absolute(text_of(user, "client-certificate")) : "";
    std::string key_file = fixed.key.empty() ? absolute(text_of(user, "client-key")) : "";
    if ((fixed.certificate.empty() && certificate_file.empty()) != (fixed.key.empty() && key_file.empty())) {
      return wrong(where + ": a client certificate needs its key and a key its certificate");
    }
    if (auto mixed = mix(fixed, paths, certificate_file, key_file, where); !mixed) return mixed;
    if (paths.token.empty() && paths.certificate.empty()) {
      if (!(fixed == Credential{})) config.credentials = fixed_credentials(std::move(fixed));
      return {};
    }
    DRA_CHECK(context_.reactor != nullptr);
    config.credentials = file_credentials(context_.reactor->clock(), files_, std::move(paths), std::move(fixed));
    // Reads the files now, so that an unreadable file is reported at the program's start.
    Result<void> first;
    config.credentials->get([&](Result<Credential> credential) {
      if (!credential) first = wrong(where + ": " + credential.error().message());
    });
    return first;
  }

  // If only one of certificate and key is in a file, that file is read once; both in files are reread.
  Result<void> mix(Credential& fixed, CredentialFiles& paths, const std::string& certificate_file,
                   const std::string& key_file, const std::string& where) const {
    if (!certificate_file.empty() && !key_file.empty()) {
      paths.certificate = certificate_file;
      paths.key = key_file;
      return {};
    }
    if (!certificate_file.empty()) {
      auto pem = files_.read(certificate_file);
      if (!pem) return wrong(where + ": client-certificate: " + pem.error().message());
      fixed.certificate = std::move(*pem);
    }
    if (!key_file.empty()) {
      auto pem = files_.read(key_file);
      if (!pem) return wrong(where + ": client-key: " + pem.error().message());
      fixed.key = std::move(*pem);
    }
    return {};
  }

  Result<void> read_exec(const json& user, const std::string& where, ServerConfig& config) {
    const json& exec = user["exec"];
    if (!exec.is_object()) return wrong(where + ": exec is not a mapping");
    ExecPlugin plugin;
    plugin.command = text_of(exec, "command");
    plugin.api_version = text_of(exec, "apiVersion");
    plugin.install_hint = text_of(exec, "installHint");
    if (plugin.command.empty()) return wrong(where + ": exec has no command");
    if (plugin.api_version != "client.authentication.k8s.io/v1" &&
        plugin.api_version != "client.authentication.k8s.io/v1beta1") {
      return wrong(where + ": exec apiVersion " + quote(plugin.api_version) +
                   " is not supported; use client.authentication.k8s.io/v1");
    }
    if (text_of(exec, "interactiveMode") == "Always") {
      return wrong(where + ": exec plugin " + quote(plugin.command) + " needs a terminal (interactiveMode: Always)");
    }
    // As in kubectl: a command with a slash is relative to the file, one without is looked up in PATH.
    if (plugin.command.find('/') != std::string::npos) plugin.command = absolute(plugin.command);
    if (auto args = exec.find("args"); args != exec.end() && args->is_array()) {
      for (const json& arg : *args) {
        if (!arg.is_string()) return wrong(where + ": exec args must be strings");
        plugin.args.push_back(arg.get<std::string>());
      }
    }
    if (auto env = exec.find("env"); env != exec.end() && env->is_array()) {
      for (const json& variable : *env) {
        if (!variable.is_object() || text_of(variable, "name").empty()) {
          return wrong(where + ": exec env entries need a name and a value");
        }
        plugin.env.emplace_back(text_of(variable, "name"), text_of(variable, "value"));
      }
    }
    auto provide = exec.find("provideClusterInfo");
    if (provide != exec.end() && provide->is_boolean() && provide->get<bool>()) {
      json cluster = {{"server", config.server}};
      if (!config.certificate_authority.empty()) {
        cluster["certificate-authority-data"] = base64_encode(config.certificate_authority);
      }
      if (config.insecure) cluster["insecure-skip-tls-verify"] = true;
      if (!config.tls_server_name.empty()) cluster["tls-server-name"] = config.tls_server_name;
      if (!config.proxy_url.empty()) cluster["proxy-url"] = config.proxy_url;
      plugin.cluster_json = cluster.dump(-1, ' ', false, json::error_handler_t::replace);
    }
    DRA_CHECK(context_.reactor != nullptr);
    config.credentials = exec_credentials(*context_.reactor, std::move(plugin));
    return {};
  }

  std::string path_;  // the source being read: one file, or all of them
  const ConfigContext& context_;
  const FileReader& files_;
  std::vector<std::string> paths_;
  json root_ = json::object();                  // the merged entries
  std::map<std::string, std::string> origins_;  // "users/x" -> its file
};

std::string variable(const std::map<std::string, std::string>& environment, const char* name) {
  auto it = environment.find(name);
  return it == environment.end() ? std::string() : it->second;
}

}  // namespace

const FileReader& real_files() {
  static const RealFiles files;
  return files;
}

Result<ServerConfig> parse_kubeconfig(std::string_view text, const std::string& path, const std::string& context_name,
                                      const ConfigContext& context) {
  KubeconfigReader reader(context);
  if (auto added = reader.add(text, path); !added) return fail(added.error());
  return reader.read({.context = context_name});
}

namespace {

Result<ServerConfig> load_chosen(const std::vector<std::string>& paths, const ConfigFlags& chosen,
                                 const ConfigContext& context) {
  const FileReader& files = context.files ? *context.files : real_files();
  KubeconfigReader reader(context);
  bool any = false;
  for (const std::string& path : paths) {
    auto text = files.read(path);
    if (!text && text.error().code() == Code::kNotFound) continue;
    if (!text) return fail(Code::kInvalidArgument, "kubeconfig: " + text.error().message());
    if (auto added = reader.add(*text, path); !added) return fail(added.error());
    any = true;
  }
  if (any) return reader.read(chosen);
  return fail(Code::kInvalidArgument, "kubeconfig: none of the files " + join(paths, ", ") + " exists");
}

// One file, which must be there.
Result<ServerConfig> load_chosen_file(const std::string& path, const ConfigFlags& chosen,
                                      const ConfigContext& context) {
  const FileReader& files = context.files ? *context.files : real_files();
  auto text = files.read(path);
  if (!text) return fail(Code::kInvalidArgument, "kubeconfig: " + text.error().message());
  KubeconfigReader reader(context);
  if (auto added = reader.add(*text, path); !added) return fail(added.error());
  return reader.read(chosen);
}

}  // namespace

Result<ServerConfig> in_cluster_config(const std::map<std::string, std::string>& environment,
                                       const ConfigContext& context) {
  const std::string mount = "/var/run/secrets/kubernetes.io/serviceaccount/";
  std::string host = variable(environment, "KUBERNETES_SERVICE_HOST");
  std::string port = variable(environment, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return fail(Code::kInvalidArgument,
                "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; pass --kubeconfig");
  }
  const FileReader& files = context.files ? *context.files : real_files();
  ServerConfig config;
  config.origin = "the service account mounted at " + mount;
  bool v6 = host.find(':') != std::string::npos;
  config.server = "https://" + (v6 ? "[" + host + "]" : host) + ":" + port;
  auto authority = files.read(mount + "ca.crt");
  if (!authority) return fail(Code::kInvalidArgument, "in-cluster configuration: " + authority.error().message());
  config.certificate_authority = std::move(*authority);
  if (auto ns = files.read(mount + "namespace"); ns && !trim(*ns).empty()) {
    config.default_namespace = std::string(trim(*ns));
  }
  DRA_CHECK(context.reactor != nullptr);
  config.credentials = file_credentials(context.reactor->clock(), files, {mount + "token", "", ""}, {});
  Result<ServerConfig> result = config;
  config.credentials->get([&](Result<Credential> credential) {
    if (!credential) result = fail(Code::kInvalidArgument, "in-cluster configuration: " + credential.error().message());
  });
  return result;
}

Result<ServerConfig> load_config(const ConfigFlags& flags, const std::map<std::string, std::string>& environment,
                                 const ConfigContext& context) {
  std::string path = flags.kubeconfig;
  Result<ServerConfig> config = ServerConfig{};
  if (path.empty() && !variable(environment, "KUBERNETES_SERVICE_HOST").empty() && flags.context.empty() &&
      flags.cluster.empty() && flags.user.empty()) {
    config = in_cluster_config(environment, context);
  } else {
    if (path.empty()) path = variable(environment, "KUBECONFIG");
    std::string home = variable(environment, "HOME");
    bool guessed = path.empty();
    if (guessed && !home.empty()) path = home + "/.kube/config";
    const FileReader& files = context.files ? *context.files : real_files();
    if (guessed && !flags.master.empty() && (path.empty() || !files.read(path))) {
      config->origin = flags.master_flag;
    } else if (path.empty()) {
      return fail(Code::kInvalidArgument, "no API server is named: pass --kubeconfig or " + flags.master_flag);
    } else if (flags.kubeconfig.empty() && path.find(':') != std::string::npos && !guessed) {
      std::vector<std::string> paths;
      for (const std::string& part : split(path, ':'))
        if (!part.empty() && std::find(paths.begin(), paths.end(), part) == paths.end()) paths.push_back(part);
      config = load_chosen(paths, flags, context);
    } else {
      config = load_chosen_file(path, flags, context);
    }
  }
  if (!config || flags.master.empty()) return config;
  config->server = plain_server(flags.master);
  if (config->server.rfind("https://", 0) != 0 && config->server.rfind("http://", 0) != 0) {
    return fail(Code::kInvalidArgument,
                flags.master_flag + " " + quote(config->server) + " must begin with https:// or http://");
  }
  return config;
}

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    auto equals = text.find('=');
    if (equals != std::string_view::npos)
      out[std::string(text.substr(0, equals))] = std::string(text.substr(equals + 1));
  }
  return out;
}

}  // namespace dra::client
