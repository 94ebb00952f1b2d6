#include "pkg/screen/screen.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/base/utf8.h"

namespace dra::screen {
namespace {

constexpr size_t kDeepest = 8;
constexpr size_t kMaxFilter = 200;
constexpr size_t kSideways = 10;
constexpr size_t kWidest = 100'000;  // columns that one can scroll sideways

View& shown(State& state) {
  return state.views.back();
}

size_t last_top(const Layout& layout) {
  return layout.lines > layout.height ? layout.lines - layout.height : 0;
}

// The cursor is on a row, and the page is not scrolled past its end.
void settle(State& state) {
  View& view = shown(state);
  const Layout layout = layout_of(view, state.options.size);
  const size_t rows = view.page.rows.size();
  view.cursor = rows == 0 ? 0 : std::min(view.cursor, rows - 1);
  view.top = std::min(view.top, last_top(layout));
}

// Scrolls until the cursor is seen.
void show_cursor(State& state) {
  settle(state);
  View& view = shown(state);
  if (view.page.rows.empty()) return;
  const Layout layout = layout_of(view, state.options.size);
  const size_t line = layout.line_of_row(view.cursor);
  if (line < view.top) view.top = line;
  if (layout.height > 0 && line >= view.top + layout.height) view.top = line - layout.height + 1;
  // What is written before the first row and after the last one is seen with them.
  if (view.cursor == 0 && line < layout.height) view.top = 0;
  settle(state);
}

// The page anew, with the cursor on the same object.
void rebuild(State& state, View& view) {
  if (!view.answer) return;
  const std::string key = view.cursor < view.page.rows.size() ? view.page.rows[view.cursor].key : "";
  const size_t before = view.cursor;
  view.page = page_of(*view.answer, view.question, view.order, view.filter, state.options.wide);
  const auto same =
      std::find_if(view.page.rows.begin(), view.page.rows.end(), [&](const Row& row) { return row.key == key; });
  if (!key.empty() && same != view.page.rows.end()) {
    const auto now = static_cast<size_t>(same - view.page.rows.begin());
    // It keeps its place on the screen where that can be.
    view.top = now >= before ? view.top + (now - before) : view.top - std::min(view.top, before - now);
    view.cursor = now;
  }
  view.cursor = view.page.rows.empty() ? 0 : std::min(view.cursor, view.page.rows.size() - 1);
}

void reorder(State& state) {
  View& view = shown(state);
  rebuild(state, view);
  show_cursor(state);
}

void move(State& state, bool down) {
  settle(state);
  View& view = shown(state);
  const Layout layout = layout_of(view, state.options.size);
  const auto seen = [&](size_t row) {
    const size_t line = layout.line_of_row(row);
    return line >= view.top && line < view.top + layout.height;
  };
  const size_t rows = view.page.rows.size();
  for (int tries = 0; tries < 2; ++tries) {
    const bool there = down ? view.cursor + 1 < rows : view.cursor > 0 && rows > 0;
    const size_t next = down ? view.cursor + 1 : view.cursor - 1;
    if (there && seen(next)) {
      view.cursor = next;
      return;
    }
    if (tries == 1) return;
    if (down && view.top < last_top(layout))
      ++view.top;
    else if (!down && view.top > 0)
      --view.top;
    else
      return;
  }
}

void turn_page(State& state, bool down) {
  settle(state);
  View& view = shown(state);
  const Layout layout = layout_of(view, state.options.size);
  const size_t step = std::max<size_t>(layout.height, 2) - 1, rows = view.page.rows.size();
  const size_t most = last_top(layout);
  const bool at_end = down ? view.top == most : view.top == 0;
  view.top = down ? std::min(view.top + step, most) : view.top - std::min(view.top, step);
  if (rows == 0) return;
  if (at_end) {
    view.cursor = down ? rows - 1 : 0;
    return;
  }
  // The row nearest to where the cursor was is chosen.
  view.cursor = down ? std::min(view.cursor + step, rows - 1) : view.cursor - std::min(view.cursor, step);
  const size_t line = layout.line_of_row(view.cursor);
  if (line < view.top) view.cursor = std::min(view.top - layout.first_row, rows - 1);
  if (line >= view.top + layout.height && view.top + layout.height > layout.first_row)
    view.cursor = std::min(view.top + layout.height - 1 - layout.first_row, rows - 1);
}

void go_to_end(State& state, bool last) {
  View& view = shown(state);
  view.cursor = last && !view.page.rows.empty() ? view.page.rows.size() - 1 : 0;
  view.top = last ? last_top(layout_of(view, state.options.size)) : 0;
  settle(state);
}

void open(State& state, Question question) {
  if (question == shown(state).question) {
    state.said = "this is it";
    return;
  }
  if (state.views.size() >= kDeepest) {
    state.said = "this leads no deeper: Escape goes back";
    return;
  }
  state.views.push_back(View{std::move(question)});
}

void open_row(State& state, bool who) {
  const View& view = shown(state);
  if (view.page.rows.empty()) {
    state.said = "there is no row to open";
    return;
  }
  const Row& row = view.page.rows[std::min(view.cursor, view.page.rows.size() - 1)];
  const std::optional<Question>& to = who ? row.who : row.explain;
  if (to)
    open(state, *to);
  else
    state.said = who ? "nobody can be asked about this row" : "there is nothing to explain about this row";
}

void change_order(State& state, int by) {
  View& view = shown(state);
  const auto& keys = view.page.keys;
  if (keys.empty()) {
    state.said = "there is no table to sort";
    return;
  }
  // Before the first column is the verb's own order.
  const auto found = std::find(keys.begin(), keys.end(), view.order.column);
  const auto places = static_cast<int>(keys.size()) + 1;
  const int at = found == keys.end() ? 0 : static_cast<int>(found - keys.begin()) + 1;
  const int next = (at + by + places) % places;
  view.order = {next == 0 ? "" : keys[static_cast<size_t>(next - 1)], false};
  reorder(state);
}

// The views of the number keys.
void switch_to(State& state, char digit) {
  static constexpr const char* kViews[] = {"nodes", "classes", "claims", "namespaces"};
  Question question{"top", {}, state.options.ns};
  if (digit == '5')
    question.verb = "explain";
  else
    question.words = {kViews[digit - '1']};
  const Question& first = state.views.front().question;
  const bool is_first = first.verb == question.verb && first.words.front() == question.words.front();
  state.views.resize(1);
  if (!is_first) state.views.push_back(View{std::move(question)});
  show_cursor(state);
}

void go_back(State& state) {
  View& view = shown(state);
  if (!view.filter.empty()) {
    view.filter.clear();
    reorder(state);
  } else if (state.views.size() > 1) {
    state.views.pop_back();
    show_cursor(state);
  } else {
    state.said = "q ends";
  }
}

void filter_now(State& state) {
  View& view = shown(state);
  view.filter = state.typed;
  reorder(state);
}

Effect step_in_filter(State& state, const Key& key) {
  switch (key.code) {
    case KeyCode::kEnter:
      state.mode = Mode::kNormal;
      break;
    case KeyCode::kEscape:
      state.mode = Mode::kNormal;
      state.typed.clear();
      filter_now(state);
      break;
    case KeyCode::kBackspace:
      state.typed = std::string(utf8_prefix(state.typed, state.typed.empty() ? 0 : state.typed.size() - 1));
      filter_now(state);
      break;
    case KeyCode::kControl:
      if (key.text == "c") return Effect::kQuit;
      if (key.text == "u") state.typed.clear();
      filter_now(state);
      break;
    case KeyCode::kText:
      if (state.typed.size() + key.text.size() <= kMaxFilter) state.typed += key.text;
      filter_now(state);
      break;
    case KeyCode::kUp:
    case KeyCode::kDown:
      move(state, key.code == KeyCode::kDown);
      break;
    default:
      break;
  }
  return Effect::kNone;
}

Effect step_control(State& state, const std::string& letter) {
  if (letter == "c") return Effect::kQuit;
  if (letter == "z") return Effect::kSuspend;
  if (letter == "l") return Effect::kRedraw;
  if (letter == "f" || letter == "d") turn_page(state, true);
  if (letter == "b" || letter == "u") turn_page(state, false);
  if (letter == "n") move(state, true);
  if (letter == "p") move(state, false);
  return Effect::kNone;
}

void sideways(State& state, bool right) {
  View& view = shown(state);
  view.left = right ? std::min(view.left + kSideways, kWidest) : view.left - std::min(view.left, kSideways);
}

Effect step_text(State& state, const std::string& text) {
  if (text.size() != 1) return Effect::kNone;
  View& view = shown(state);
  switch (text[0]) {
    case 'q':
      return Effect::kQuit;
    case '?':
    case 'h':
      state.mode = Mode::kHelp;
      break;
    case '/':
      state.mode = Mode::kFilter;
      state.typed = view.filter;
      break;
    case 'j':
      move(state, true);
      break;
    case 'k':
      move(state, false);
      break;
    case ' ':
      turn_page(state, true);
      break;
    case 'g':
    case 'G':
      go_to_end(state, text[0] == 'G');
      break;
    case 'e':
      open_row(state, false);
      break;
    case 's':
      change_order(state, 1);
      break;
    case 'S':
      change_order(state, -1);
      break;
    case 'r':
      view.order.reversed = !view.order.reversed;
      reorder(state);
      break;
    case 'w':
      state.options.wide = !state.options.wide;
      for (View& one : state.views) rebuild(state, one);
      show_cursor(state);
      break;
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
      switch_to(state, text[0]);
      break;
    default:
      state.said = "? shows the keys";
      break;
  }
  return Effect::kNone;
}

Effect step_normal(State& state, const Key& key) {
  switch (key.code) {
    case KeyCode::kText:
      return step_text(state, key.text);
    case KeyCode::kControl:
      return step_control(state, key.text);
    case KeyCode::kEnter:
      open_row(state, true);
      break;
    case KeyCode::kEscape:
    case KeyCode::kBackspace:
      go_back(state);
      break;
    case KeyCode::kUp:
    case KeyCode::kDown:
      move(state, key.code == KeyCode::kDown);
      break;
    case KeyCode::kPageUp:
    case KeyCode::kPageDown:
      turn_page(state, key.code == KeyCode::kPageDown);
      break;
    case KeyCode::kHome:
    case KeyCode::kEnd:
      go_to_end(state, key.code == KeyCode::kEnd);
      break;
    case KeyCode::kLeft:
    case KeyCode::kRight:
      sideways(state, key.code == KeyCode::kRight);
      break;
    case KeyCode::kTab:
    case KeyCode::kUnknown:
      break;
  }
  return Effect::kNone;
}

}  // namespace

State begin(Question question, Options options) {
  if (question.words.empty()) question.words = {"nodes"};
  State state{std::move(options), {}};
  state.views.push_back(View{std::move(question), {state.options.sort_by, false}});
  return state;
}

Effect step(State& state, const Key& key) {
  state.said.clear();
  if (state.mode == Mode::kFilter) return step_in_filter(state, key);
  if (state.mode == Mode::kNormal) return step_normal(state, key);
  // Any key leaves the help.
  if (key.code == KeyCode::kControl) return step_control(state, key.text);
  if (key.code != KeyCode::kUnknown) state.mode = Mode::kNormal;
  return Effect::kNone;
}

void hear(State& state, const Question& question, inspect::Answer answer, const std::string& as_of) {
  state.trouble.clear();
  if (question == state.views.front().question) state.status = answer.status;
  for (View& view : state.views) {
    if (!(view.question == question)) continue;
    view.answer = answer;
    view.problem.clear();
    view.as_of = as_of;
    // A head that was named is the key from now on.
    for (const inspect::Table& table : view.answer->tables)
      for (const inspect::Column& column : table.columns)
        if (to_lower(column.head) == to_lower(view.order.column) || to_lower(column.key) == to_lower(view.order.column))
          view.order.column = column.key;
    rebuild(state, view);
  }
  settle(state);
}

void refuse(State& state, const Question& question, const std::string& why) {
  for (View& view : state.views)
    if (view.question == question) view.problem = why;
}

void lose(State& state, const std::string& why) {
  state.trouble = why;
}

void resize(State& state, Size size) {
  state.options.size = size;
  for (View& view : state.views) view.left = std::min(view.left, kWidest);
  show_cursor(state);
}

const Question& wanted(const State& state) {
  return state.views.back().question;
}

const Question& first_wanted(const State& state) {
  return state.views.front().question;
}

}  // namespace dra::screen
