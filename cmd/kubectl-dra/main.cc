// kubectl-dra: answers questions about devices, as `kubectl dra VERB` or on its own. Exit status: 0 yes, 1 no, 2 wrong
// usage, 3 unknown.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "cmd/kubectl-dra/help.h"
#include "cmd/kubectl-dra/verb.h"
#include "pkg/base/strings.h"
#include "pkg/inspect/answer/layout.h"
#include "pkg/inspect/answer/sort.h"

namespace dra::kubectl {
namespace {

constexpr const char* kVersion = DRA_VERSION;

std::vector<Verb>& all_verbs() {
  static std::vector<Verb> all;
  return all;
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
         "  options     the flags that all verbs have\n"
         "\nExit status: 0 yes, 1 no, 2 wrong usage, 3 could not be found out.";
}

bool colours() {
  return ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}

std::string why_not_watched(const Verb& verb, const Call& call) {
  if (!call.common.from.empty()) return "-w watches a server; a snapshot does not change";
  const auto file = call.values.find("filename");
  if (file != call.values.end() && file->second == "-") return "-w reads its file again and again; standard input ends";
  if (verb.can_watch) return "";
  std::vector<std::string> names;
  for (const Verb& one : verbs())
    if (one.can_watch) names.push_back(one.name);
  return verb.name + " is done once; -w goes with " + join(names, ", ");
}

// A program that reads JSON or YAML gets its answer there, also where there is none.
void show_failure(const Error& error, inspect::Format format) {
  if (format != inspect::Format::kJson && format != inspect::Format::kYaml) return;
  inspect::Answer answer{"DRAError"};
  answer.status = status_of(error);
  answer.say("Failed", error.message());
  static_cast<void>(print(inspect::render(answer, {format})));
}

int run_verb(const Verb& verb, const std::vector<std::string>& arguments) {
  // Never destroyed: the process ends next, and freeing a large cluster piece by piece takes longer than most answers.
  static Call& call = *new Call;
  if (const auto ended = parse_call(verb, arguments, call)) return *ended;
  const auto format = inspect::format_of(call.common.output);
  if (!format) return complain(format.error().message(), inspect::Status::kUsage);
  if (!call.common.selector.empty() && verb.name != "top" && verb.name != "explain")
    return complain("-l selects what top lists, or the pods of explain without an object; " + verb.name + " takes none",
                    inspect::Status::kUsage);
  if (call.common.watch)
    if (const std::string why = why_not_watched(verb, call); !why.empty())
      return complain(why, inspect::Status::kUsage);
  if (call.common.watch) return watch(verb, call, *format);
  const SystemClock clock;
  const MonoTime begun = clock.mono_now();
  auto answer = verb.run(call);
  if (!answer) {
    show_failure(answer.error(), *format);
    return complain(answer.error().message(), status_of(answer.error()));
  }
  if (call.common.times)
    std::fprintf(stderr, "loaded in %lld ms, answered in %lld ms\n",
                 static_cast<long long>(call.load_time / std::chrono::milliseconds(1)),
                 static_cast<long long>((clock.mono_now() - begun - call.load_time) / std::chrono::milliseconds(1)));
  return show(*answer, call, *format).value_or(static_cast<int>(inspect::Status::kUnknown));
}

int run_completion(const std::vector<std::string>& arguments) {
  if (arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h"))
    return print_or_complain(completion_help(), 0);
  const auto script = arguments.size() == 1 ? completion_script(arguments[0]) : std::nullopt;
  if (!script)
    return complain("completion " +
                        (arguments.empty() ? "needs a shell" : quote(join(arguments, " ")) + " is not known") +
                        "; use one of bash, zsh, fish",
                    inspect::Status::kUsage);
  return print_or_complain(*script, 0);
}

int run(const std::string& program, const std::vector<std::string>& arguments) {
  if (program.ends_with("kubectl_complete-dra")) return complete(arguments);
  const size_t width = Call().width();
  const std::string page = inspect::wrapped(usage_text(), width == 0 ? 80 : width) + "\n";
  if (arguments.empty()) {
    std::fprintf(stderr, "%s", page.c_str());
    return static_cast<int>(inspect::Status::kUsage);
  }
  // "help VERB" is "VERB --help".
  if (arguments[0] == "help" && arguments.size() > 1) return run(program, {arguments[1], "--help"});
  const std::string& name = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (name == "--help" || name == "-h" || name == "help") return print_or_complain(page, 0);
  if (name == "options") return print_or_complain(options_help(Call().width()), 0);
  if (name == "--version") return print_or_complain(std::string("kubectl-dra ") + kVersion + "\n", 0);
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
  return complain("unknown verb " + quote(name) +
                      (near.empty() ? "; use one of " + join(names, ", ") : "; did you mean " + quote(near) + "?"),
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

// If that fails, there is no way to report it.
int complain(const std::string& message, inspect::Status status) {
  std::fprintf(stderr, "kubectl-dra: %s\n", inspect::printable(join(split(message, '\n'), " ")).c_str());
  return static_cast<int>(status);
}

// All or nothing: a pipe may be closed at the other end.
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

std::optional<int> show(const inspect::Answer& given, const Call& call, inspect::Format format) {
  inspect::Answer sorted;
  if (!call.common.sort_by.empty()) {
    sorted = given;
    if (auto done = inspect::sort_rows(sorted, call.common.sort_by); !done)
      return complain(done.error().message(), inspect::Status::kUsage);
  }
  const inspect::Answer& answer = call.common.sort_by.empty() ? given : sorted;
  const size_t width = call.width();
  const std::string text = inspect::render(answer, {format, colours(), !call.common.no_headers, width, width});
  if (!print(text)) {
    complain(std::string("standard output: ") + std::strerror(errno), inspect::Status::kUnknown);
    return std::nullopt;
  }
  if (format == inspect::Format::kTable || format == inspect::Format::kWide)
    for (const std::string& note : answer.notes) {
      const std::string line = "note: " + inspect::printable(note);
      const bool on_terminal = ::isatty(STDERR_FILENO) == 1;
      std::fprintf(stderr, "%s\n", (on_terminal ? inspect::wrapped(line, width) : line).c_str());
    }
  return static_cast<int>(answer.status);
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
