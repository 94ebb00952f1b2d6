// kubectl-dra: answers questions about devices, as `kubectl dra VERB` or by itself. Exit status: 0 yes, 1 no, 2 wrong
// usage, 3 could not be found out.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>

#include "cmd/kubectl-dra/verb.h"
#include "pkg/base/strings.h"

namespace dra::kubectl {
namespace {

constexpr const char* kVersion = DRA_VERSION;
constexpr auto kWatchEvery = std::chrono::seconds(2);

std::vector<Verb>& all_verbs() {
  static std::vector<Verb> all;
  return all;
}

// A line on standard error; nobody can be told if that fails.
int complain(const std::string& message, inspect::Status status) {
  std::fprintf(stderr, "kubectl-dra: %s\n", inspect::printable(join(split(message, '\n'), " ")).c_str());
  return static_cast<int>(status);
}

// Everything or an error: a pipe may be closed at the other end.
bool print(const std::string& text) {
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    at += static_cast<size_t>(count);
  }
  return true;
}

int print_or_complain(const std::string& text, int status) {
  if (print(text)) return status;
  return complain(std::string("standard output: ") + std::strerror(errno), inspect::Status::kUnknown);
}

std::string usage_text() {
  std::string text =
      "Examples:\n"
      "  kubectl dra explain pod/train-0          why a pod waits, or which devices it has\n"
      "  kubectl dra top                          what is used and free on each node\n"
      "  kubectl dra who node-a                   who holds the devices of a node\n"
      "  kubectl dra fits -f job.yaml --count 4   would four of these fit\n"
      "\nVerbs (kubectl dra VERB --help shows flags and examples of one):\n";
  for (const Verb& verb : verbs()) {
    char line[256];
    std::snprintf(line, sizeof line, "  %-11s %s\n", verb.name.c_str(), verb.summary.c_str());
    text += line;
  }
  return text +
         "  completion  the completion script of a shell: bash, zsh, fish\n"
         "  version     the version of this program\n"
         "\nExit status: 0 yes, 1 no, 2 wrong usage, 3 could not be found out.\n";
}

bool colours() {
  return ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}

int show(const inspect::Answer& answer, const CommonFlags& common, inspect::Format format) {
  const std::string text = inspect::render(answer, {format, colours(), !common.no_headers});
  if (!print(text)) return complain(std::string("standard output: ") + std::strerror(errno), inspect::Status::kUnknown);
  if (format == inspect::Format::kTable || format == inspect::Format::kWide)
    for (const std::string& note : answer.notes) std::fprintf(stderr, "note: %s\n", inspect::printable(note).c_str());
  return static_cast<int>(answer.status);
}

// Runs again and again, and prints what has changed. Ended by a signal.
int watch(const Verb& verb, const Call& call, inspect::Format format) {
  std::string shown;
  for (;;) {
    Call again = call;
    auto answer = verb.run(again);
    if (!answer) return complain(answer.error().message(), status_of(answer.error()));
    const std::string text = inspect::render(*answer, {format, false, true});
    if (text != shown) {
      if (::isatty(STDOUT_FILENO) == 1 && !print("\x1b[H\x1b[2J")) return static_cast<int>(inspect::Status::kUnknown);
      if (const int status = show(*answer, call.common, format); status == static_cast<int>(inspect::Status::kUnknown))
        return status;
      shown = text;
    }
    std::this_thread::sleep_for(kWatchEvery);
  }
}

int run_verb(const Verb& verb, const std::vector<std::string>& arguments) {
  // Never destroyed: the process ends next, and freeing a large cluster piece by piece takes longer than most answers.
  static Call& call = *new Call;
  if (const auto ended = parse_call(verb, arguments, call)) return *ended;
  const auto format = inspect::format_of(call.common.output);
  if (!format) return complain(format.error().message(), inspect::Status::kUsage);
  if (!call.common.selector.empty() && verb.name != "top")
    return complain("-l selects what top lists; " + verb.name + " takes none", inspect::Status::kUsage);
  if (call.common.watch && !call.common.from.empty())
    return complain("-w watches a server; a snapshot does not change", inspect::Status::kUsage);
  if (call.common.watch) return watch(verb, call, *format);
  const SystemClock clock;
  const MonoTime begun = clock.mono_now();
  auto answer = verb.run(call);
  if (!answer) return complain(answer.error().message(), status_of(answer.error()));
  if (call.common.times)
    std::fprintf(stderr, "loaded in %lld ms, answered in %lld ms\n",
                 static_cast<long long>(call.load_time / std::chrono::milliseconds(1)),
                 static_cast<long long>((clock.mono_now() - begun - call.load_time) / std::chrono::milliseconds(1)));
  return show(*answer, call.common, *format);
}

int run_completion(const std::vector<std::string>& arguments) {
  const auto script = arguments.size() == 1 ? completion_script(arguments[0]) : std::nullopt;
  if (!script) return complain("completion needs one of bash, zsh, fish", inspect::Status::kUsage);
  return print_or_complain(*script, 0);
}

int run(const std::string& program, const std::vector<std::string>& arguments) {
  if (program.ends_with("kubectl_complete-dra")) return complete(arguments);
  if (arguments.empty()) {
    std::fprintf(stderr, "%s", usage_text().c_str());
    return static_cast<int>(inspect::Status::kUsage);
  }
  const std::string& name = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (name == "--help" || name == "-h" || name == "help") return print_or_complain(usage_text(), 0);
  if (name == "version" || name == "--version")
    return print_or_complain(std::string("kubectl-dra ") + kVersion + "\n", 0);
  if (name == "completion") return run_completion(rest);
  if (name == "__complete") return complete(rest);
  if (name.starts_with("-"))
    return complain("flags come after the verb: kubectl dra VERB " + name, inspect::Status::kUsage);
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) {
    if (verb.name == name) return run_verb(verb, rest);
    names.push_back(verb.name);
  }
  const std::string near = inspect::nearest(name, names);
  return complain(
      "unknown verb " + quote(name) + (near.empty() ? "; see --help" : "; did you mean " + quote(near) + "?"),
      inspect::Status::kUsage);
}

}  // namespace

const std::vector<Verb>& verbs() {
  return all_verbs();
}

RegisterVerb::RegisterVerb(Verb verb) {
  auto& all = all_verbs();
  const auto before = [](const Verb& a, const Verb& b) { return a.name < b.name; };
  all.insert(std::upper_bound(all.begin(), all.end(), verb, before), std::move(verb));
}

inspect::Status status_of(const Error& error) {
  switch (error.code()) {
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kUnsupported:
    case Code::kResourceExhausted:
      return inspect::Status::kUsage;
    default:
      return inspect::Status::kUnknown;
  }
}

}  // namespace dra::kubectl

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return dra::kubectl::run(argc > 0 ? argv[0] : "", std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "kubectl-dra: %s\n", e.what());
    return 3;
  }
}
