// -w: asks again and again, and prints the answer when it changes.
//
// Each round reads the lists anew. A round begins at least 2 s after the previous one, and later if reading takes long:
// reading takes at most a tenth of the time. Changed ages alone do not count as a change: rounds are compared as if all
// of them had been read at the time of the first.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

#include "cmd/kubectl-dra/pace.h"
#include "cmd/kubectl-dra/screen.h"
#include "cmd/kubectl-dra/verb.h"
#include "pkg/base/strings.h"

namespace dra::kubectl {
namespace {

constexpr Duration kGiveUpAfter = std::chrono::minutes(5);  // without an answer

// The exit status on Ctrl-C: that of the answer that is shown.
std::atomic<int> g_status{static_cast<int>(inspect::Status::kUnknown)};
static_assert(std::atomic<int>::is_always_lock_free);

void end_with_status(int) {
  ::_exit(g_status);
}

struct Round {
  Call call;  // with its cluster
  Duration took{};
};

Result<Round> read_round(const Call& call) {
  Round round{call, {}};
  const auto loaded = round.call.load();
  if (!loaded) return fail(loaded.error());
  round.took = round.call.load_time;
  return round;
}

// The answer as it would have been at that time.
Result<std::string> comparable(const Verb& verb, const Round& round, Timestamp then, inspect::Format format) {
  Call again = round.call;
  const auto loaded = again.load();
  if (!loaded) return fail(loaded.error());
  auto objects = std::make_shared<inspect::Objects>(**loaded);  // pointers only
  objects->taken = then;
  again.use(std::move(objects));
  const auto answer = verb.run(again);
  if (!answer) return fail(answer.error());
  return inspect::render(*answer, {format});
}

}  // namespace

int watch(const Verb& verb, const Call& call, inspect::Format format) {
  if (has_screen(verb, call.common, format)) return show_screen(call, format);
  std::signal(SIGINT, &end_with_status);
  std::signal(SIGTERM, &end_with_status);
  const SystemClock clock;
  std::optional<Timestamp> first;
  std::string shown, trouble;
  MonoTime answered = clock.mono_now();
  Duration pause = kWatchEvery;
  for (;; std::this_thread::sleep_for(pause)) {
    auto round = read_round(call);
    if (!round) {
      // A server that restarts comes back; a failure of the first read is final.
      if (!first || clock.mono_now() - answered > kGiveUpAfter)
        return complain(round.error().message(), status_of(round.error()));
      if (trouble.empty()) complain(round.error().message() + "; trying again", inspect::Status::kUnknown);
      trouble = round.error().message();
      pause = std::min(pause * 2, kRetryAtMost);
      continue;
    }
    answered = clock.mono_now();
    trouble.clear();
    pause = pause_after(round->took);
    const auto objects = round->call.load();
    if (!first) first = (*objects)->taken;
    const auto text = comparable(verb, *round, *first, format);
    // What was shown before no longer exists: that is an answer.
    if (!text)
      return complain(text.error().message(), !shown.empty() && text.error().code() == Code::kNotFound
                                                  ? inspect::Status::kNo
                                                  : status_of(text.error()));
    if (*text == shown) continue;
    const auto answer = verb.run(round->call);
    if (!answer) return complain(answer.error().message(), status_of(answer.error()));
    if (::isatty(STDOUT_FILENO) == 1 && !print("\x1b[H\x1b[2J")) return static_cast<int>(inspect::Status::kUnknown);
    g_status = static_cast<int>(answer->status);
    if (!show(*answer, round->call, format)) return static_cast<int>(inspect::Status::kUnknown);
    shown = *text;
  }
}

}  // namespace dra::kubectl
