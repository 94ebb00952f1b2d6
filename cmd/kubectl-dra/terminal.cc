#include "cmd/kubectl-dra/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cmd/kubectl-dra/verb.h"

namespace dra::kubectl {
namespace {

// The other page, without a cursor and without wrapping; and back.
constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[0m\x1b[2J";
constexpr char kLeave[] = "\x1b[0m\x1b[2J\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr int kNews[] = {SIGWINCH, SIGCONT, SIGINT, SIGTERM, SIGHUP};
constexpr size_t kMaxTyped = 4096;

// What signal handlers read. Set before they are installed, and left after them.
termios g_before{};
std::atomic<bool> g_entered{false};
int g_wake[2] = {-1, -1};

// Safe in a signal handler.
void leave() {
  if (!g_entered.exchange(false)) return;
  // A terminal that takes no more is left as it is.
  static_cast<void>(!::write(STDOUT_FILENO, kLeave, sizeof kLeave - 1));
  ::tcsetattr(STDIN_FILENO, TCSANOW, &g_before);
}

void on_stop(int number);

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

bool enter() {
  handle(SIGTSTP, &on_stop);
  termios raw = g_before;
  raw.c_iflag &= ~static_cast<tcflag_t>(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  g_entered = true;
  return ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0 && print(kEnter);
}

void on_crash(int number) {
  leave();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void on_news(int number) {
  const int kept = errno;
  const char byte = static_cast<char>(number);
  static_cast<void>(!::write(g_wake[1], &byte, 1));  // a full pipe wakes, too
  errno = kept;
}

// Stops as any program does, but with the terminal as it was; SIGCONT enters anew.
void on_stop(int number) {
  leave();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

bool Terminal::can_show() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && kind != nullptr && *kind != '\0' &&
         std::strcmp(kind, "dumb") != 0;
}

Result<std::unique_ptr<Terminal>> Terminal::open() {
  if (::tcgetattr(STDIN_FILENO, &g_before) != 0)
    return fail(Code::kUnavailable, std::string("the terminal cannot be read: ") + std::strerror(errno));
  if (::pipe2(g_wake, O_CLOEXEC | O_NONBLOCK) != 0)
    return fail(Code::kUnavailable, std::string("no pipe: ") + std::strerror(errno));
  std::unique_ptr<Terminal> terminal(new Terminal);
  for (const int number : kCrashes) handle(number, &on_crash);
  for (const int number : kNews) handle(number, &on_news);
  if (!enter()) return fail(Code::kUnavailable, "the terminal cannot be written");
  return terminal;
}

Terminal::~Terminal() {
  restore();
}

void Terminal::restore() {
  leave();
  for (const int number : kCrashes) std::signal(number, SIG_DFL);
  std::signal(SIGTSTP, SIG_DFL);
}

Terminal::Heard Terminal::wait(int limit_ms) {
  Heard heard;
  pollfd of[2] = {{STDIN_FILENO, POLLIN, 0}, {g_wake[0], POLLIN, 0}};
  const int count = ::poll(of, 2, limit_ms);
  if (count < 0 && errno != EINTR) heard.closed = true;
  if (count <= 0) return heard;
  if (of[1].revents != 0) {
    char bytes[256];
    const ssize_t got = ::read(g_wake[0], bytes, sizeof bytes);
    for (ssize_t i = 0; i < got; ++i) {
      const int number = bytes[i];
      heard.news = heard.news || number == 0;
      heard.resized = heard.resized || number == SIGWINCH || number == SIGCONT;
      heard.ended = heard.ended || number == SIGINT || number == SIGTERM || number == SIGHUP;
      // Stopped by another program, which put nothing in order: the shell may have changed the terminal.
      if (number == SIGCONT) enter();
    }
  }
  if (of[0].revents != 0) {
    char bytes[kMaxTyped];
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got > 0) heard.bytes.assign(bytes, static_cast<size_t>(got));
    const bool failed = got < 0 && errno != EINTR && errno != EAGAIN;
    heard.closed = failed || (got <= 0 && (of[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0);
  }
  return heard;
}

void Terminal::wake() {
  const char byte = 0;
  static_cast<void>(!::write(g_wake[1], &byte, 1));
}

bool Terminal::write(const std::string& bytes) {
  return print(bytes);
}

screen::Size Terminal::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {std::min<size_t>(size.ws_col, 1000), std::min<size_t>(size.ws_row, 1000)};
}

void Terminal::suspend() {
  leave();
  std::signal(SIGTSTP, SIG_DFL);
  // Of the whole job, as the terminal does it: a script that waits for this program is stopped, too.
  ::kill(0, SIGTSTP);
  // Whoever lets it go on sends SIGCONT, which enters anew.
}

}  // namespace dra::kubectl
