#include "client/config/exec_plugin.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "pkg/base/strings.h"

namespace dra::client {
namespace {

using nlohmann::json;

constexpr size_t kMaxStderr = 4096;
constexpr int64_t kCancelLook = 50;  // ms between checks of the cancellation flag
constexpr Duration kEarly = std::chrono::seconds(10);
constexpr Duration kRerun = std::chrono::seconds(1);

std::string exec_info(const ExecPlugin& plugin) {
  json info = {{"kind", "ExecCredential"}, {"apiVersion", plugin.api_version}, {"spec", {{"interactive", false}}}};
  if (!plugin.cluster_json.empty()) info["spec"]["cluster"] = json::parse(plugin.cluster_json, nullptr, false);
  return info.dump(-1, ' ', false, json::error_handler_t::replace);
}

// This process's environment, overridden by the plugin's variables.
std::vector<std::string> plugin_environment(const ExecPlugin& plugin) {
  std::vector<std::pair<std::string, std::string>> added = plugin.env;
  added.emplace_back("KUBERNETES_EXEC_INFO", exec_info(plugin));
  std::vector<std::string> out;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    std::string_view text = *variable;
    std::string_view name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [key, value] : added) replaced = replaced || key == name;
    if (!replaced) out.emplace_back(text);
  }
  for (const auto& [key, value] : added) out.push_back(key + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

struct Pipe {
  int ends[2] = {-1, -1};
  bool open() { return pipe2(ends, O_CLOEXEC) == 0; }
  void close_end(int i) {
    if (ends[i] >= 0) close(ends[i]);
    ends[i] = -1;
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
};

struct Finished {
  std::string out;
  std::string err;
  int status = 0;
  bool timed_out = false;
  bool too_long = false;
  bool cancelled = false;
  bool must_die() const { return timed_out || too_long || cancelled; }
};

bool is_set(const std::atomic<bool>* flag) {
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

int milliseconds_until(std::chrono::steady_clock::time_point end) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(std::min<int64_t>(left, kCancelLook));
}

// Reads both pipes until they are closed or a limit is reached.
void read_output(Pipe& out, Pipe& err, const ExecPlugin& plugin, std::chrono::steady_clock::time_point end,
                 const std::atomic<bool>* cancelled, Finished& result) {
  char buffer[16384];
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    pollfd fds[2] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}};
    int ready = poll(fds, 2, milliseconds_until(end));
    if (std::chrono::steady_clock::now() >= end) {
      result.timed_out = true;
      return;
    }
    if ((result.cancelled = is_set(cancelled))) return;
    if (ready <= 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (fds[i].revents == 0) continue;
      Pipe& from = i == 0 ? out : err;
      ssize_t n = read(from.ends[0], buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        from.close_end(0);
        continue;
      }
      std::string& into = i == 0 ? result.out : result.err;
      size_t limit = i == 0 ? plugin.output_limit : kMaxStderr;
      into.append(buffer, std::min(static_cast<size_t>(n), limit - std::min(limit, into.size())));
      if (i == 0 && result.out.size() >= limit) {
        result.too_long = true;
        return;
      }
    }
  }
}

// Waits for the process until `end`, then kills its process group.
void reap(pid_t pid, std::chrono::steady_clock::time_point end, const std::atomic<bool>* cancelled, Finished& result) {
  // A limit was reached, perhaps by a child that outlives the plugin: kill the whole group.
  if (result.must_die()) kill(-pid, SIGKILL);
  for (;;) {
    pid_t done = waitpid(pid, &result.status, WNOHANG);
    if (done == pid || (done < 0 && errno != EINTR)) return;
    result.cancelled = result.cancelled || is_set(cancelled);
    if (!result.must_die() && std::chrono::steady_clock::now() >= end) result.timed_out = true;
    if (result.must_die()) {
      kill(-pid, SIGKILL);
      while (waitpid(pid, &result.status, 0) < 0 && errno == EINTR) {
      }
      return;
    }
    // The pipes are already closed, so the program is about to end.
    poll(nullptr, 0, 5);
  }
}

