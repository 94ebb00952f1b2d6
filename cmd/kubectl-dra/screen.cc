// Three threads: this one has the terminal and never waits for the cluster; one reads the cluster again and again, at
// the pace of -w; one answers questions from what was read last, so that a server that does not answer keeps nobody
// from looking. The program ends without waiting for them.
#include "cmd/kubectl-dra/screen.h"

#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "cmd/kubectl-dra/pace.h"
#include "cmd/kubectl-dra/terminal.h"
#include "pkg/base/strings.h"
#include "pkg/inspect/answer/sort.h"
#include "pkg/screen/paint.h"

namespace dra::kubectl {
namespace {

using screen::Question;

constexpr int kEscapeMs = 50;  // after which an Escape is a key of its own

// An answer to the screen, or why there is none.
struct News {
  std::optional<Question> question;  // none: the cluster could not be read
  Result<inspect::Answer> answer;
  std::string as_of;
};

// Between the threads; all of it under the mutex.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<const inspect::Objects> objects;  // read last
  uint64_t reads = 0;
  std::vector<Question> wanted;  // the first view's, and that of the one that is shown
  uint64_t asked = 0;            // grows with each change of `wanted`
  std::vector<News> news;        // at most a few: a question has one at a time
  Terminal* terminal = nullptr;

  void tell(News one) {
    {
      const std::lock_guard lock(mutex);
      std::erase_if(news, [&](const News& old) { return old.question == one.question; });
      news.push_back(std::move(one));
    }
    terminal->wake();
  }
};

std::string time_of(Timestamp at) {
  const std::string text = format_rfc3339(at);  // 2026-11-01T12:00:05Z
  return text.size() < 19 ? text : text.substr(11, 8) + "Z";
}

Result<inspect::Answer> answer_to(const Question& question, const Call& asked,
                                  std::shared_ptr<const inspect::Objects> objects) {
  const auto& all = verbs();
  const auto verb = std::find_if(all.begin(), all.end(), [&](const Verb& one) { return one.name == question.verb; });
  if (verb == all.end()) return fail(Code::kInternal, "no verb " + quote(question.verb));
  Call call = asked;
  call.words = question.words;
  call.common.ns = question.ns;
  call.common.all_namespaces = false;  // a question without a namespace is about all of them
  call.common.output.clear();
  if (!question.selected) call.common.selector.clear();
  call.use(std::move(objects));
  return verb->run(call);
}

void read_again_and_again(Shared& shared, Call call, Duration took) {
  Duration pause = pause_after(took);
  for (;;) {
    std::this_thread::sleep_for(pause);
    Call round = call;
    try {
      const auto loaded = round.load();
      if (loaded) {
        pause = pause_after(round.load_time);
        const std::lock_guard lock(shared.mutex);
        shared.objects = round.objects();
        ++shared.reads;
        shared.changed.notify_all();
        continue;
      }
      shared.tell({std::nullopt, fail(loaded.error()), ""});
    } catch (const std::exception& e) {
      shared.tell({std::nullopt, fail(Code::kInternal, e.what()), ""});
    }
    pause = std::min(pause * 2, kRetryAtMost);
  }
}

void answer_questions(Shared& shared, const Call& call) {
  uint64_t reads = 0, asked = 0;
  for (;;) {
    std::vector<Question> questions;
    std::shared_ptr<const inspect::Objects> objects;
    {
      std::unique_lock lock(shared.mutex);
      shared.changed.wait(lock, [&] { return shared.reads != reads || shared.asked != asked; });
      // The same objects give the first view the answer that it has.
      questions.assign(shared.wanted.begin() + (shared.reads == reads && shared.wanted.size() > 1 ? 1 : 0),
                       shared.wanted.end());
      reads = shared.reads;
      asked = shared.asked;
      objects = shared.objects;
    }
    // What is shown comes first.
    for (auto question = questions.rbegin(); question != questions.rend(); ++question) try {
        shared.tell({*question, answer_to(*question, call, objects), time_of(objects->taken)});
      } catch (const std::exception& e) {
        shared.tell({*question, fail(Code::kInternal, e.what()), ""});
      }
  }
}

void hear_news(Shared& shared, screen::State& state) {
  std::vector<News> news;
  {
    const std::lock_guard lock(shared.mutex);
    news.swap(shared.news);
  }
  for (News& one : news) {
    if (!one.question)
      screen::lose(state, one.answer.error().message());
    else if (!one.answer)
      screen::refuse(state, *one.question, one.answer.error().message());
    else
      screen::hear(state, *one.question, std::move(*one.answer), one.as_of);
  }
}

void ask(Shared& shared, const screen::State& state) {
  std::vector<Question> wanted{screen::first_wanted(state)};
  if (!(screen::wanted(state) == wanted.front())) wanted.push_back(screen::wanted(state));
  const std::lock_guard lock(shared.mutex);
  if (wanted == shared.wanted) return;
  shared.wanted = std::move(wanted);
  ++shared.asked;
  shared.changed.notify_all();
}

// What happens until the user, a signal or the terminal ends it.
void run_screen(Terminal& terminal, Shared& shared, screen::State& state) {
  const bool colour = std::getenv("NO_COLOR") == nullptr;
  screen::KeyReader reader;
  std::optional<screen::Frame> before;
  for (;;) {
    hear_news(shared, state);
    ask(shared, state);
    screen::Frame frame = screen::draw(state);
    if (!terminal.write(screen::paint(before, frame, colour))) return;
    before = std::move(frame);
    const Terminal::Heard heard = terminal.wait(reader.waits() ? kEscapeMs : -1);
    if (heard.ended || heard.closed) return;
    if (heard.resized) {
      screen::resize(state, terminal.size());
      before.reset();
    }
    for (const screen::Key& key :
         heard.bytes.empty() && !heard.news && !heard.resized ? reader.rest() : reader.feed(heard.bytes)) {
      switch (screen::step(state, key)) {
        case screen::Effect::kQuit:
          return;
        case screen::Effect::kSuspend:
          terminal.suspend();
          break;
        case screen::Effect::kRedraw:
          before.reset();
          break;
        case screen::Effect::kNone:
          break;
      }
    }
  }
}

}  // namespace

