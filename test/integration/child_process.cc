#include "test/integration/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace dra::integration {
namespace {

constexpr size_t kMostOutput = 2000;
constexpr int kGraceMilliseconds = 3000;

// In the child, between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(const char* program, char* const* arguments, int log, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the child also dies if the test is killed
  if (::getppid() != parent) ::_exit(127);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execv(program, arguments);
  ::_exit(127);
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::string& program, const std::vector<std::string>& arguments,
                                         const std::string& log) {
  if (::access(program.c_str(), X_OK) != 0)
    return fail(Code::kNotFound, program + " cannot be run: " + std::strerror(errno));
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (output < 0) return fail(Code::kUnavailable, log + " cannot be written: " + std::strerror(errno));
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(program.c_str(), words.data(), output, parent);
  const int error = errno;
  ::close(output);
  if (pid < 0) return fail(Code::kUnavailable, program + " cannot be started: " + std::strerror(error));
  return ChildProcess(pid, program, log);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      program_(std::move(other.program_)),
      log_(std::move(other.log_)),
      reaped_(std::exchange(other.reaped_, true)),
      status_(other.status_) {}

ChildProcess::~ChildProcess() {
  if (reap()) return;
  ::kill(pid_, SIGTERM);
  // Readable when the process has ended. If the kernel lacks such descriptors, there is no waiting.
  pollfd ended{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)), POLLIN, 0};
  if (ended.fd >= 0) {
    ::poll(&ended, 1, kGraceMilliseconds);
    ::close(ended.fd);
  }
  if (reap()) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool ChildProcess::reap() {
  if (!reaped_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) reaped_ = true;
  return reaped_;
}

std::string ChildProcess::ended() {
  if (!reap()) return "";
  const std::string how = WIFEXITED(status_) ? "exit code " + std::to_string(WEXITSTATUS(status_))
                                             : "signal " + std::to_string(WTERMSIG(status_));
  return program_ + " ended with " + how + ": " + output();
}

std::string ChildProcess::output() const {
  std::ostringstream text;
  text << std::ifstream(log_).rdbuf();
  const std::string all = text.str();
  if (all.empty()) return "(no output)";
  return all.size() <= kMostOutput ? all : "..." + all.substr(all.size() - kMostOutput);
}

}  // namespace dra::integration