Result<Finished> run(const ExecPlugin& plugin, const std::atomic<bool>* cancelled) {
  Pipe out;
  Pipe err;
  if (!out.open() || !err.open()) {
    return fail(Code::kUnauthenticated, std::string("no pipe for the exec plugin: ") + std::strerror(errno));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> args{plugin.command};
  args.insert(args.end(), plugin.args.begin(), plugin.args.end());
  std::vector<std::string> env = plugin_environment(plugin);
  auto argv = pointers(args);
  auto envp = pointers(env);
  pid_t pid = 0;
  int error = posix_spawnp(&pid, plugin.command.c_str(), &actions, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    std::string hint = plugin.install_hint.empty() ? "" : "; " + plugin.install_hint;
    return fail(Code::kUnauthenticated,
                "exec plugin " + quote(plugin.command) + " cannot be started: " + std::strerror(error) + hint);
  }
  out.close_end(1);
  err.close_end(1);
  Finished result;
  auto end = std::chrono::steady_clock::now() + plugin.time_limit;
  read_output(out, err, plugin, end, cancelled, result);
  reap(pid, end, cancelled, result);
  return result;
}

std::string json_text(const json& object, const char* key) {
  auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

Unexpected exec_failure(const std::string& what) {
  return fail(Code::kUnauthenticated, "exec plugin's output: " + what);
}

class ExecCredentials : public CredentialSource, public std::enable_shared_from_this<ExecCredentials> {
 public:
  ExecCredentials(Reactor& reactor, ExecPlugin plugin) : reactor_(reactor), plugin_(std::move(plugin)) {}
  ~ExecCredentials() override { *cancelled_ = true; }

  void get(std::function<void(Result<Credential>)> done) override {
    if (usable()) {
      done(current_.credential);
      return;
    }
    if (*cancelled_) {
      done(fail(Code::kUnauthenticated, "exec plugin " + quote(plugin_.command) + " is not run: the program ends"));
      return;
    }
    if (!running_ && ran_ && !last_failure_.empty() && reactor_.clock().mono_now() - failed_at_ < kRerun) {
      done(fail(Code::kUnauthenticated, last_failure_));
      return;
    }
    waiting_.push_back(std::move(done));
    if (!running_) start();
  }

  void cancel() override { *cancelled_ = true; }

  void rejected(const Credential& credential) override {
    if (credential == current_.credential) have_ = false;
  }

 private:
  bool usable() const {
    if (!have_) return false;
    return current_.expires == Timestamp() || current_.expires - reactor_.clock().wall_now() > kEarly;
  }

  void start() {
    running_ = true;
    auto result = std::make_shared<Result<ExecCredential>>(ExecCredential{});
    std::weak_ptr<ExecCredentials> weak = weak_from_this();
    reactor_.offload([result, plugin = plugin_, flag = cancelled_] { *result = run_exec_plugin(plugin, flag.get()); },
                     [weak, result] {
                       if (auto self = weak.lock()) self->finished(*result);
                     });
  }

  void finished(const Result<ExecCredential>& result) {
    running_ = false;
    ran_ = true;
    last_failure_.clear();
    if (result) {
      current_ = *result;
      have_ = true;
    } else {
      last_failure_ = result.error().message();
      failed_at_ = reactor_.clock().mono_now();
    }
    auto waiting = std::exchange(waiting_, {});
    for (auto& done : waiting) done(result ? Result<Credential>(result->credential) : fail(result.error()));
  }

  Reactor& reactor_;
  ExecPlugin plugin_;
  // Shared with the worker, which may outlive this object.
  std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  ExecCredential current_;
  bool have_ = false;
  bool running_ = false;
  bool ran_ = false;
  std::string last_failure_;
  MonoTime failed_at_{};
  std::vector<std::function<void(Result<Credential>)>> waiting_;
};

}  // namespace

Result<ExecCredential> parse_exec_credential(std::string_view text, const std::string& api_version) {
  json document = json::parse(text.begin(), text.end(), nullptr, false);
  if (!document.is_object()) return exec_failure("not a JSON object");
  if (json_text(document, "kind") != "ExecCredential") return exec_failure("kind is not ExecCredential");
  if (json_text(document, "apiVersion") != api_version) {
    return exec_failure("apiVersion is " + quote(json_text(document, "apiVersion")) + ", the kubeconfig says " +
                        quote(api_version));
  }
  auto status = document.find("status");
  if (status == document.end() || !status->is_object()) return exec_failure("no status");
  ExecCredential out;
  std::string token = json_text(*status, "token");
  if (token.find_first_of("\r\n") != std::string::npos) return exec_failure("status.token has more than one line");
  if (!token.empty()) out.credential.authorization = "Bearer " + token;
  out.credential.certificate = json_text(*status, "clientCertificateData");
  out.credential.key = json_text(*status, "clientKeyData");
  if (out.credential.certificate.empty() != out.credential.key.empty()) {
    return exec_failure("status has only one of clientCertificateData and clientKeyData");
  }
  if (out.credential == Credential{}) return exec_failure("status has neither a token nor a client certificate");
  std::string expires = json_text(*status, "expirationTimestamp");
  if (!expires.empty() && !parse_rfc3339(expires, out.expires)) {
    return exec_failure("status.expirationTimestamp " + quote(expires) + " is not an RFC 3339 time");
  }
  return out;
}

Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const std::atomic<bool>* cancelled) {
  std::string what = "exec plugin " + quote(plugin.command);
  if (is_set(cancelled)) return fail(Code::kUnauthenticated, what + " is not run: the program ends");
  auto ran = run(plugin, cancelled);
  if (!ran) return fail(ran.error());
  if (ran->cancelled) return fail(Code::kUnauthenticated, what + " was killed: the program ends");
  if (ran->too_long) {
    return fail(Code::kUnauthenticated, what + " printed more than " + std::to_string(plugin.output_limit) + " bytes");
  }
  if (ran->timed_out) {
    auto seconds = std::chrono::duration<double>(plugin.time_limit).count();
    return fail(Code::kUnauthenticated, what + " did not end within " + std::to_string(seconds) + " s");
  }
  if (!WIFEXITED(ran->status) || WEXITSTATUS(ran->status) != 0) {
    std::string how = WIFEXITED(ran->status) ? "exit status " + std::to_string(WEXITSTATUS(ran->status))
                                             : "signal " + std::to_string(WTERMSIG(ran->status));
    std::string said(trim(ran->err));
    return fail(Code::kUnauthenticated, what + " failed with " + how + (said.empty() ? "" : ": " + quote(said)));
  }
  auto parsed = parse_exec_credential(ran->out, plugin.api_version);
  if (!parsed) return fail(parsed.error().wrap(what));
  return parsed;
}

std::shared_ptr<CredentialSource> exec_credentials(Reactor& reactor, ExecPlugin plugin) {
  return std::make_shared<ExecCredentials>(reactor, std::move(plugin));
}

}  // namespace dra::client