bool has_screen(const Verb& verb, const CommonFlags& common, inspect::Format format) {
  return verb.name == "top" && !common.no_headers && !common.times &&
         (format == inspect::Format::kTable || format == inspect::Format::kWide) && Terminal::can_show();
}

int show_screen(const Call& call, inspect::Format format) {
  // Never destroyed: threads may be at work when the program ends.
  auto& shared = *new Shared;
  auto& base = *new Call(call);
  const Question question{"top", call.words.empty() ? std::vector<std::string>{"nodes"} : call.words,
                          call.common.all_namespaces ? "" : call.common.ns, !call.common.selector.empty()};
  // The first read is on the usual terminal: what is wrong with the command line is said there.
  const auto loaded = base.load();
  if (!loaded) return complain(loaded.error().message(), status_of(loaded.error()));
  shared.objects = base.objects();
  auto answer = answer_to(question, base, shared.objects);
  if (!answer) return complain(answer.error().message(), status_of(answer.error()));
  if (!call.common.sort_by.empty())
    if (const auto sorted = inspect::sort_rows(*answer, call.common.sort_by); !sorted)
      return complain(sorted.error().message(), inspect::Status::kUsage);
  const Duration took = base.load_time;
  const std::string source = (*loaded)->origin;
  auto opened = Terminal::open();
  if (!opened) return complain(opened.error().message(), inspect::Status::kUnknown);
  Terminal& terminal = *opened->release();  // never destroyed, either
  shared.terminal = &terminal;
  screen::State state = screen::begin(question, {.wide = format == inspect::Format::kWide,
                                                 .sort_by = call.common.sort_by,
                                                 .ns = question.ns,
                                                 .source = source,
                                                 .size = terminal.size()});
  screen::hear(state, question, std::move(*answer), time_of((*loaded)->taken));
  shared.wanted = {question};
  std::string wrong;
  try {
    std::thread(read_again_and_again, std::ref(shared), call, took).detach();
    std::thread(answer_questions, std::ref(shared), std::cref(base)).detach();
    run_screen(terminal, shared, state);
  } catch (const std::exception& e) {
    wrong = e.what();
  }
  terminal.restore();
  if (!wrong.empty()) ::_exit(complain(wrong, inspect::Status::kUnknown));
  ::_exit(static_cast<int>(state.status));
}

}  // namespace dra::kubectl
