// The screen of `kubectl dra top -w` as a state machine without a terminal: keys and answers change the state, and a
// frame is drawn of it. Nothing blocks, and nothing is written: what the screen wants to know is wanted().
//
//   State state = begin(question, options);
//   const Effect effect = step(state, key);            // or hear(), fail(), resize()
//   ask for wanted(state) if that has changed;
//   print(paint(last, draw(state, now)));
//
// Bounds: eight questions deep, a filter of 200 bytes; what is drawn of a text is bounded by the size of the terminal.
// Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/screen/keys.h"
#include "pkg/screen/table.h"

namespace dra::screen {

struct Size {
  size_t columns = 80, lines = 24;
  bool operator==(const Size&) const = default;
};

struct Options {
  bool wide = false;      // -o wide
  std::string sort_by{};  // a column's head or key; empty: as the verb orders
  std::string ns{};       // of -n, for the views of the number keys
  std::string source{};   // "https://10.0.0.1:6443", for the title
  Size size{};
};

// One question on the screen, with what is known of it.
struct View {
  Question question;
  Order order{};
  std::string filter{};
  std::optional<inspect::Answer> answer{};
  std::string problem{};  // why the last question has no answer; an older answer stays
  std::string as_of{};    // when the objects of the answer were read: "12:00:05"
  Page page{};            // of the answer
  size_t top = 0;         // the first line of the page that is shown
  size_t cursor = 0;      // the row that is chosen
  size_t left = 0;        // columns that are scrolled away
};

enum class Mode : uint8_t { kNormal, kFilter, kHelp };

struct State {
  Options options;
  std::vector<View> views;  // the last one is shown; never empty
  Mode mode = Mode::kNormal;
  std::string typed{};                                 // in kFilter
  std::string trouble{};                               // why the cluster could not be read; empty: it could
  std::string said{};                                  // about the last key, until the next one
  inspect::Status status = inspect::Status::kUnknown;  // of the first question's answer: the exit status
};

enum class Effect : uint8_t { kNone, kQuit, kSuspend, kRedraw };

// `question`: of top.
State begin(Question question, Options options);
Effect step(State& state, const Key& key);
// An answer, or why there is none (of this question; of all: the cluster could not be read, what is shown stays).
void hear(State& state, const Question& question, inspect::Answer answer, const std::string& as_of);
void refuse(State& state, const Question& question, const std::string& why);
void lose(State& state, const std::string& why);
void resize(State& state, Size size);
// The question of the view that is shown, and of the first one, whose status is the program's.
const Question& wanted(const State& state);
const Question& first_wanted(const State& state);

enum class Shade : uint8_t { kPlain, kGood, kWarn, kBad, kDim, kHead, kTitle, kChosen };
struct Span {
  std::string text;
  Shade shade = Shade::kPlain;
  bool operator==(const Span&) const = default;
};
using Line = std::vector<Span>;
// As many lines as the terminal has, none wider than it.
using Frame = std::vector<Line>;
Frame draw(const State& state);

// Of a view's page on a terminal of that size: how many lines it has, where its rows are, and how many fit.
struct Layout {
  std::vector<std::string> before, after;  // wrapped
  bool head_stays = false;                 // the heads of columns are above what scrolls
  size_t first_row = 0;                    // line of the first row
  size_t lines = 0;                        // in all
  size_t height = 0;                       // that are seen at once
  size_t line_of_row(size_t row) const { return first_row + row; }
};
Layout layout_of(const View& view, Size size);

}  // namespace dra::screen
