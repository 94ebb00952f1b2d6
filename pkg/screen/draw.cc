// How a state looks.
#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/base/terminal_text.h"
#include "pkg/inspect/answer/layout.h"
#include "pkg/screen/screen.h"

namespace dra::screen {
namespace {

constexpr size_t kTopLines = 2, kBottomLines = 1;
constexpr const char* kGap = "  ";

constexpr const char* kHelp[] = {
    "Up, Down, j, k       choose a row; PageUp, PageDown, Space, g, G go further",
    "Left, Right          scroll sideways",
    "Enter                who: what holds it, or what it holds; of a namespace its claims",
    "e                    explain: why it waits, or what it has and from whom",
    "Escape, Backspace    back; first it clears the filter",
    "/                    filter: each word must be in the row; Enter keeps it, Escape clears it",
    "s, S                 sort by the next column, the previous one; r reverses",
    "w                    more columns, as -o wide",
    "1 2 3 4              top nodes, classes, claims, namespaces",
    "5                    explain: all that waits, a row a cause",
    "Ctrl-L               draw anew; Ctrl-Z suspends",
    "q, Ctrl-C            end, with the status of the first view's answer",
    "",
    "Nothing is written to the cluster. It is read again every 2 s at most.",
    "What is shown stays when it cannot be read.",
};

Shade shade_of(inspect::Tone tone) {
  switch (tone) {
    case inspect::Tone::kGood:
      return Shade::kGood;
    case inspect::Tone::kWarn:
      return Shade::kWarn;
    case inspect::Tone::kBad:
      return Shade::kBad;
    case inspect::Tone::kDim:
      return Shade::kDim;
    case inspect::Tone::kPlain:
      break;
  }
  return Shade::kPlain;
}

// At most `columns` columns of the line, without its first `left`.
Line fitted_line(const Line& line, size_t left, size_t columns) {
  Line out;
  size_t taken = 0;
  for (size_t i = 0; i < line.size() && taken < columns; ++i) {
    const Span& span = line[i];
    const size_t width = columns_of(span.text);
    if (left >= width && left > 0) {
      left -= width;
      continue;
    }
    const std::string rest = left > 0 ? without_columns(span.text, left) : span.text;
    left = 0;
    // A sign of what is cut is on the last span that is seen.
    const bool more = i + 1 < line.size() && taken + columns_of(rest) == columns && columns_of(line[i + 1].text) > 0;
    std::string text = cut_to_columns(more ? rest + "  " : rest, columns - taken);
    taken += columns_of(text);
    if (!text.empty()) out.push_back({std::move(text), span.shade});
  }
  return out;
}

std::string padded(const std::string& text, size_t width, bool right) {
  const size_t columns = columns_of(text);
  const std::string blanks(width > columns ? width - columns : 0, ' ');
  return right ? blanks + text : text + blanks;
}

Line line_of_heads(const View& view) {
  Line line;
  for (size_t i = 0; i < view.page.heads.size(); ++i) {
    if (i > 0) line.push_back({kGap, Shade::kHead});
    const bool sorted = view.page.keys[i] == view.order.column;
    line.push_back(
        {padded(view.page.heads[i], view.page.widths[i], view.page.numbers[i]), sorted ? Shade::kTitle : Shade::kHead});
  }
  return line;
}

Line line_of_row(const View& view, size_t at, size_t columns) {
  const Row& row = view.page.rows[at];
  const bool chosen = at == view.cursor;
  Line line;
  size_t width = 0;
  for (size_t i = 0; i < row.cells.size(); ++i) {
    const bool last = i + 1 == row.cells.size();
    std::string text = cut_to_columns(row.cells[i], kWidestColumn);
    if (!last || view.page.numbers[i]) text = padded(text, view.page.widths[i], view.page.numbers[i]);
    if (!last) text += kGap;
    width += columns_of(text);
    line.push_back({std::move(text), chosen ? Shade::kChosen : shade_of(row.tones[i])});
  }
  if (chosen && width < columns + view.left)
    line.push_back({std::string(columns + view.left - width, ' '), Shade::kChosen});
  return line;
}

std::vector<std::string> wrapped_lines(const std::vector<std::string>& texts, size_t columns) {
  std::vector<std::string> lines;
  for (const std::string& text : texts)
    for (std::string& line : split(inspect::wrapped(text, std::max<size_t>(columns, 10)), '\n'))
      lines.push_back(std::move(line));
  return lines;
}

Line line_of_page(const View& view, const Layout& layout, size_t at, size_t columns) {
  const size_t rows = view.page.rows.size(), end_of_rows = layout.first_row + rows;
  if (at < layout.before.size()) return {{layout.before[at]}};
  if (at >= layout.first_row && at < end_of_rows) return line_of_row(view, at - layout.first_row, columns);
  if (at < layout.first_row)
    return at + 1 == layout.first_row && rows > 0 && !layout.head_stays ? line_of_heads(view) : Line{};
  const size_t after = at - end_of_rows;
  const size_t gap = end_of_rows > 0 ? 1 : 0;
  return after < gap || after - gap >= layout.after.size() ? Line{} : Line{{layout.after[after - gap]}};
}

// Two texts at the ends of a line; the right one goes first if there is no space.
Line both_ends(const std::string& left, const std::string& right, Shade shade, size_t columns) {
  const size_t a = columns_of(left), b = columns_of(right);
  if (a + b + 2 > columns) return {{padded(cut_to_columns(left, columns), columns, false), shade}};
  return {{left + std::string(columns - a - b, ' ') + right, shade}};
}

std::string counted_rows(const View& view) {
  if (!view.answer || view.answer->tables.empty()) return "";
  const size_t all = view.answer->tables.front().rows.size(), here = view.page.rows.size();
  if (all == 0) return "";
  return here == all ? " (" + std::to_string(all) + ")"
                     : " (" + std::to_string(here) + " of " + std::to_string(all) + ")";
}

Line title_line(const State& state, const View& view) {
  std::string right = visible_text(state.options.source);
  if (!view.as_of.empty()) right += "  as of " + view.as_of;
  return both_ends(" " + title_of(view.question) + counted_rows(view), right + " ", Shade::kTitle,
                   state.options.size.columns);
}

std::string one_line_of(const std::string& text) {
  std::string line = visible_text(text.substr(0, 4096));
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

// The line below the title: what is wrong, what is typed, or how the page is chosen.
Line second_line(const State& state, const View& view) {
  if (state.mode == Mode::kFilter) return {{"/" + one_line_of(state.typed), Shade::kHead}, {" ", Shade::kChosen}};
  if (!state.trouble.empty()) return {{"not read: " + one_line_of(state.trouble) + "; trying again", Shade::kBad}};
  if (!view.problem.empty()) return {{one_line_of(view.problem), Shade::kBad}};
  if (!state.said.empty()) return {{state.said, Shade::kDim}};
  if (!view.filter.empty()) return {{"filter: " + one_line_of(view.filter) + "  (Escape clears it)", Shade::kHead}};
  if (!view.page.notes.empty()) return {{"note: " + view.page.notes.front(), Shade::kWarn}};
  const auto sorted = std::find(view.page.keys.begin(), view.page.keys.end(), view.order.column);
  if (sorted != view.page.keys.end())
    return {{"sorted by " + view.page.heads[static_cast<size_t>(sorted - view.page.keys.begin())] +
                 (view.order.reversed ? ", reversed" : ""),
             Shade::kDim}};
  if (view.order.reversed) return {{"reversed", Shade::kDim}};
  return {};
}

void draw_help(Frame& frame, Size size) {
  for (const char* text : kHelp)
    for (const std::string& line : split(inspect::wrapped(text, std::max<size_t>(size.columns, 10)), '\n'))
      frame.push_back({{line}});
}

}  // namespace

Layout layout_of(const View& view, Size size) {
  Layout layout;
  const bool has_rows = !view.page.rows.empty();
  layout.before = wrapped_lines(view.page.before, size.columns);
  std::vector<std::string> after = view.page.after;
  for (const std::string& note : view.page.notes) after.push_back("note: " + note);
  layout.after = wrapped_lines(after, size.columns);
  layout.head_stays = has_rows && layout.before.empty();
  layout.first_row = layout.before.size();
  if (has_rows && !layout.head_stays) layout.first_row += 2;  // a blank line, and the heads
  layout.lines = layout.first_row + view.page.rows.size();
  if (!layout.after.empty()) layout.lines += layout.after.size() + (layout.lines > 0 ? 1 : 0);
  const size_t around = kTopLines + kBottomLines + (layout.head_stays ? 1 : 0);
  layout.height = size.lines > around ? size.lines - around : 0;
  return layout;
}

Frame draw(const State& state) {
  const Size size = state.options.size;
  const View& view = state.views.back();
  Frame frame{title_line(state, view), second_line(state, view)};
  if (state.mode == Mode::kHelp) {
    draw_help(frame, size);
  } else if (!view.answer) {
    if (view.problem.empty()) frame.push_back({{"asking...", Shade::kDim}});
  } else {
    const Layout layout = layout_of(view, size);
    if (layout.head_stays) frame.push_back(fitted_line(line_of_heads(view), view.left, size.columns));
    if (view.page.rows.empty() && !view.filter.empty()) frame.push_back({{"no row has these words", Shade::kDim}});
    for (size_t i = 0; i < layout.height && view.top + i < layout.lines; ++i)
      frame.push_back(fitted_line(line_of_page(view, layout, view.top + i, size.columns), view.left, size.columns));
  }
  const size_t body = size.lines > kBottomLines ? size.lines - kBottomLines : 0;
  frame.resize(body);
  if (size.lines > 0)
    frame.push_back(
        {{state.mode == Mode::kHelp     ? "any key goes back"
          : state.mode == Mode::kFilter ? "Enter keeps the filter  Escape clears it"
                                        : "? help  q quit  Enter who  e explain  / filter  s sort  1-5 views  Esc back",
          Shade::kDim}});
  for (Line& line : frame) line = fitted_line(line, 0, size.columns);
  return frame;
}

}  // namespace dra::screen
